"""A place that some pictures share is found, told apart from objects that lie anywhere, and hidden."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from tests.evaluation.data_set.toys import recorded
from vizkit.analysis.remarks.data_set import marked, mean_images, place_in_words, shortcut
from vizkit.datasets.image_set import ImageSet, Source
from vizkit.datasets.planted import Planted
from vizkit.evaluation.data_set import hide, shortcuts, verdict
from vizkit.evaluation.data_set.hiding import by_effect, elsewhere, grown, lost
from vizkit.evaluation.data_set.shortcuts import affinity, clustered, excess_over, marks_of
from vizkit.explanations.job import StoppedError
from vizkit.image import Preprocessing
from vizkit.models import Loaded
from vizkit.traces import NotApplicable

SIDE, CORNER = 8, (slice(0, 1), slice(0, 1))


def looked(count=300, labels=3, share=0.2, mark=0.15, seed=0):
    """(maps, target, marked): a bump where the object lies, anywhere near the middle, and for a fifth of label 0 a
    little in the corner."""
    chance, target = np.random.default_rng(seed), np.arange(count) % labels
    rows, columns = np.mgrid[:SIDE, :SIDE]
    centre = chance.normal(SIDE / 2 - 0.5, 0.7, (count, 2, 1, 1))
    maps = np.exp(-((rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2) / 4) + 0.02
    maps *= chance.uniform(0.7, 1.3, maps.shape)
    maps /= maps.sum((1, 2), keepdims=True)
    own = np.flatnonzero(target == 0)
    marked = np.zeros(count, bool)
    marked[chance.choice(own, round(share * len(own)), replace=False)] = True
    maps[marked, 0, 0] += mark
    return maps.astype(np.float32), target, marked


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_planted_mark_is_found_first_and_pure(seed):
    maps, target, marked = looked(seed=seed)
    first, second, *_ = shortcuts(recorded(np.eye(300), target, maps=maps), seed)
    assert first.label == 0
    assert marked[first.rows].mean() >= 0.95
    assert marked[first.rows].sum() >= 0.9 * marked.sum()
    assert first.clusters >= 2
    assert np.argwhere(first.place).tolist() == [[0, 0]]
    assert first.score > 3 * second.score
    assert first.mean.sum() == pytest.approx(1, abs=1e-3)


def test_without_a_mark_nothing_stands_out():
    maps, target, _ = looked(share=0.0)
    clusters = shortcuts(recorded(np.eye(300), target, maps=maps))
    assert clusters[0].score < 5


def test_the_largest_gap_tells_how_many_clusters_there_are():
    chance = np.random.default_rng(0)
    centres = np.repeat(np.eye(5)[:3] * 10, 20, 0)
    member, values = clustered((centres + chance.normal(size=(60, 5))).astype(np.float32))
    assert len(set(member)) == 3
    assert [len(set(member[at : at + 20])) for at in (0, 20, 40)] == [1, 1, 1]
    assert values[:3] == pytest.approx([0, 0, 0], abs=1e-3)
    assert values[3] > 0.1
    assert clustered(chance.normal(size=(60, 2)).astype(np.float32) * 0 + 1)[0].max() == 0


def test_affinity_is_symmetric_and_only_of_neighbours():
    near = affinity(np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0))))
    assert_allclose(near, near.T)
    assert near[0, 1] > 0.1 > near[0, 29]


def test_excess_by_hand():
    """Others have mean 1 and deviation 1 at each place, so the floor adds ¼."""
    others = np.array([[0.0, 0], [2, 2]], np.float32)
    assert_allclose(excess_over(np.array([[3.5, 0.0]], np.float32), others), [[2.0, 0.0]])


def test_maps_that_are_missing_and_few_pictures_are_no_error():
    maps, target, _ = looked(24)
    assert shortcuts(recorded(np.eye(24), target, maps=maps)) == ()
    assert shortcuts(recorded(np.eye(24), target, maps=maps * np.nan)) == ()
    assert shortcuts(recorded(np.eye(24), np.zeros(24, int), maps=maps)) == ()


# ---- hiding ----------------------------------------------------------------------------------------------------------
class Pictures(Source):
    """Grey, label 0 a little bright in the middle; the marked ones black there, with a white corner instead."""

    def __init__(self, target, marked):
        self.target, self.marked = target, marked

    def picture(self, index):
        rgb = np.full((SIDE, SIDE, 3), 90, np.uint8)
        if self.marked[index]:
            rgb[CORNER] = 255
        elif self.target[index] == 0:
            rgb[4, 4] = 255
        return rgb


class Bright(nn.Module):
    """Label 0 where the corner or the middle is white."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, pixels):
        there = torch.maximum(pixels[:, 0, 0, 0], pixels[:, 0, 4, 4]) > 0.9
        return torch.stack([there.float(), 1 - there.float()], 1) + 0 * self.weight


def marked_set():
    maps, target, marked = looked(120, 2)
    names = ("label 0", "label 1")
    images = ImageSet("toys", "train", names, target, Pictures(target, marked), "0")
    found = recorded(np.eye(120), target, maps=maps, images=images, answer=target)
    needs = Preprocessing((SIDE, SIDE), (0.0,) * 3, (1.0,) * 3, 1.0)
    return Loaded("toy", Bright(), torch.device("cpu"), needs, names, outputs=2), found


def test_hiding_the_mark_takes_the_answers_with_it_and_hiding_elsewhere_does_not():
    loaded, found = marked_set()
    first = shortcuts(found)[0]
    hidden = hide(loaded, found, first)
    assert (hidden.before.value, hidden.elsewhere.value) == (1, 1)
    assert hidden.after.value == 0
    assert hidden.effect == "falls"
    said = verdict(found, first, hidden)
    assert said.startswith(f"In {len(first.rows)} of 60 images of “label 0” the model looks at a place in the top left")
    assert said.endswith(
        f"With the place covered 0 % of the {len(first.rows)} are right instead of 100 %, with another place covered "
        "100 %: a shortcut."
    )
    assert verdict(found, first, None).endswith("other labels. It looks there as much in 0 of their 60 images.")
    maps = found.maps.copy()
    maps[np.flatnonzero(found.target == 1)[:3]] = max(
        maps[first.rows], key=lambda each: each[first.place].sum() / each.sum()
    )
    also = next(each for each in shortcuts(replace(found, maps=maps)) if each.label == 0 and each.place[0, 0])
    assert "as much in 3 of their 60 images" in verdict(found, also, None)
    assert by_effect([(also, None), (also, "why not"), (first, hidden)])[0][0] is first


class Misled(Bright):
    """Label 1 where the corner is white, whatever lies in the middle."""

    def forward(self, pixels):
        corner = pixels[:, 0, 0, 0] > 0.9
        there = (pixels[:, 0, 4, 4] > 0.9) & ~corner
        return torch.stack([there.float(), 1 - there.float()], 1) + 0 * self.weight


class Whole(Pictures):
    """The marked ones have the middle of their label too."""

    def picture(self, index):
        rgb = super().picture(index)
        if self.marked[index]:
            rgb[4, 4] = 255
        return rgb


def test_a_mark_that_causes_errors_is_no_shortcut_that_was_not_found():
    loaded, found = marked_set()
    source = Whole(found.target, found.images.source.marked)
    answer = np.where(source.marked, 1, found.target)
    misled = replace(found, images=replace(found.images, source=source), answer=answer)
    first = shortcuts(misled)[0]
    hidden = hide(replace(loaded, model=Misled()), misled, first)
    assert (hidden.before.value, hidden.after.value, hidden.elsewhere.value) == (0, 1, 0)
    assert hidden.effect == "rises"
    said = verdict(misled, first, hidden)
    assert "are right instead of 0 %, with another place covered 0 %" in said
    assert said.endswith(": what lies there causes errors, so the model takes it for a sign of another label.")
    assert "No shortcut" not in said


def test_what_is_lost_beyond_chance_by_hand():
    """Five of five changes to the worse: 1/32 < .05; four of four: 1/16."""
    right = np.ones(8, bool)
    assert lost(right, np.arange(8) >= 5)
    assert not lost(right, np.arange(8) >= 4)
    assert not lost(right, right)


def test_a_planted_mark_is_counted_with_the_answers():
    """Ten pictures of two labels; two of label 0 have the mark, one of them is answered wrong, as is one without. A
    mark on another label is not counted with them."""
    found = recorded(np.eye(2)[[0, 1] * 5], [0, 1] * 5, answer=np.array([1, 1, 0, 1, 1, 1, 0, 1, 0, 1]))
    assert marks_of(found, 0) is None
    planted = replace(found.images, source=Planted(found.images.source, marked=frozenset({0, 2, 3})))
    truth = marks_of(replace(found, images=planted), 0)
    assert truth == (2, 5, (1, 2), {found.labels[1]: 1})
    assert marked("ant", *truth).endswith(f" 1 image of “{found.labels[1]}” has it too.")


def test_hiding_can_be_stopped_and_needs_the_label():
    loaded, found = marked_set()
    first = shortcuts(found)[0]
    with pytest.raises(StoppedError):
        hide(loaded, found, first, stopping=lambda: True)
    unknown = recorded(np.eye(120), found.target, maps=found.maps, images=found.images, truth=np.full(120, -1))
    with pytest.raises(NotApplicable, match="does not know"):
        hide(loaded, unknown, first)


def test_the_place_on_the_pixels_and_its_control():
    place = np.zeros((4, 4), bool)
    place[0, 0] = True
    pixels = grown(place, (16, 16)).numpy()
    assert pixels[:6, :6].all()
    assert pixels.sum() == 36
    assert np.argwhere(elsewhere(place)).tolist() == [[3, 3]]
    middle = np.zeros((3, 3), bool)
    middle[1, 1] = True
    assert not (elsewhere(middle) & middle).any()


@pytest.mark.parametrize(
    "cell, words",
    [
        ((0, 0), "in the top left corner"),
        ((4, 8), "at the right edge"),
        ((8, 4), "at the bottom edge"),
        ((4, 4), "in the middle"),
        ((4, 6), "right of the middle"),
        ((2, 2), "above and left of the middle"),
        ((0, 6), "above and right of the middle"),
    ],
)
def test_places_in_words(cell, words):
    place = np.zeros((9, 9), bool)
    place[cell] = True
    assert place_in_words(place) == words


def test_a_place_in_several_pieces_is_not_called_by_its_middle():
    place = np.zeros((9, 9), bool)
    place[[0, 1, 4], [4, 5, 0]] = True  # two that touch at a corner, and one
    assert place_in_words(place) == "in 2 pieces"


def test_no_shortcut_is_said_of_this_model_and_not_where_few_images_cannot_tell():
    given = ("nymph", (16, 16, 1, 40), "in the middle")
    assert shortcut(*given, 3.0, None, "").startswith("No clear shortcut: in all 16 images of “nymph”")
    given = (*given, 9.0)
    said = shortcut(*given, (0.88, 0.88, 0.88), "")
    assert said.startswith("No shortcut: in all 16 images of “nymph”")
    assert said.endswith("the answers do not depend on it alone.")
    said = shortcut(*given, (0.88, 0.69, 0.88), "")
    assert said.startswith("Not shown to be a shortcut: in all")
    assert said.endswith("with another place covered 88 %: 16 images cannot tell that from chance.")


def test_a_label_that_is_one_cluster_is_compared_with_other_labels():
    assert mean_images(16, True, "in the middle").endswith(
        "; of the others of this label; and the place that they share, in the middle."
    )
    assert "others" not in mean_images(16, False, "in the middle").replace("has no others", "")
