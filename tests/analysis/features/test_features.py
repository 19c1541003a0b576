"""Colours, objects and matches on vectors that were made up by hand, and proofs that fail."""

import numpy as np
import pytest
import torch

from vizkit.analysis.attention.positions import pca_rgb
from vizkit.analysis.features.matching import matching_error, middles, most_alike, near
from vizkit.analysis.features.objects import (
    chance_iou,
    clusters,
    cut_error,
    heaviest,
    heavy_clusters,
    iou,
    lost,
    token_cut,
)
from vizkit.analysis.features.principal import basis_error, principal, told_apart
from vizkit.analysis.features.probe import RIDGE, STEPS, begun, compact, mean_iou, probe, probe_error
from vizkit.analysis.remarks import features
from vizkit.traces import NotApplicable

GENERATOR = torch.Generator().manual_seed(3)
GRID = (5, 6)


def images(count=2, channels=7):
    return [torch.randn(*GRID, channels, generator=GENERATOR) * torch.arange(channels, 0, -1.0) for _ in range(count)]


def even(of):
    return [torch.rand(*GRID, generator=torch.Generator().manual_seed(at)) for at in range(len(of))]


def none(of):
    return [torch.zeros(GRID, dtype=torch.bool) for _ in of]


# ---- colours ---------------------------------------------------------------------------------------------------------
def test_an_orthogonal_change_of_all_vectors_leaves_the_colours_equal():
    given = images()
    turn = torch.linalg.qr(torch.randn(7, 7, generator=GENERATOR)).Q
    one, other = (principal(each, even(given), none(given)) for each in (given, [image @ turn for image in given]))
    for before, after in zip(one.rgb, other.rgb, strict=True):
        torch.testing.assert_close(before, after, atol=1e-5, rtol=0)
    torch.testing.assert_close(one.explained, other.explained, atol=1e-9, rtol=1e-6)


def test_components_point_to_the_foreground_and_turn_with_it():
    given, weights = images(), even(images())
    one = principal(given, weights, none(given))
    other = principal(given, [2 * each.mean() - each for each in weights], none(given))
    flat = torch.cat([each.flatten() / each.mean() for each in weights])
    scores = torch.cat([each.flatten(0, 1) for each in one.scores])
    assert ((flat - flat.mean()) @ scores > 0).all()
    torch.testing.assert_close(one.scores[0], -other.scores[0], atol=1e-4, rtol=0)


def test_images_share_one_basis_and_a_long_patch_has_no_say_in_it():
    given = images()
    long = none(given)
    usual = principal(given, even(given), long)
    given[1][2, 3] = 1e4
    spoilt = principal(given, even(given), long)
    long[1][2, 3] = True
    kept = principal(given, even(given), long)
    assert float(spoilt.explained[0]) > 0.99 > float(kept.explained[0])
    assert kept.error < 1e-9
    assert abs(float(kept.explained[0]) - float(usual.explained[0])) < 0.1
    assert kept.rgb[1].min() >= 0
    assert kept.rgb[1].max() <= 1


def test_it_is_the_same_analysis_as_that_of_a_table_of_positions():
    given = images(1)
    found, table = principal(given, even(given), none(given)), pca_rgb(given[0])
    torch.testing.assert_close(found.explained.float(), table.explained)


def test_the_proof_of_the_basis_fails_for_another_one():
    given = images(1)
    found, flat = principal(given, even(given), none(given)), given[0].flatten(0, 1)
    exact = flat, found.mean, found.directions, found.explained
    assert basis_error(*exact) < 1e-9
    turned = torch.linalg.qr(found.directions.T + 0.05).Q.T
    assert basis_error(flat, found.mean, turned, found.explained) > 1e-4
    assert basis_error(flat, found.mean, found.directions, found.explained * 0.99) > 1e-4
    assert basis_error(flat, found.mean + 0.1, found.directions, found.explained) > 1e-4


# ---- objects ---------------------------------------------------------------------------------------------------------
def cliques(first=4, second=9):
    """Two directions at right angles, and a little noise."""
    own = torch.zeros(first + second, 5)
    own[:first, 0], own[first:, 1] = 1.0, 1.0
    return own + 0.02 * torch.rand(own.shape, generator=GENERATOR)


def test_of_two_cliques_the_eigenvector_is_the_partition():
    found = token_cut(cliques())
    assert found.mask.tolist() == [True] * 4 + [False] * 9, "the smaller side has the larger entries"
    assert (found.vector[:4].sign() != found.vector[4:].sign()[:4]).all()
    assert found.error < 1e-9


def test_the_proof_of_the_cut_fails_for_another_vector():
    vectors = cliques()
    found = token_cut(vectors)
    assert cut_error(vectors, found.vector, found.value) < 1e-9
    assert cut_error(vectors, found.vector.roll(1), found.value) > 1e-2
    assert cut_error(vectors, found.vector, found.value + 0.1) > 1e-2


def test_very_many_patches_are_refused_in_a_sentence():
    with pytest.raises(NotApplicable, match="choose a later layer"):
        token_cut(torch.ones(5000, 2))


def test_lost_grows_from_the_patch_that_agrees_with_fewest():
    vectors = torch.tensor([[1.0, -1.0]] * 2 + [[-1.0, 1.0]] * 5)
    assert lost(vectors).tolist() == [True] * 2 + [False] * 5


def test_the_fewest_patches_hold_the_mass():
    weights = torch.tensor([0.1, 0.4, 0.2, 0.3])
    assert heaviest(weights, 0.6).tolist() == [False, True, False, True]
    assert heaviest(weights, 0.39).tolist() == [False, True, False, False]


def test_clusters_are_the_cliques_and_the_heavy_one_is_the_object():
    own = clusters(cliques(), 2)
    assert len({*own[:4].tolist()}) == len({*own[4:].tolist()}) == 1
    assert own[0] != own[-1]
    weights = torch.cat([torch.full((4,), 2.0), torch.full((9,), 0.5)])
    assert heavy_clusters(own, weights).tolist() == [True] * 4 + [False] * 9


def test_chance_is_what_masks_laid_anywhere_have():
    truth = torch.zeros(4000, dtype=torch.bool)
    truth[:1000] = True
    masks = [torch.rand(4000, generator=GENERATOR) < 0.4 for _ in range(20)]
    assert chance_iou(0.4, 0.25) == pytest.approx(np.mean([iou(each, truth) for each in masks]), abs=0.01)
    assert iou(truth, truth) == 1
    assert chance_iou(0.0, 0.0) == 0


# ---- matches ---------------------------------------------------------------------------------------------------------
def test_an_image_matches_itself_and_a_mirror_swaps_left_and_right():
    vectors = torch.randn(*GRID, 12, generator=GENERATOR)
    flat, flipped = vectors.flatten(0, 1), vectors.flip(1).flatten(0, 1)
    own = middles(GRID)
    same = most_alike(flat, flat, 1)[0][:, 0]
    assert same.tolist() == list(range(30))
    assert near(own[same], own, 0.1).all()
    there = most_alike(flat, flipped, 1)[0][:, 0]
    mirrored = own * torch.tensor([-1.0, 1.0]) + torch.tensor([1.0, 0.0])
    assert near(own[there], mirrored, 0.0).all()
    assert not near(own[there], own, 0.1).any()


def test_how_well_colours_tell_groups_apart_by_hand():
    """Means at 0 and 4: of the first group one of four lies nearer to the other mean."""
    one = torch.tensor([[-2.0, 0, 0], [-1, 0, 0], [0, 0, 0], [3, 0, 0]])
    other = torch.tensor([[4.0, 0, 0], [4, 0, 0]])
    assert told_apart([one, other]) == pytest.approx((0.75 + 1) / 2)
    assert told_apart([other, other]) == 0.5


def test_a_patch_is_not_the_most_alike_to_itself():
    flat = torch.randn(30, 12, generator=GENERATOR)
    ids, cosines = most_alike(flat, flat, 4, same=True)
    assert not (ids == torch.arange(30)[:, None]).any()
    assert (cosines.diff(dim=1) <= 0).all()
    plain = torch.nn.functional.normalize(flat, dim=1)
    assert cosines[7, 0] == pytest.approx(max(float(plain[7] @ plain[at]) for at in range(30) if at != 7), abs=1e-6)


def test_the_proof_of_matches_fails_where_another_patch_is_nearer():
    one, other = torch.randn(9, 6, generator=GENERATOR), torch.randn(11, 6, generator=GENERATOR)
    found = most_alike(one, other, 1)[0][:, 0]
    assert matching_error(one, other, found) < 1e-6
    assert matching_error(one, other, (found + 1) % 11) > 1e-2


# ---- labels ----------------------------------------------------------------------------------------------------------
def test_a_ridge_regression_of_two_patches_by_hand():
    """Two directions at 60°: (K + λ I)⁻¹ of a 2 × 2 matrix."""
    vectors = (STEPS * torch.tensor([[1.0, 0.0], [0.5, 0.75**0.5], [0.0, 1.0]])).round().to(torch.int16)
    scores, things = probe(vectors, {0: 2, 1: 4})
    a, b = 1 + RIDGE, 0.5
    inverse = np.array([[a, -b], [-b, a]]) / (a * a - b * b)
    cosines = np.array([[1, 0.5], [0.5, 1], [0, 0.75**0.5]])
    np.testing.assert_allclose(scores.numpy(), cosines @ inverse, atol=1e-4)
    assert things.tolist() == [2, 4, 4]


def test_of_two_cliques_two_painted_patches_label_all():
    vectors = compact(cliques())
    assert probe(vectors, {1: 1, 7: 3})[1].tolist() == [1] * 4 + [3] * 9
    assert probe(vectors, {1: 2})[1].tolist() == [2] * 13
    found = probe(vectors, begun(vectors.view(1, 13, -1)))[1].tolist()
    assert found in ([1] * 4 + [2] * 9, [2] * 4 + [1] * 9)


def test_an_orthogonal_change_of_all_vectors_leaves_the_labels_equal():
    given, painted = torch.randn(40, 9, generator=GENERATOR), {3: 1, 8: 2, 21: 2, 30: 4}
    turn = torch.linalg.qr(torch.randn(9, 9, generator=GENERATOR)).Q
    one, other = (probe(compact(each), painted) for each in (given, 5 * given @ turn))
    torch.testing.assert_close(one[0], other[0], atol=2e-4, rtol=0)
    assert torch.equal(one[1], other[1])


def test_the_proof_of_the_labels_fails_for_other_scores():
    vectors, painted = compact(torch.randn(40, 9, generator=GENERATOR)), {3: 1, 8: 2, 21: 2}
    scores, _ = probe(vectors, painted)
    assert probe_error(vectors, painted, scores) < 1e-9
    assert probe_error(vectors, painted, scores.roll(1, 0)) > 1e-2
    assert probe_error(vectors, painted | {5: 1}, scores) > 1e-3


def test_the_mean_iou_of_one_answer_for_all_by_hand():
    """A quarter is the insect: of it nothing is found, of the ground three quarters of what is said to be ground."""
    truth = torch.tensor([True, False, False, False])
    assert mean_iou(torch.zeros(4, dtype=torch.bool), truth) == (0.375, 0.375)
    assert mean_iou(truth, truth)[0] == 1


# ---- sentences -------------------------------------------------------------------------------------------------------
def test_sentences_say_right_and_wrong():
    assert "is not the insect alone" in features.of_first(0.4, 0.1)
    assert "lies on the insect" in features.of_first(0.5, 0.1)
    assert "misses the insect" in features.of_first(0.05, 0.1)
    given = 0.7, 200, "block 3 of 6"
    assert features.of_colours(*given, 1, 0.0, None) == (
        "After block 3 of 6, three components hold 70 % of the variance of 200 patches."
    )
    assert features.of_colours(*given, 3, 0.95, 0.93) == (
        "After block 3 of 6, the colours tell the images apart: of 95 % of the patches the nearest mean colour is that "
        "of their own image, by chance 33 %. Within an image, they tell insect from ground: 93 %, by chance 50 %."
    )
    assert "the colours hardly tell the images apart: of 40 %" in features.of_colours(*given, 3, 0.4, None)
    assert features.of_colours(*given, 1, 1.0, 0.6) == (
        "After block 3 of 6, the colours hardly tell insect from ground: 60 %, by chance 50 %."
    )
    assert "misses the insect" in features.of_object("LOST", 0.1, {"LOST": 0.0}, 0.1, 0.05, {})
    found = {"LOST": 0.5, "k-means": 0.3}
    assert "0.50, the best" in features.of_object("LOST", 0.1, found, 0.1, 0.05, {"k-means": 0.4})
    assert features.of_object("LOST", 0.1, None, 0.0, 0.0, {"k-means": 0.66, "attention": 0.1}) == (
        "LOST takes 10 % of the image for the object. k-means comes nearest to it, with an IoU of 0.66, attention is "
        "farthest, with 0.10: which is right is not known here."
    )
    assert "mean IoU of 0.80 on 7 other" in features.of_labels({0: 1, 1: 2}, [("ant", [1, 2])], (1, 7, 0.8, 0.4))
    assert features.of_labels({0: 1, 1: 2}, [("ant", [1, 2, 2]), ("bee", [2])], None) == (
        "After 2 painted patches, the probe finds thing 1 on 33 % of ant and 0 % of bee; all else is thing 2."
    )
    assert features.of_labels({0: 2}, [("ant", [2, 2])], None).endswith("the probe finds thing 2 on 100 % of ant.")
    assert "things 2 and 3." in features.of_labels({0: 1, 1: 2, 2: 3}, [("ant", [1, 2])], None)
    assert "No patch is painted" in features.of_labels({}, [("ant", [0, 0])], None)
    assert features.of_parts((0.11, 0.02, 0.25), 27, 0.18, ["the stonefly nymph"]) == (
        "11 % (95 % interval 2 to 25 %) of 27 matches from the insect's patches to the stonefly nymph lie on the same "
        "part: no better than by chance, 18 %."
    )
    assert "more than by chance, 18 %" in features.of_parts((0.5, 0.3, 0.7), 27, 0.18, ["it"])
    assert "less than by chance, 18 %" in features.of_parts((0.05, 0.0, 0.1), 27, 0.18, ["it"])
    assert "LOST has 0.50" in features.of_object("k-means", 0.1, found, 0.1, 0.05, {"LOST": 0.4})
