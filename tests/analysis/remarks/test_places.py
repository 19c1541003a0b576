"""Where a map lies, by hand."""

import math

import pytest
import torch

from tests.analysis.remarks import words_of
from vizkit.analysis.remarks import places

COVERED = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0]])  # a fifth


def row(*weights: float) -> torch.Tensor:
    return torch.tensor([weights], dtype=torch.float32)


def test_how_much_of_a_place_the_object_covers():
    mask = torch.zeros(4, 8)
    mask[:, :3] = 1
    assert places.cover(mask, (0.0, 0.0, 8.0, 4.0), (1, 4)).tolist() == [[1.0, 0.5, 0.0, 0.0]]
    assert places.cover(mask, (2.0, 0.0, 6.0, 4.0), (2, 2)).tolist() == [[0.5, 0.0], [0.5, 0.0]]
    assert places.cover(mask, (-2.0, 0.0, 2.0, 4.0), (1, 2)).tolist() == [[0.0, 1.0]]  # over the edge: nothing


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.41, "41 % of the evidence lies on the insect, which covers 20 % of the image."),
        (0.39, None),
        (0.11, None),
        (0.09, "Only 9 % of the evidence lies on the insect, which covers 20 % of the image."),
        (0.0, "Nothing of the evidence lies on the insect, which covers 20 % of the image."),
        (1.0, "100 % of the evidence lies on the insect, which covers 20 % of the image."),
    ],
)
def test_the_share_on_an_object(share: float, words: str | None):
    weights = row(share, *[(1 - share) / 4] * 4)
    assert words_of(places.on_object(weights, COVERED, "the evidence")) == words


def test_no_share_of_nothing_and_negative_values_count_as_none():
    assert places.on_object(torch.zeros(1, 5), COVERED, "it") is None
    assert places.on_object(row(1, 1, 1, 1, 1), torch.zeros(1, 5), "it") is None
    assert words_of(places.on_object(row(2, -9, 0, 0, 0), COVERED, "it")) == (
        "100 % of it lies on the insect, which covers 20 % of the image."
    )


def test_a_map_on_few_places():
    """Of 20 places half of the weight may lie on three."""
    three, four = torch.full((4, 5), 0.5 / 17), torch.full((4, 5), 0.5 / 16)
    three[0, :3], four[0, :4] = 0.51 / 3, 0.5 / 4
    assert words_of(places.concentrated(three, "the map")) == "Half of the map lies on 3 places of 20."
    assert places.concentrated(four, "the map") is None
    assert words_of(places.where(torch.eye(20)[:1].view(4, 5), None, "it")) == "Half of it lies on 1 place of 20."


def test_from_which_layer_on():
    def said(*shares: float) -> str | None:
        return words_of(places.from_layer_on(list(shares), 0.2, "the class token"))

    of = "from the insect, which covers 20 % of the image."
    assert said(0.1, 0.6, 0.3, 0.51, 0.7) == f"From layer 4 on the class token takes at least 51 % {of}"
    assert said(0.6, 0.7) == f"In all layers the class token takes at least 60 % {of}"
    assert said(0.4, 0.7) == f"In the last layer the class token takes 70 % {of}"
    assert said(0.7, 0.49) is None


def test_how_far_two_maps_are_apart():
    assert places.distance(row(1, 0), row(0, 1)) == 1
    assert places.distance(row(2, 2), row(1, 1)) == 0
    assert places.distance(row(1, 1, 0, 0), row(1, 0)) == 0  # the finer is averaged
    assert math.isnan(places.distance(row(0, 0), row(1, 0)))
