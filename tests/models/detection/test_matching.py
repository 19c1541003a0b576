"""The assignment against all permutations; the losses by hand; GIoU against torchmetrics."""

import itertools

import pytest
import torch
from torch.testing import assert_close
from torchmetrics.functional.detection import generalized_intersection_over_union

from vizkit.models.detection.matching import Things, Weights, costs, losses, match, matched
from vizkit.models.networks.detr import Answers


def things(count, seed=0):
    draw = torch.Generator().manual_seed(seed)
    boxes = torch.rand(count, 4, generator=draw) * 0.4 + 0.2
    return Things(torch.randint(0, 3, (count,), generator=draw), boxes)


def answers(images, queries, seed=1):
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(images, queries, 4, generator=draw)
    return Answers(logits, torch.rand(images, queries, 4, generator=draw) * 0.4 + 0.2)


@pytest.mark.parametrize("queries, count", [(7, 5), (5, 5), (7, 1), (3, 0), (2, 5)])
def test_the_least_cost_of_all_permutations(queries, count):
    cost = torch.rand(queries, count, generator=torch.Generator().manual_seed(queries * 10 + count))
    rows, columns = match(cost)
    if queries >= count:
        every = [
            sum(cost[row, thing].item() for thing, row in enumerate(chosen))
            for chosen in itertools.permutations(range(queries), count)
        ]
        assert len(rows) == count
        assert float(cost[rows, columns].sum()) == pytest.approx(min(every), abs=1e-6)
    assert len(set(rows.tolist())) == len(rows) == len(set(columns.tolist())) == min(queries, count)


def test_every_picture_of_a_batch_is_assigned_as_if_it_were_alone():
    every = [things(3, 0), things(0, 1), things(5, 2)]
    said = answers(3, 7)
    together = matched(said, every)
    for image, each in enumerate(every):
        alone = match(costs(said.logits[image], said.boxes_cxcywh[image], each).total(Weights()))
        assert all(torch.equal(one, other) for one, other in zip(together[image], alone, strict=True))


def test_overlap_is_that_of_torchmetrics():
    first, second = things(5, 3).boxes_cxcywh, things(7, 4).boxes_cxcywh
    mine = costs(torch.zeros(5, 4), first, Things(torch.zeros(7, dtype=torch.long), second)).overlap

    def corners(boxes):
        return torch.cat([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)

    theirs = generalized_intersection_over_union(corners(first), corners(second), aggregate=False)
    assert_close(1 - mine, theirs)


def test_losses_of_one_thing_worked_out_by_hand():
    # Two queries, one class and "no object"; the first query has the thing, its box twice as wide.
    said = Answers(
        torch.tensor([[[0.0, 0.0], [0.0, 0.0]]]), torch.tensor([[[0.5, 0.5, 0.4, 0.2], [0.1, 0.1, 0.1, 0.1]]])
    )
    thing = Things(torch.tensor([0]), torch.tensor([[0.5, 0.5, 0.2, 0.2]]))
    (pairs,) = matched(said, [thing])
    assert (pairs[0].tolist(), pairs[1].tolist()) == ([0], [0])
    made = losses(said, [thing], [pairs])
    assert float(made.label) == pytest.approx(0.6931, abs=1e-4)  # ln 2, whatever the weights
    assert float(made.distance) == pytest.approx(0.2)
    assert float(made.overlap) == pytest.approx(0.5)  # IoU ½, and the smallest box around both is the larger one
    assert float(made.total(Weights())) == pytest.approx(0.6931 + 5 * 0.2 + 2 * 0.5, abs=1e-4)


def test_nothing_in_a_picture_is_a_loss_of_the_classes_alone():
    said = answers(1, 3)
    made = losses(said, [things(0)], matched(said, [things(0)]))
    assert float(made.distance) == float(made.overlap) == 0.0
    assert float(made.label) > 0
