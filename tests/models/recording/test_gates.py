"""A softmax that meets no values is no attention: gates of experts, confidences, entropies, however written."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.drawn import seeded
from tests.models.test_wrap import PICTURE, SIZE_HW, TenLines

EXPERTS, WIDTH = 5, 24


class Gated(TenLines):
    """`extra` of the tokens, queries and keys is added after every layer of attention."""

    def __init__(self, extra, kernel):
        super().__init__(kernel=kernel)
        self.extra, self.gate = extra, nn.Linear(WIDTH, EXPERTS)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS))

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.tokens.expand(len(x), -1, -1), x], 1)
        for layer in self.layers:
            q, k, v = layer["qkv"](x).unflatten(-1, (3, 4, 6)).permute(2, 0, 3, 1, 4)
            own = F.scaled_dot_product_attention(q, k, v) if self.kernel else (q @ k.mT * 6**-0.5).softmax(-1) @ v
            x = x + layer["out"](own.transpose(1, 2).flatten(2))
            x = x + self.extra(self, x, q, k)
        return self.head(x.mean(1))

    def shares(self, x):
        return self.gate(x).softmax(-1)

    def answers(self, x):
        """(image, token, expert, channel)"""
        return torch.stack([expert(x) for expert in self.experts], 2)


def sparse(m, x, q, k):
    best, which = m.shares(x).topk(2, -1)
    shares = torch.zeros_like(m.shares(x)).scatter_(-1, which, best / best.sum(-1, keepdim=True))
    return sum((shares[..., i : i + 1] * expert(x) for i, expert in enumerate(m.experts)), torch.zeros_like(x))


def routed(m, x, q, k):
    best, which = m.shares(x).topk(2, -1)
    out = torch.zeros_like(x)
    for number, expert in enumerate(m.experts):
        image, token, place = torch.where(which == number)
        out[image, token] += best[image, token, place, None] * expert(x[image, token])
    return out


def dispatched(m, x, q, k):
    """As GShard does it, with a place in the queue of an expert."""
    first = F.one_hot(m.shares(x).argmax(-1), EXPERTS).float()
    place = (first.cumsum(1) * first - 1).clamp(min=0).long()
    combined = (m.shares(x) * first)[..., None] * F.one_hot(place, x.shape[1]).float()
    given = torch.einsum("btec,btd->becd", (combined > 0).float(), x)
    answers = torch.stack([expert(given[:, i]) for i, expert in enumerate(m.experts)], 1)
    return torch.einsum("btec,becd->btd", combined, answers)


def probed(m, x, q, k):
    """The entropy of attention beside attention itself."""
    weights = (q @ k.mT).softmax(-1)
    return x * 1e-3 * -(weights * weights.log()).sum(-1).mean(1)[..., None]


NONE = {
    "experts, summed": lambda m, x, q, k: (m.answers(x) * m.shares(x)[..., None]).sum(-2),
    "experts, einsum": lambda m, x, q, k: torch.einsum("bte,bted->btd", m.shares(x), m.answers(x)),
    "experts, product": lambda m, x, q, k: (m.shares(x)[:, :, None] @ m.answers(x))[:, :, 0],
    "experts, the best": sparse,
    "experts, routed": routed,
    "experts, dispatched": dispatched,
    "confidence": lambda m, x, q, k: x * m.shares(x).amax(-1, keepdim=True),
    "by number": lambda m, x, q, k: x * nn.Softmax(-1)(x),
    "features": lambda m, x, q, k: m.experts[0](x.softmax(-1)),
    "entropy": lambda m, x, q, k: x * -(m.shares(x) * m.shares(x).log()).sum(-1, keepdim=True),
    "entropy of attention": probed,
    "never read": lambda m, x, q, k: 0 * x + 0 * len(m.shares(x)),
}


@pytest.fixture(autouse=True)
def same_weights():
    with seeded():
        yield


@pytest.mark.product("way")
@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("way", NONE)
def test_a_softmax_that_mixes_no_values_is_no_attention(way, kernel):
    model = Gated(NONE[way], kernel)
    loaded = vizkit.wrap(model, size_hw=SIZE_HW, head="softmax")
    trace = vizkit.trace(loaded, PICTURE, target=3)
    assert (trace.check.layers, trace.check.failure) == ("2 of 2 layers", None)
    assert [layer.query.grid for layer in trace.attention] == [(3, 5), (3, 5)]
    assert trace.check.places.startswith("places measured in 2 of 2 layers")
    assert not any("change their weights" in note for note in trace.notes)
    tokens = torch.cat([model.tokens, model.embed(vizkit.models.pixels_of(loaded, PICTURE)).flatten(2).mT], 1)
    q, k, _ = model.layers[0]["qkv"](tokens).unflatten(-1, (3, 4, 6)).permute(2, 0, 3, 1, 4)
    assert_close(trace.attention[0].weights, (q @ k.mT * 6**-0.5).softmax(-1), rtol=0, atol=1e-5)
    changed = vizkit.trace(loaded, PICTURE, edits=["heads:2.1=0"])
    assert (changed.check.layers, changed.check.failure) == ("2 of 2 layers", None)


def test_one_place_in_the_code_may_be_both_in_two_models():
    """A module's own answer decides, not that of another one of its class."""
    both = [Gated(lambda m, x, q, k: x * x.softmax(-1), kernel) for kernel in (False, True)]
    checks = [vizkit.trace(vizkit.wrap(each, size_hw=SIZE_HW), PICTURE).check for each in (*both, *both)]
    assert [check.layers for check in checks] == ["2 of 2 layers"] * 4
