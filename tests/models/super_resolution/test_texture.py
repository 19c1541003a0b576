"""Attention between two images: against plain loops, on shifted copies, in blocks."""

import pytest
import torch
import torch.nn.functional as F

from vizkit.models.networks.super_resolution.texture import (
    directions,
    gathered,
    match,
    mixed,
    neighbours,
    relevance,
)

PICTURES, CHANNELS, GRID, KEY_GRID = 2, 3, (5, 7), (11, 13)  # a different prime for every axis


@pytest.fixture
def maps():
    draw = torch.Generator().manual_seed(0)
    query = torch.randn(PICTURES, CHANNELS, *GRID, generator=draw)
    key = torch.randn(PICTURES, CHANNELS, *KEY_GRID, generator=draw)
    return query, key, draw


def patch(features, row, column):
    """The 3 × 3 patch of one picture around a place, zeros beyond the border."""
    return F.pad(features, (1, 1, 1, 1))[:, row : row + 3, column : column + 3].flatten()


def test_hard_attention_is_that_of_a_double_loop(maps):
    query, key, _ = maps
    matched = match(query, key)
    for n in range(PICTURES):
        for i in range(GRID[0] * GRID[1]):
            q = patch(query[n], *divmod(i, GRID[1]))
            scores = [
                float(F.cosine_similarity(q, patch(key[n], *divmod(j, KEY_GRID[1])), dim=0))
                for j in range(KEY_GRID[0] * KEY_GRID[1])
            ]
            best = max(range(len(scores)), key=scores.__getitem__)
            assert int(matched.place[n, i]) == best
            assert float(matched.relevance[n, i]) == pytest.approx(scores[best], abs=1e-5)


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_texture_is_the_mean_of_the_patches_that_overlap(maps, scale):
    query, key, draw = maps
    values = torch.randn(PICTURES, 2, scale * KEY_GRID[0], scale * KEY_GRID[1], generator=draw)
    place = match(query, key).place
    texture = gathered(values, neighbours(place, GRID, KEY_GRID), GRID, scale)

    total = torch.zeros(PICTURES, 2, scale * GRID[0], scale * GRID[1])
    count = torch.zeros_like(total)
    for n in range(PICTURES):
        for i in range(GRID[0] * GRID[1]):
            row, column = divmod(i, GRID[1])
            key_row, key_column = divmod(int(place[n, i]), KEY_GRID[1])
            for d_row in (-1, 0, 1):
                for d_column in (-1, 0, 1):
                    r, c, kr, kc = row + d_row, column + d_column, key_row + d_row, key_column + d_column
                    if 0 <= r < GRID[0] and 0 <= c < GRID[1] and 0 <= kr < KEY_GRID[0] and 0 <= kc < KEY_GRID[1]:
                        to = (n, slice(None), *(slice(scale * x, scale * (x + 1)) for x in (r, c)))
                        origin = (n, slice(None), *(slice(scale * x, scale * (x + 1)) for x in (kr, kc)))
                        total[to] += values[origin]
                        count[to] += 1
    assert torch.allclose(texture, total / count, atol=1e-6)


@pytest.mark.parametrize("largest", [1, 17 * 143, 10**9])
def test_blocks_equal_the_whole(maps, largest):
    query, key, draw = maps
    whole = match(query, key)
    inside = match(query, key, largest)
    assert torch.equal(inside.place, whole.place)
    assert torch.allclose(inside.relevance, whole.relevance)
    values = torch.randn(PICTURES, 2, 2 * KEY_GRID[0], 2 * KEY_GRID[1], generator=draw)
    assert torch.allclose(mixed(query, key, values, 2, 9.0, largest), mixed(query, key, values, 2, 9.0), atol=1e-6)


def test_a_block_holds_no_more_than_it_may(maps):
    query, key, _ = maps
    largest = 2 * 143 * 4
    sizes = [block.numel() for block in relevance(directions(query), directions(key), largest)]
    assert max(sizes) <= largest
    assert sum(sizes) == PICTURES * 35 * 143


def test_a_sharp_mixture_takes_the_best_place(maps):
    query, key, draw = maps
    values = torch.randn(PICTURES, 2, *KEY_GRID, generator=draw)
    place = match(query, key).place
    best = values.flatten(2).gather(2, place[:, None].expand(-1, 2, -1)).unflatten(2, GRID)
    assert torch.allclose(mixed(query, key, values, 1, 1e6), best, atol=1e-2)
    even = values.mean((2, 3), keepdim=True).expand(-1, -1, *GRID)
    assert torch.allclose(mixed(query, key, values, 1, 1e-9), even, atol=1e-6)


def test_the_gradient_goes_through_relevance_and_texture(maps):
    query, key, draw = maps
    values = torch.randn(PICTURES, 2, *KEY_GRID, generator=draw, requires_grad=True)
    query.requires_grad_()
    matched = match(query, key)
    (gathered(values, neighbours(matched.place, GRID, KEY_GRID), GRID, 1).sum() + matched.relevance.sum()).backward()
    assert query.grad.abs().sum() > 0
    assert values.grad.abs().sum() > 0
