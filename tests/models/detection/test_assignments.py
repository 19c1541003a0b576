"""Which query stands for which thing: the best assignment and the greedy one, by hand."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from vizkit.models.detection.assignments import assigned, costs_of, things_of
from vizkit.models.detection.matching import Costs, Weights
from vizkit.models.networks.detr import Answers

ONLY_LABEL = Weights(label=1.0, distance=0.0, overlap=0.0)


def test_greedy_takes_the_cheapest_pair_and_pays_for_it():
    label = torch.tensor([[0.1, 0.2], [0.2, 0.9], [0.8, 0.8]])
    nothing = torch.zeros(3, 2)
    made = assigned(Costs(label, nothing, nothing), ONLY_LABEL)
    assert made.greedy.pairs == ((0, 0), (2, 1))
    assert made.greedy.cost == pytest.approx(0.9)
    assert made.optimal.pairs == ((0, 1), (1, 0))
    assert made.optimal.cost == pytest.approx(0.4)


def test_weights_decide_without_a_model():
    label, distance = torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [0.0]])
    each = Costs(label, distance, torch.zeros(2, 1))
    assert assigned(each, ONLY_LABEL).optimal.pairs == ((0, 0),)
    assert assigned(each, Weights(label=0.0, distance=1.0, overlap=0.0)).optimal.pairs == ((1, 0),)


def test_nothing_to_find_costs_nothing():
    made = assigned(Costs(*[torch.zeros(3, 0)] * 3), Weights())
    assert made.optimal.pairs == made.greedy.pairs == ()
    assert made.optimal.cost == made.greedy.cost == 0


def test_boxes_go_to_shares():
    boxes = np.array([[2.0, 3.0, 12.0, 7.0]])
    things = things_of(boxes, np.array([1]), (10, 20))
    assert_close(things.boxes_cxcywh, torch.tensor([[0.35, 0.5, 0.5, 0.4]]))
    sure = torch.tensor([[[-50.0, 50.0, -50.0]]])
    same = costs_of(Answers(sure, things.boxes_cxcywh[None]), things)
    assert float(same.total(Weights())[0, 0]) == pytest.approx(0, abs=1e-5)
