"""What meets the values is what was recorded: weights that are moved, copied or written into between their softmax and
the product turn the proof red, or a note says that they are changed."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

import vizkit
from tests.drawn import seeded
from tests.models.test_wrap import PICTURE, SIZE_HW, TenLines
from vizkit.models.recording.meeting import Path, summed, together
from vizkit.models.recording.recorder import Keep

HEADS, TOKENS = 4, 16
ORDER = torch.randperm(TOKENS, generator=torch.Generator().manual_seed(0))
NOTE = "layers change their weights after the softmax"


class Mixing(TenLines):
    """`mix` makes of scores and values, both by head, what the layer goes on with."""

    def __init__(self, mix, layer=None):
        super().__init__()
        self.mix, self.broken = mix, layer

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.tokens.expand(len(x), -1, -1), x], 1)
        for at, layer in enumerate(self.layers):
            q, k, v = layer["qkv"](x).unflatten(-1, (3, HEADS, 6)).permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-2, -1) * 3
            mixed = self.mix(scores, v) if self.broken in (None, at) else scores.softmax(-1) @ v
            x = x + layer["out"](mixed.transpose(1, 2).flatten(2))
        return self.head(x.mean(1))


def traced(mix, target=None, layer=None, **options):
    with seeded():
        model = Mixing(mix, layer)
    return vizkit.trace(vizkit.wrap(model, size_hw=SIZE_HW), PICTURE, target=target, **options)


def by_head(product, one, other):
    """Of one image."""
    return torch.stack([product(one[0, head], other[0, head]) for head in range(one.shape[1])])[None]


def after(mix):
    return lambda scores, values: mix(scores.softmax(-1), values)


def written(write):
    def mix(weights, values):
        write(weights)
        return weights @ values

    return after(mix)


RIGHT = {
    "@": after(lambda w, v: w @ v),
    "matmul": after(torch.matmul),
    "bmm": after(lambda w, v: torch.bmm(w.flatten(0, 1), v.flatten(0, 1)).unflatten(0, w.shape[:2])),
    "einsum": after(lambda w, v: torch.einsum("bhij,bhjd->bhid", w, v)),
    "einsum without output": after(lambda w, v: torch.einsum("...ij,...jd", w, v).mT),
    "einsum of a list": after(lambda w, v: torch.einsum("... i j, ... j d -> ... i d", [w, v])),
    "values behind": after(lambda w, v: torch.einsum("bhij,bjhd->bhid", w, v.transpose(1, 2))),
    "from the right": after(lambda w, v: (v.mT @ w.mT).mT),
    "transposed for its letters": after(lambda w, v: torch.einsum("bhji,bhjd->bhid", w.mT, v)),
    "dropout and a copy": after(lambda w, v: F.dropout(w, 0.5, training=False).clone() @ v),
    "added to nothing": after(
        lambda w, v: torch.baddbmm(torch.zeros(HEADS, TOKENS, 6), w.flatten(0, 1), v.flatten(0, 1)).unflatten(
            0, (-1, HEADS)
        )
    ),
    "as a linear map": after(lambda w, v: by_head(F.linear, w, v.mT)),
    "as the weight of a linear map": after(lambda w, v: by_head(F.linear, v.mT, w).mT),
    "head by head": after(lambda w, v: by_head(torch.matmul, w, v)),
    "head by head, of the first image": after(
        lambda w, v: torch.stack([torch.mm(*each) for each in zip(w[0], v[0], strict=True)])[None]
    ),
    "two heads at once": after(lambda w, v: torch.cat([w[:, at : at + 2] @ v[:, at : at + 2] for at in (0, 2)], 1)),
    "kept in a buffer": lambda s, v: torch.softmax(s, -1, out=torch.empty_like(s)) @ v,
    "softmax of another type": lambda s, v: F.softmax(s, -1, dtype=torch.float64).float() @ v,
}
WRONG = {
    "transposed": after(lambda w, v: w.transpose(-1, -2) @ v),
    "transposed by einsum": after(lambda w, v: torch.einsum("bhji,bhjd->bhid", w, v)),
    "heads permuted": after(lambda w, v: w.unflatten(1, (2, 2)).transpose(1, 2).flatten(1, 2) @ v),
    "one head for all": after(lambda w, v: w[:, :1].expand(-1, HEADS, -1, -1) @ v),
    "one head, broadcast": after(lambda w, v: w[:, :1] @ v),
    "half of the heads": after(lambda w, v: (w[:, :2] @ v[:, :2]).repeat(1, 2, 1, 1)),
    "strides changed": after(lambda w, v: w.as_strided(w.shape, (*w.stride()[:2], *w.stride()[:1:-1])) @ v),
    "twice": after(lambda w, v: (w @ w) @ v),
    "head by head, transposed": after(lambda w, v: by_head(torch.matmul, w.mT, v)),
    "head by head, the next one": after(
        lambda w, v: torch.stack([w[:, (head + 1) % HEADS] @ v[:, head] for head in range(HEADS)], 1)
    ),
    "head by head, always the first": after(
        lambda w, v: torch.stack([w[:, 0] @ v[:, head] for head in range(HEADS)], 1)
    ),
    "head by head, without the last": after(
        lambda w, v: by_head(torch.matmul, w[:, :3], v[:, [0, 1, 2]]).repeat(1, 2, 1, 1)[:, :4]
    ),
    "as a linear map, transposed": after(lambda w, v: by_head(F.linear, w.mT, v.mT)),
    "added to nothing, transposed": after(
        lambda w, v: torch.baddbmm(torch.zeros(HEADS, TOKENS, 6), w[0].mT, v[0])[None]
    ),
}
NOTED = {
    "rows of one head": after(lambda w, v: torch.cat([w[:, :1, ORDER], w[:, 1:]], 1) @ v),
    "keys reversed": after(lambda w, v: w.flip(-1) @ v),
    "keys in another order, with their values": after(lambda w, v: w[..., ORDER] @ v[..., ORDER, :]),
    "gated": after(lambda w, v: (w * w.sum(-2, keepdim=True)) @ v),
    "heads mixed": after(lambda w, v: torch.einsum("gh,bhij->bgij", torch.ones(HEADS, HEADS) / HEADS, w) @ v),
    "without a product": after(lambda w, v: (w[..., None] * v[:, :, None]).sum(-2)),
    "without the first key": after(lambda w, v: w[..., 1:] @ v[..., 1:, :]),
}
WRITTEN = {
    "one key": written(lambda w: w.__setitem__((..., 0), 0)),
    "rows of one head": written(lambda w: w[:, 0].copy_(w[:, 0].flip(-2).clone())),
    "through another view": written(lambda w: w.view(-1)[::2].mul_(0.5)),
}


@pytest.mark.parametrize("target", [None, 3])
@pytest.mark.parametrize("way", RIGHT)
def test_every_way_to_write_the_product_is_proven(way, target):
    check = traced(RIGHT[way], target).check
    assert check.passed
    assert (check.layers, check.proofs[:2]) == ("2 of 2 layers", ("output of every layer", "logits"))


@pytest.mark.product("way")
@pytest.mark.parametrize("options", [{}, {"target": 3}, {"layer": 1}, {"keep": Keep(rows=(2, 5, 7))}])
@pytest.mark.parametrize("way", WRONG)
def test_weights_that_meet_the_values_elsewhere_are_red(way, options):
    trace = traced(WRONG[way], **options)
    assert "do not give what a layer itself gave" in str(trace.check.refused)
    assert trace.notes[0] == trace.check.failure


@pytest.mark.parametrize("way", sorted(WRONG.keys() - {"one head for all", "one head, broadcast", "half of the heads"}))
def test_the_mean_over_heads_is_red_too(way):
    """Those heads that only trade places leave their mean as it is."""
    refused = traced(WRONG[way], keep=Keep(heads="mean")).check.refused
    assert (refused is None) == (way in ("heads permuted", "head by head, the next one"))


@pytest.mark.parametrize("target", [None, 3])
@pytest.mark.parametrize("way", NOTED)
def test_weights_that_are_changed_on_the_way_are_said_to_be(way, target):
    trace = traced(NOTED[way], target)
    assert (trace.check.passed, trace.check.layers) == (True, "2 of 2 layers")
    assert any(note.startswith(f"2 of 2 {NOTE}") for note in trace.notes)


def test_a_note_of_one_layer_does_not_excuse_another():
    """The first layer gates its weights, which a note says; the second turns them round, which none says."""
    turns = iter(range(100))

    def mix(scores, values):
        weights = scores.softmax(-1)
        gated = next(turns) % 2 == 0
        return (weights * weights.sum(-2, keepdim=True) if gated else weights.mT) @ values

    trace = traced(mix)
    assert any(note.startswith(f"1 of 2 {NOTE}") for note in trace.notes)
    assert trace.check.refused


@pytest.mark.parametrize("way", WRITTEN)
def test_writing_into_the_weights_is_red_where_what_is_kept_is_not_written_into(way):
    """With a target the model goes on with a copy: without one, what is kept is what meets the values."""
    assert traced(WRITTEN[way], target=3).check.refused


def test_weights_written_into_with_what_is_kept_are_the_weights_that_were_used():
    trace = traced(written(lambda w: w.copy_(w[..., ORDER].clone())))
    assert trace.check.passed
    twin = traced(after(lambda w, v: w[..., ORDER] @ v))
    assert_close(trace.attention[0].weights, twin.attention[0].weights[..., ORDER])


def test_weights_that_are_overwritten_after_their_use_are_red():
    def mix(weights, values):
        out = weights @ values
        weights.copy_(weights.flip(-1).clone())
        return out

    assert traced(after(mix)).check.refused


@pytest.mark.parametrize("target", [None, 3])
def test_one_buffer_for_the_weights_of_all_layers_loses_none(target):
    buffer = torch.empty(1, HEADS, TOKENS, TOKENS)
    trace = traced(lambda s, v: torch.softmax(s, -1, out=buffer) @ v, target)
    plain = traced(RIGHT["@"], target)
    assert trace.check.passed
    for mine, theirs in zip(trace.attention, plain.attention, strict=True):
        assert_close(mine.weights, theirs.weights)
        if target is not None:
            assert_close(mine.gradient, theirs.gradient)
    in_place = traced(lambda s, v: (torch.softmax(s, -1, out=s), s @ v)[1], target)
    assert_close(in_place.attention[1].weights, plain.attention[1].weights)
    empty = traced(lambda s, v: torch.softmax(s, dim=-1, out=s.new_empty(0)) @ v, target)
    assert empty.check.passed


# The parts ------------------------------------------------------------------------------------------------------------


def test_a_path_ends_where_the_values_are_met_and_forgets_what_is_not_on_it():
    weights, values, other = torch.rand(2, 3, 3), torch.rand(2, 3, 5), torch.rand(2, 3, 3)
    path = Path((2, 3, 3), weights)
    assert path.met(torch.matmul, (other, values), {}, other @ values) is None
    turned = weights.mT
    assert path.met(Tensor.transpose, (weights, -1, -2), {}, turned) is None
    found = path.met(torch.matmul, (turned, values), {}, turned @ values)
    assert found.weights is turned
    assert found.values.data_ptr() == values.data_ptr()
    assert found.values.stride() == values.stride()


def test_parts_lie_where_they_were_taken():
    """Three groups of two heads, taken head by head, group by group, or a few after others."""
    every = torch.arange(6.0).view(3, 2, 1, 1)
    assert torch.equal(together([*every.unbind(1)], (3, 2)), every)
    assert torch.equal(together([*every.unbind(0)], (3, 2)), every.flatten(0, 1))
    assert torch.equal(together([*every.flatten(0, 1).split((4, 2))], (3, 2)), every.flatten(0, 1))
    assert torch.equal(together([*every.flatten(0, 1).split((2, 4))], (6,)), every.flatten(0, 1))


@pytest.mark.parametrize(
    "equation, expected",
    [
        ("bij,bjd->bid", ((2, 3, 4), (2, 5, 4))),
        ("...ij,...jd", ((2, 3, 4), (2, 5, 4))),
        ("b i j, b j d -> d i b", ((2, 3, 4), (2, 5, 4))),
        ("ji...,...jd->id...", None),
        ("ij...,...jd->i...d", None),
        ("bij,bjd->bijd", None),
        ("bij,bij->b", None),
        ("bij,bjd", None),
    ],
)
def test_the_axis_that_an_einsum_sums_over_comes_last(equation, expected):
    found = summed(equation, torch.zeros(2, 3, 4), torch.zeros(2, 4, 5))
    assert (found and tuple(tuple(each[1].shape) for each in found)) == expected
