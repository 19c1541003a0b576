"""Probes, maps and influence: by hand, against independent implementations, and where nothing is to be found."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold
from torch import nn

from tests.evaluation.data_set.toys import blobs, recorded
from vizkit.analysis.data_set import influence
from vizkit.evaluation.data_set import embedding, probe, taught
from vizkit.evaluation.data_set.embedding import by_chance, purity
from vizkit.evaluation.data_set.probing import out_of_sample
from vizkit.evaluation.data_set.record import directions
from vizkit.traces import NotApplicable


# ---- k-NN and linear probe -------------------------------------------------------------------------------------------
def test_the_vote_is_that_of_the_published_code():
    """DINO's eval_knn.py: topk of the similarities, exp(sim / T), one-hot times weight, summed."""
    features, target = blobs(90)
    told = out_of_sample(features, target)
    for learned, asked in StratifiedKFold(5, shuffle=True, random_state=0).split(features, target):
        similar, near = torch.tensor(directions(features[asked]) @ directions(features[learned]).T).topk(20, 1)
        hot = nn.functional.one_hot(torch.tensor(target[learned])[near], 3)
        theirs = (hot * (similar / 0.07).exp()[:, :, None]).sum(1)
        assert_allclose(told.knn[asked], (theirs / theirs.sum(1, keepdim=True)).numpy(), rtol=1e-4, atol=1e-7)


def test_probes_tell_what_can_be_told_and_shuffled_labels_are_chance():
    features, target = blobs(300)
    sure = probe(recorded(features, target))
    assert sure.knn.value > 0.97
    assert sure.linear.value > 0.97
    assert sure.linear.low <= sure.linear.value <= sure.linear.high
    assert sure.model is not None
    shuffled = np.random.default_rng(1).permutation(target)
    lost = probe(recorded(features, shuffled))
    assert lost.knn.low < 1 / 3 < lost.knn.high + 0.03
    assert lost.linear.low - 0.03 < 1 / 3 < lost.linear.high + 0.03
    assert lost.chance == pytest.approx(1 / 3)


def test_no_picture_is_answered_by_a_probe_that_has_seen_it():
    """Every picture has a feature of its own, by which a probe that has seen it knows its label."""
    target = np.random.default_rng(0).integers(0, 2, 60)
    told = out_of_sample(np.eye(60), target)
    assert abs((told.linear.argmax(1) == target).mean() - 0.5) < 0.25
    again = out_of_sample(np.eye(60), target)
    assert_array_equal(told.linear, again.linear)


def test_rare_labels_are_left_out_and_too_few_are_refused():
    features, target = blobs(31)
    target[0] = 3
    told = out_of_sample(features, target)
    assert 0 not in told.rows
    assert_allclose(told.linear.sum(1), 1)
    with pytest.raises(NotApplicable, match="two labels"):
        out_of_sample(features, np.zeros(31, np.int64))


# ---- a map -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["tsne", "pca"])
def test_a_map_keeps_what_lies_together(how):
    features, target = blobs(90, apart=12.0)
    made = embedding(recorded(features, target), how=how)
    assert made.purity > 0.95
    assert made.purity_before > 0.95
    assert made.chance == pytest.approx(29 / 89)  # three labels of 30
    assert made.trustworthiness > 0.75
    assert np.abs(made.xy).max() == pytest.approx(1)
    assert_array_equal(made.xy, embedding(recorded(features, target), how=how).xy)


def test_two_dimensions_lose_nothing_and_the_figures_say_so():
    chance = np.random.default_rng(0)
    angle = chance.uniform(0, 2 * np.pi, 80)
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)  # features of length 1 stay as they are
    made = embedding(recorded(circle, (angle > np.pi).astype(int)), how="pca")
    assert made.trustworthiness == pytest.approx(1)
    assert made.purity == pytest.approx(made.purity_before)


def test_pictures_without_a_map_have_no_place():
    features, target = blobs(40)
    maps = np.random.default_rng(0).random((40, 3, 3)).astype(np.float32)
    maps[3] = np.nan
    made = embedding(recorded(features, target, maps=maps), "maps", "pca")
    assert np.flatnonzero(np.isnan(made.xy[:, 0])).tolist() == [3]
    with pytest.raises(NotApplicable, match="at least 5"):
        embedding(recorded(features[:6], target[:6], maps=maps[:6] * np.nan), "maps")


def test_purity_by_hand():
    assert purity(np.array([[1, 2], [0, 2], [0, 1]]), np.array([0, 0, 1])) == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert by_chance(np.array([4, 4, 9])) == pytest.approx(1 / 3)  # one of three pairs


# ---- influence -------------------------------------------------------------------------------------------------------
def layer_and_pictures(seed=0, count=12):
    torch.manual_seed(seed)
    layer = nn.Linear(5, 3).double()
    features, truth = torch.randn(count, 5, dtype=torch.float64), torch.arange(count) % 3
    return layer, features, truth


def test_influence_is_the_cosine_of_gradients_by_autograd():
    layer, features, truth = layer_and_pictures()
    gradients = []
    for h, label in zip(features, truth, strict=True):
        loss = nn.functional.cross_entropy(layer(h[None]), label[None])
        gradients.append(torch.cat([each.flatten() for each in torch.autograd.grad(loss, [*layer.parameters()])]))
    stacked = nn.functional.normalize(torch.stack(gradients))
    probabilities = layer(features).softmax(1).detach().numpy()
    for row in range(len(truth)):
        ours = influence.last_layer(probabilities, truth.numpy(), features.numpy(), row)
        assert_allclose(ours, (stacked @ stacked[row]).numpy(), rtol=1e-6, atol=1e-12)


def test_influence_is_captums(tmp_path):
    """TracInCPFast divided by both lengths. It leaves out the bias: here the weight of a feature that is always 1."""
    from captum.influence import TracInCPFast

    layer, features, truth = layer_and_pictures()
    last = nn.Linear(6, 3, bias=False).double()
    last.weight.data = torch.cat([layer.weight, layer.bias[:, None]], 1).detach()
    data = torch.utils.data.TensorDataset(torch.cat([features, torch.ones(12, 1)], 1).double(), truth)
    whole = nn.Sequential(nn.Identity(), last)
    path = str(tmp_path / "model.pt")
    torch.save(whole.state_dict(), path)

    def restore(model, checkpoint):
        model.load_state_dict(torch.load(checkpoint))
        return 1.0  # the learning rate

    loss = nn.CrossEntropyLoss(reduction="sum")
    theirs = TracInCPFast(whole, last, data, [path], restore, loss_fn=loss, batch_size=4)
    products = theirs.influence((data.tensors[0], truth)).detach().numpy()
    expected = products[2] / np.sqrt(np.diag(products) * products[2, 2])
    ours = influence.last_layer(layer(features).softmax(1).detach().numpy(), truth.numpy(), features.numpy(), 2)
    assert_allclose(ours, expected, rtol=1e-6)


def test_influence_by_hand():
    """p = (½, ½), labels 0 and 1: p − y = (−½, ½) and (½, −½), cosine −1; with the bias h = (1, 1, 1) and (2, 0, 1)."""
    values = influence.last_layer(np.full((2, 2), 0.5), np.array([0, 1]), np.array([[1.0, 1], [2, 0]]), 0)
    assert_allclose(values, [1, -3 / np.sqrt(3 * 5)])


def test_an_error_is_taught_by_pictures_of_the_wrong_label():
    features, target = blobs(90)
    features[0] = features[1]  # looks like label 1, and is labelled 0
    splits = np.array(["test", *["train"] * 89])
    found = taught(recorded(features, target, splits=splits), 0)
    assert 0 not in found.rows
    assert (np.diff(found.influence) <= 0).all()
    assert target[found.against(1)] == [1]
    assert target[found.for_(1)] == [0]
    with pytest.raises(NotApplicable, match="linear"):
        taught(recorded(features, target, linear=False), 0)
    with pytest.raises(NotApplicable, match="label"):
        taught(recorded(features, target, truth=np.full(90, -1)), 0)
