"""Where a map lies, by hand."""

import pytest
import torch

from vizkit.analysis.remarks import places

COVERED = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0]])  # a fifth


def row(*weights):
    return torch.tensor([weights], dtype=torch.float32)


def test_how_much_of_a_place_the_object_covers():
    mask = torch.zeros(4, 8)
    mask[:, :3] = 1
    assert places.cover(mask, (0.0, 0.0, 8.0, 4.0), (1, 4)).tolist() == [[1.0, 0.5, 0.0, 0.0]]
    assert places.cover(mask, (2.0, 0.0, 6.0, 4.0), (2, 2)).tolist() == [[0.5, 0.0], [0.5, 0.0]]
    assert places.cover(mask, (-2.0, 0.0, 2.0, 4.0), (1, 2)).tolist() == [[0.0, 1.0]]  # over the edge: nothing


@pytest.mark.parametrize(
    "share, words",
    [
        (0.41, "41 % of the evidence lies on the insect, which covers 20 % of the image."),
        (0.39, None),
        (0.11, None),
        (0.09, "Only 9 % of the evidence lies on the insect, which covers 20 % of the image."),
        (0.0, "Nothing of the evidence lies on the insect, which covers 20 % of the image."),
        (1.0, "100 % of the evidence lies on the insect, which covers 20 % of the image."),
    ],
)
def test_the_share_on_an_object(share, words):
    weights = row(share, *[(1 - share) / 4] * 4)
    assert places.on_object(weights, COVERED, "the evidence") == words


def test_no_share_of_nothing_and_negative_values_count_as_none():
    assert places.on_object(torch.zeros(1, 5), COVERED, "it") is None
    assert places.on_object(row(1, 1, 1, 1, 1), torch.zeros(1, 5), "it") is None
    assert places.on_object(row(2, -9, 0, 0, 0), COVERED, "it") == (
        "100 % of it lies on the insect, which covers 20 % of the image."
    )


def test_a_map_on_few_places():
    """Of 20 places half of the weight may lie on three."""
    three, four = torch.full((4, 5), 0.5 / 17), torch.full((4, 5), 0.5 / 16)
    three[0, :3], four[0, :4] = 0.51 / 3, 0.5 / 4
    assert places.concentrated(three, "the map") == "Half of the map lies on 3 of 20 places."
    assert places.concentrated(four, "the map") is None
    assert places.concentrated(0 * four, "the map") is None
    assert places.spread(four, "the map") == "Half of the map lies on 4 of 20 places, 20 %."
    assert places.spread(0 * four, "the map") is None
    assert places.where(torch.eye(20)[:1].view(4, 5), None, "it") == "Half of it lies on 1 of 20 places."


def test_from_which_layer_on():
    def said(*shares):
        return places.from_layer_on(list(shares), 0.2, "the class token")

    of = "from the insect, which covers 20 % of the image."
    assert said(0.1, 0.6, 0.3, 0.51, 0.7) == f"From layer 4 on the class token takes at least 51 % {of}"
    assert said(0.6, 0.7) == f"In all layers the class token takes at least 60 % {of}"
    assert said(0.4, 0.7) == f"In the last layer the class token takes 70 % {of}"
    assert said(0.7, 0.49) is None


def test_an_object_that_covers_half_of_the_image():
    """Twice as much would be all of it: from three quarters on it stands out, and up to one."""
    covered = torch.tensor([[1.0, 0.0]])

    def said(share):
        return places.on_object(row(share, 1 - share), covered, "it")

    assert [said(share) for share in (0.26, 0.625, 0.74)] == [None] * 3
    assert said(0.75) == "75 % of it lies on the insect, which covers 50 % of the image."
    assert said(0.25) == "Only 25 % of it lies on the insect, which covers 50 % of the image."
    assert places.from_layer_on([0.97], 0.48, "it") is None  # where an object is as large, only all of it stands out
    assert places.from_layer_on([0.89], 0.45, "it") is None
    assert places.from_layer_on([0.91], 0.45, "it") == (
        "In all layers it takes at least 91 % from the insect, which covers 45 % of the image."
    )


def test_what_reaches_over_an_edge_is_no_object():
    mask = torch.zeros(8, 4)
    mask[:3] = 1
    assert places.cover(mask, (0.0, -2.0, 4.0, 2.0), (2, 1)).tolist() == [[0.0], [1.0]]
    assert places.cover(mask.flip(0), (0.0, 6.0, 4.0, 10.0), (2, 1)).tolist() == [[1.0], [0.0]]
    assert places.cover(mask.T.flip(1), (6.0, 0.0, 10.0, 4.0), (1, 2)).tolist() == [[1.0, 0.0]]
    assert places.cover(mask, (0.0, 2.0, 4.0, 4.0), (2, 1)).tolist() == [[1.0], [0.0]]


def test_half_of_the_layers_and_of_the_weight_exactly():
    assert places.from_layer_on([0.5, 0.5], 0.2, "it") == (
        "In all layers it takes at least 50 % from the insect, which covers 20 % of the image."
    )
    assert places.from_layer_on([], 0.2, "it") is None
    said = places.from_layer_on([0.1, 0.997, 0.998], 0.2, "it")
    assert said == ("From layer 2 on it takes more than 99 % from the insect, which covers 20 % of the image.")
    half = torch.full((4, 5), 1.0)
    half[0, 0] = 19.0
    assert places.concentrated(half, "it") == "Half of it lies on 1 of 20 places."
