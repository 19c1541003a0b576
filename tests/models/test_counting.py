"""How many attention layers a model has is counted without the recording, so that a layer it misses is noticed."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.drawn import noise
from tests.test_families import ZOO, first_trace, loaded_of, pixels_of
from vizkit.image import Preprocessing
from vizkit.models import families
from vizkit.models.recording.counting import Counting
from vizkit.models.sources.loaded import Counted, Loaded
from vizkit.traces import TraceError

# Layers as people write them: from query, key and value (image, head, token, channel) to what the values are mixed to.


def softmax(layer, query, key, value):
    return torch.softmax(query @ key.mT, -1) @ value


def fused(layer, query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


def written_out(layer, query, key, value):
    scores = query @ key.mT * 0.3
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True) @ value


def divided_at_the_end(layer, query, key, value):
    weights = (query @ key.mT * 0.3).exp_()
    return (weights @ value) / weights.sum(-1, keepdim=True)


def einsum(layer, query, key, value):
    weights = torch.einsum("bhid,bhjd->bhij", query, key).exp()
    return torch.einsum("bhij,bhjd->bhid", weights / weights.sum(-1, keepdim=True), value)


def logarithms(layer, query, key, value):
    return (query @ key.mT).log_softmax(-1).exp() @ value


def values_first(layer, query, key, value):
    weights = (key @ query.mT * 0.3).exp()
    return (value.mT @ (weights / weights.sum(-2, keepdim=True))).mT


def relu(layer, query, key, value):
    return (query @ key.mT).relu() / key.shape[-2] @ value


def talking_heads(layer, query, key, value):
    weights = layer.mix((query @ key.mT).movedim(1, -1)).movedim(-1, 1).exp()
    weights = layer.mix((weights / weights.sum(-1, keepdim=True)).movedim(1, -1)).movedim(-1, 1)
    return weights @ value


def learned_query(layer, query, key, value):
    weights = (layer.query @ key.mT).exp()
    return (weights / weights.sum(-1, keepdim=True) @ value).expand_as(query)


def another_name(layer, query, key, value):
    return torch.special.softmax(query @ key.mT, -1) @ value


def linear(layer, query, key, value):
    return query.relu() @ (key.relu().mT @ value)


def no_attention(layer, query, key, value):
    return layer.lift(query).relu() @ layer.sink + key.sigmoid() * value + (query * key).exp()


def behind_a_cond(layer, query, key, value):
    given = (query, key, value)
    return torch.cond(query.sum() > 0, lambda q, k, v: (q @ k.mT).softmax(-1) @ v, lambda q, k, v: v.clone(), given)


class Layer(nn.Module):
    """Attention of two heads that has neither `num_heads` nor any other mark of it."""

    def __init__(self, way, width=16):
        super().__init__()
        self.way, self.norm = way, nn.LayerNorm(width)
        self.linear, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mix, self.lift = nn.Linear(2, 2), nn.Linear(width // 2, 32)
        self.query = nn.Parameter(torch.randn(2, 1, width // 2))
        self.sink = nn.Parameter(torch.randn(32, width // 2))

    def forward(self, tokens, **unused):
        given = self.linear(self.norm(tokens)).unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        return tokens + self.out(self.way(self, *given).transpose(1, 2).flatten(2))


class Model(nn.Module):
    """Patches of 8 × 8 pixels, layers of attention, the mean of the tokens, three classes."""

    def __init__(self, *ways):
        super().__init__()
        self.embed, self.head = nn.Conv2d(3, 16, 8, 8), nn.Linear(16, 3)
        self.layers = nn.ModuleList(Layer(way) for way in ways)

    def forward(self, pixels):
        tokens = self.embed(pixels).flatten(2).mT
        for layer in self.layers:
            tokens = layer(tokens)
        return self.head(tokens.mean(1))


class Choosing(Model):
    """A dark image goes through the first layer only."""

    def forward(self, pixels):
        tokens = self.layers[0](self.embed(pixels).flatten(2).mT)
        return self.head((self.layers[1](tokens) if pixels.mean() > 0 else tokens).mean(1))


def made(model):
    model = model.eval().requires_grad_(False)
    needs = Preprocessing(size_hw=(32, 48), mean=(0.5,) * 3, std=(0.5,) * 3)
    return Loaded("toy", model, torch.device("cpu"), needs)


PIXELS = noise(1, 3, 32, 48, seed=1)

WRITTEN = (written_out, divided_at_the_end, einsum, logarithms, values_first, relu, talking_heads, learned_query)
HIDDEN = (*WRITTEN, another_name)


def counted(model):
    with torch.no_grad(), Counting(PIXELS) as counting:
        model.eval()(PIXELS)
    return counting


@pytest.mark.parametrize("way", [softmax, fused, *HIDDEN])
def test_every_way_to_write_attention_is_one_layer(way):
    assert counted(Model(way, way, way)).layers == 3


def gated(layer, query, key, value):
    return (query @ key.mT).softmax(-1) * key[..., :1].mT.sigmoid() @ value


def mixed_after(layer, query, key, value):
    return torch.einsum("bhij,gh->bgij", (query @ key.mT).softmax(-1), layer.mix.weight) @ value


def subtracted(layer, query, key, value):
    return ((query @ key.mT).softmax(-1) - 0.5 * (key @ query.mT).softmax(-1)) @ value


def rounded(layer, query, key, value):
    weights = torch.dropout((query @ key.mT).softmax(-1), 0.1, False).to(torch.float64).contiguous()
    return torch.einsum("bhij,bhjd->bhid", weights.to(value.dtype), value)


def mixed_before(layer, query, key, value):
    return layer.mix((query @ key.mT).movedim(1, -1)).movedim(-1, 1).softmax(-1) @ value


@pytest.mark.parametrize(
    "way, changed",
    [
        (softmax, 0),
        (fused, 0),
        (einsum, 0),
        (rounded, 0),
        (mixed_before, 0),
        (gated, 1),
        (mixed_after, 1),
        (subtracted, 2),
    ],
)
def test_weights_that_change_between_the_softmax_and_the_values_are_counted(way, changed):
    assert counted(Model(way, softmax, way)).changed == 2 * changed


@pytest.mark.parametrize("way", [linear, no_attention])
def test_what_is_no_softmax_attention_is_no_layer(way):
    counting = counted(Model(way, way))
    assert counting.layers == 0
    assert counting.linear == (2 if way is linear else 0)


@pytest.mark.parametrize("way", HIDDEN)
def test_a_layer_that_the_recording_cannot_see_refuses_the_trace(way):
    """Two of five layers call a softmax, three hide theirs: that is not “2 of 2”."""
    loaded = made(Model(softmax, way, way, fused, way))
    with pytest.raises(TraceError, match="2 of 5 attention layers"):
        families.trace(loaded, PIXELS)


def test_all_layers_hidden_is_not_a_network_without_attention():
    with pytest.raises(TraceError, match="no attention was recorded, 2 layers were expected"):
        families.trace(made(Model(written_out, written_out)), PIXELS)


def test_layers_swapped_inside_a_known_family_are_missed_aloud():
    """A ViT of timm in which somebody replaced three layers by ones without any mark of timm's."""
    loaded = loaded_of("deit")
    whole = loaded.model.blocks[1].attn
    loaded.model.blocks[1].attn = Layer(written_out, whole.qkv.in_features)
    fresh = Loaded("swapped", loaded.model, loaded.device, loaded.preprocessing)
    try:
        with pytest.raises(TraceError, match="1 of 2 attention layers"):
            families.trace(fresh, pixels_of("deit"))
    finally:
        loaded.model.blocks[1].attn = whole


def test_what_is_behind_a_cond_of_torch_cannot_be_counted():
    assert counted(Model(softmax, behind_a_cond)).layers is None


def test_the_count_is_that_of_this_image():
    loaded = made(Choosing(softmax, fused))
    for pixels, layers in ((PIXELS.abs(), 2), (-PIXELS.abs(), 1), (PIXELS.abs(), 2)):
        check = families.trace(loaded, pixels).check
        assert (check.layers_found, check.layers_expected) == (layers, layers)


def test_counting_costs_no_second_pass():
    passes, loaded = [], made(Model(softmax, fused))
    loaded.model.register_forward_hook(lambda *_: passes.append(1))
    families.trace(loaded, PIXELS)
    assert len(passes) == 3  # a plain one, which is counted, the recorded one, and one that proves places
    families.trace(loaded, PIXELS + 1)
    assert len(passes) == 4


def test_where_nobody_can_count_no_number_is_promised():
    """A model that refuses to be watched still answers."""

    class Shy(Model):
        def forward(self, pixels):
            if torch.utils._python_dispatch.is_in_torch_dispatch_mode():
                raise RuntimeError("compiled without modes")
            return super().forward(pixels)

    check = families.trace(made(Shy(softmax)), PIXELS).check
    assert (check.layers_found, check.layers_expected, check.passed) == (1, None, True)
    assert check.layers == "1 layers recorded"


def test_scripted_code_is_seen_through():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is on its way out, models that use it are not

        @torch.jit.script
        def mixed(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return torch.softmax(query @ key.mT, -1) @ value

    with pytest.raises(TraceError, match="1 of 2"):
        families.trace(made(Model(softmax, lambda _, *given: mixed(*given))), PIXELS)


@pytest.mark.product
@pytest.mark.parametrize("module", ZOO)
def test_count_and_recording_agree_for_every_module_of_timm(module):
    """Both are right or both are wrong: they share nothing but which axis of a softmax weighs keys."""
    loaded, trace = loaded_of(module), first_trace(module)
    layers, _, changed, decides = loaded.counted[trace.image_size]
    assert not decides
    assert layers == trace.check.layers_found > 0
    said = any("as the softmax gives them" in note for note in trace.notes)
    assert (changed > 0) == (said and module != "vision_transformer")  # where two kernels' outputs are subtracted


@pytest.mark.parametrize("module", ["deit", "eva", "tnt", "swin_transformer", "dual_scale", "gradual_reduction"])
def test_what_a_family_plans_is_what_is_counted(module, monkeypatch):
    """The families read their number off the model: it holds where nothing was counted at all."""
    loaded = loaded_of(module)
    monkeypatch.setattr(loaded, "counted", {pixels_of(module).shape[-2:]: Counted(None, 0, 0, False)})
    monkeypatch.setattr("vizkit.models.recording.forward.plain_pass", lambda loaded, pixels: loaded.model(pixels))
    check = families.trace(loaded, pixels_of(module)).check
    assert check.layers_expected == check.layers_found
