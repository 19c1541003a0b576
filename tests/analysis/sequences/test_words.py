"""Vectors of words in a plane, by cases whose answer is known."""

import pytest
import torch

from vizkit.analysis.sequences.words import nearest, plane


def test_what_lies_in_a_plane_is_drawn_as_it_lies():
    """Distances stay, the longer direction comes first, the mean is the origin."""
    flat = torch.tensor([[3.0, 0], [-3, 0], [0, 1], [0, -1], [2, 1]])
    basis, _ = torch.linalg.qr(torch.randn(6, 2, generator=torch.Generator().manual_seed(0)))
    drawn = plane(flat @ basis.T + 5)
    torch.testing.assert_close(torch.cdist(drawn.places, drawn.places), torch.cdist(flat, flat), atol=1e-4, rtol=1e-4)
    assert drawn.places.mean(0).abs().max() < 1e-5
    assert float(drawn.explained.sum()) == pytest.approx(1)
    assert drawn.explained[0] > drawn.explained[1]


def test_words_on_a_line_and_a_single_word():
    assert plane(torch.tensor([[1.0], [2.0]])).places.tolist() == [[-0.5, 0], [0.5, 0]]
    alone = plane(torch.ones(1, 4))
    assert (alone.places.tolist(), alone.explained.tolist()) == ([[0, 0]], [0, 0])


def test_the_nearest_words_are_those_of_the_smallest_angle():
    vectors = torch.tensor([[1.0, 0], [5, 0], [0, 1], [-1, 0], [1, 1]])
    near = nearest(vectors, 0, 3)
    assert [number for number, _ in near] == [1, 4, 2]
    assert [cosine for _, cosine in near] == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)
    assert len(nearest(vectors, 0, 99)) == 4
