"""Anybody's module: recorded as its own library says, its patches where the pixels say."""

from operator import itemgetter

import numpy as np
import pytest
import timm
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture, seeded
from vizkit.analysis.attribution.generic_relevance import generic_relevance
from vizkit.analysis.attribution.rollout import rollout
from vizkit.models import ModelError, families, family_of, pixels_of
from vizkit.models.families import generic, measured, swin, vit
from vizkit.traces import TraceError

SIZE_HW = (24, 40)  # 3 × 5 patches of 8 pixels
PICTURE = noisy_picture(48, 80)


class TenLines(nn.Module):
    """A ViT as people write it on an evening; `special` tokens stand first or, with `last`, after the patches."""

    def __init__(self, special=1, last=False, kernel=True):
        super().__init__()
        self.embed, self.special, self.last, self.kernel = nn.Conv2d(3, 24, 8, 8), special, last, kernel
        self.tokens = nn.Parameter(torch.randn(1, special, 24))
        self.layers = nn.ModuleList(nn.ModuleDict({"qkv": nn.Linear(24, 72), "out": nn.Linear(24, 24)}) for _ in "12")
        self.head = nn.Linear(24, 7)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        parts = [self.tokens.expand(len(x), -1, -1), x]
        x = torch.cat(parts[::-1] if self.last else parts, 1)
        for layer in self.layers:
            q, k, v = layer["qkv"](x).unflatten(-1, (3, 4, 6)).permute(2, 0, 3, 1, 4)
            if self.kernel:
                mixed = F.scaled_dot_product_attention(q, k, v)
            else:
                mixed = (q @ k.transpose(-2, -1) * 6**-0.5).softmax(-1) @ v
            x = x + layer["out"](mixed.transpose(1, 2).flatten(2))
        return self.head(x.mean(1))


class Encoder(nn.Module):
    """torch's own encoder, which becomes one fused operation where nobody looks."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Conv2d(3, 16, 8, 8), nn.Linear(16, 5)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)

    def forward(self, x):
        return self.head(self.layers(self.embed(x).flatten(2).transpose(1, 2)).mean(1))


class Einsum(nn.Module):
    def __init__(self, softmax):
        super().__init__()
        self.embed, self.qkv, self.head = nn.Conv2d(3, 16, 8, 8), nn.Linear(16, 48), nn.Linear(16, 5)
        self.softmax = softmax

    def forward(self, x):
        q, k, v = self.qkv(self.embed(x).flatten(2).transpose(1, 2)).chunk(3, -1)
        scores = torch.einsum("bid,bjd->bij", q, k)
        weights = scores.softmax(-1) if self.softmax else scores.exp() / scores.exp().sum(-1, keepdim=True)
        return self.head(torch.einsum("bij,bjd->bid", weights, v).mean(1))


@pytest.fixture(autouse=True)
def same_weights():
    with seeded():
        yield


def by_hand(model, x, answer):
    """(weights, gradients of what `answer` makes of the outputs) of both layers, (head, query, key), in plain torch."""
    x, maps = x.clone().requires_grad_(), []
    tokens = torch.cat([model.tokens, model.embed(x).flatten(2).transpose(1, 2)], 1)
    for layer in model.layers:
        q, k, v = layer["qkv"](tokens).unflatten(-1, (3, 4, 6)).permute(2, 0, 3, 1, 4)
        maps.append((q @ k.transpose(-2, -1) / 6**0.5).softmax(-1))
        tokens = tokens + layer["out"]((maps[-1] @ v).transpose(1, 2).flatten(2))
    gradients = torch.autograd.grad(answer(model.head(tokens.mean(1))[0]), maps)
    return [m[0].detach() for m in maps], [g[0] for g in gradients]


@pytest.mark.parametrize("kernel", [True, False])
def test_attention_rollout_and_relevance_are_those_computed_by_hand(kernel):
    model = TenLines(kernel=kernel)
    loaded = vizkit.wrap(model, size_hw=SIZE_HW, labels=[f"kind {i}" for i in range(7)])
    trace = vizkit.trace(loaded, PICTURE, target=3)
    assert trace.check.passed
    assert trace.check.layers == "2 of 2 layers"
    assert loaded.label(3) == "kind 3"
    weights, gradients = by_hand(model, pixels_of(loaded, PICTURE), itemgetter(3))
    for layer, weight, gradient in zip(trace.attention, weights, gradients, strict=True):
        assert layer.query.grid == (3, 5)
        assert_close(layer.weights[0], weight, rtol=0, atol=1e-5)
        assert_close(layer.gradient[0], gradient, rtol=0, atol=1e-5)
    eye, product, relevance = torch.eye(16), torch.eye(16), torch.eye(16)
    for weight, gradient in zip(weights, gradients, strict=True):
        product = (0.5 * weight.mean(0) + 0.5 * eye) @ product
        relevance = relevance + (weight * gradient).clamp(min=0).mean(0) @ relevance
    rolled = torch.as_tensor(np.asarray(rollout(trace, "cls"))).flatten()
    assert_close(rolled.float(), product[0, 1:] / product[0, 1:].sum(), rtol=0, atol=1e-5)
    shown = torch.as_tensor(np.asarray(generic_relevance(trace, "cls"))).flatten()
    assert_close(shown.float(), relevance[0, 1:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("special, last", [(0, False), (1, False), (3, False), (2, True)])
def test_patches_are_measured_wherever_the_special_tokens_stand(special, last):
    loaded = vizkit.wrap(TenLines(special, last), size_hw=SIZE_HW)
    layer = vizkit.trace(loaded, PICTURE).attention[0]
    assert (layer.query.grid, len(layer.query.special)) == ((3, 5), special)
    patches, tokens = torch.arange(special, special + 15), torch.arange(special)
    assert layer.query_ids[0].tolist() == torch.cat([patches, tokens] if last else [tokens, patches]).tolist()
    assert layer.query.stride == 8


def test_patches_in_columns_are_found_in_columns():
    """Tokens that run down first: their order is not taken for the usual one."""

    class Down(TenLines):
        def forward(self, x):
            return super().forward(x.transpose(-2, -1))

    layer = vizkit.trace(vizkit.wrap(Down(0), size_hw=SIZE_HW), PICTURE).attention[0]
    assert layer.query.grid == (3, 5)
    assert layer.query_ids[0].tolist() == torch.arange(15).view(3, 5).T.flatten().tolist()


KNOWN = {
    "vit_tiny_patch16_224": {"img_size": (48, 80), "depth": 1},
    "deit_tiny_distilled_patch16_224": {"img_size": (48, 80), "depth": 1},
    "vit_small_patch14_reg4_dinov2": {"img_size": (42, 70), "depth": 1},
    "eva02_tiny_patch14_224": {"img_size": (42, 70), "depth": 1},
    "swin_tiny_patch4_window7_224": {"img_size": (28, 56), "depths": (1, 1)},
    "swinv2_tiny_window8_256": {"img_size": (32, 64), "depths": (1, 1)},
}


@pytest.mark.product
@pytest.mark.parametrize("name", KNOWN)
def test_measured_places_are_those_that_the_family_knows(name):
    model = timm.create_model(name, pretrained=False, **KNOWN[name]).eval()
    size_hw = KNOWN[name]["img_size"]
    placed = measured.measured(model, size_hw, 3, torch.device("cpu"))
    family = {"vit": vit, "swin": swin}[family_of(model)]
    if family is vit:
        (tokens,) = vit.tokens_of(model, size_hw)
        assert placed.ids.tolist() == [list(range(len(tokens)))]
        assert len(placed.tokens.special) == len(tokens.special)
    else:
        first = families.trace(
            vizkit.models.load(name, pretrained=False, image_size=size_hw), torch.zeros(1, 3, *size_hw)
        )
        assert placed.ids.tolist() == first.attention[0].query_ids.tolist()
        tokens = first.attention[0].query
    assert (placed.tokens.grid, placed.tokens.stride) == (tokens.grid, tokens.stride)


def test_a_stem_that_overlaps_is_measured():
    model = timm.create_model("levit_128s", pretrained=False).eval()
    placed = measured.measured(model, (224, 224), 3, torch.device("cpu"))
    assert placed.tokens.grid == (14, 14)
    assert placed.ids.tolist() == [list(range(196))]


class Blurred(TenLines):
    """Every pixel reaches every token, its own patch most."""

    def forward(self, x):
        return super().forward(x - x.mean((-2, -1), keepdim=True))


def test_where_every_pixel_reaches_every_token_most_of_the_change_tells():
    layer = vizkit.trace(vizkit.wrap(Blurred(), size_hw=SIZE_HW), PICTURE).attention[0]
    assert layer.query.grid == (3, 5)
    assert layer.query_ids[0].tolist() == list(range(len(layer.query)))


def test_a_stem_that_normalises_over_the_whole_picture_is_measured():
    model = timm.create_model("vit_tiny_r_s16_p8_224", pretrained=False, img_size=(96, 160), depth=1).eval()
    placed = measured.measured(model, (96, 160), 3, torch.device("cpu"))
    (known,) = vit.tokens_of(model, (96, 160))
    assert (placed.tokens.grid, placed.tokens.stride, len(placed.tokens.special)) == (known.grid, known.stride, 1)


def test_where_every_pixel_reaches_every_token_in_another_order_nothing_is_said():
    class Down(Blurred):
        def forward(self, x):
            return super().forward(x.transpose(-2, -1))

    trace = vizkit.trace(vizkit.wrap(Down(), size_hw=SIZE_HW), PICTURE)
    assert trace.attention[0].query.grid is None
    assert "2 of 2 layers have no known places in the image." in trace.notes


def test_one_measurement_serves_all_pictures_of_a_size(monkeypatch):
    loaded, counted, true = vizkit.wrap(TenLines(), size_hw=SIZE_HW), [], generic.measured
    monkeypatch.setattr(generic, "measured", lambda *given: counted.append(1) or true(*given))
    for _ in range(3):
        vizkit.trace(loaded, PICTURE)
    assert len(counted) == 1


def test_a_grid_that_the_owner_names_is_not_measured(monkeypatch):
    monkeypatch.setattr(generic, "measured", pytest.fail)
    trace = vizkit.trace(vizkit.wrap(TenLines(4), size_hw=SIZE_HW, grid=(3, 5)), PICTURE)
    assert trace.attention[1].query.grid == (3, 5)
    assert len(trace.attention[1].query.special) == 4
    assert generic.GIVEN in trace.notes
    none = vizkit.trace(vizkit.wrap(TenLines(4), size_hw=SIZE_HW, grid=(9, 9)), PICTURE)
    assert none.attention[0].query.grid is None


@pytest.mark.parametrize("make", [Encoder, lambda: Einsum(softmax=True)])
def test_attention_in_other_words_is_recorded_and_placed(make):
    trace = vizkit.trace(vizkit.wrap(make(), size_hw=SIZE_HW), PICTURE)
    assert trace.check.passed
    assert trace.attention[0].query.grid == (3, 5)


def test_attention_without_a_softmax_is_honestly_not_shown():
    with pytest.raises(TraceError, match="no attention was recorded, 1 layers were expected"):
        vizkit.trace(vizkit.wrap(Einsum(softmax=False), size_hw=SIZE_HW), PICTURE)


# Other libraries ------------------------------------------------------------------------------------------------------

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def transformers_model(kind, attention="eager"):
    transformers = pytest.importorskip("transformers")
    config, model, sizes = {
        "vit": ("ViTConfig", "ViTForImageClassification", SMALL | {"image_size": (24, 40), "patch_size": 8}),
        "deit": ("DeiTConfig", "DeiTForImageClassification", SMALL | {"image_size": (24, 40), "patch_size": 8}),
        "dinov2": (
            "Dinov2WithRegistersConfig",
            "Dinov2WithRegistersForImageClassification",
            {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 24, "patch_size": 8},
        ),
        "swin": (
            "SwinConfig",
            "SwinForImageClassification",
            {
                "image_size": 32,
                "patch_size": 4,
                "embed_dim": 16,
                "depths": [2, 1],
                "num_heads": [2, 4],
                "window_size": 4,
            },
        ),
    }[kind]
    made = getattr(transformers, config)(**sizes, attn_implementation=attention)
    return getattr(transformers, model)(made).eval()


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind, special", [("vit", 1), ("deit", 2), ("dinov2", 5)])
def test_transformers_models_give_their_own_attentions(kind, special, attention):
    loaded = vizkit.wrap(transformers_model(kind, attention), size_hw=SIZE_HW)
    trace = vizkit.trace(loaded, PICTURE)
    assert trace.check.passed
    assert trace.attention[0].query.grid == (3, 5)
    assert len(trace.attention[0].query.special) == special
    oracle = transformers_model(kind)
    oracle.load_state_dict(loaded.model.state_dict())
    with torch.no_grad():
        own = oracle(pixels_of(loaded, PICTURE), output_attentions=True)
    assert_close(trace.logits, own.logits[0], rtol=0, atol=1e-5)
    for layer, weights in zip(trace.attention, own.attentions, strict=True):
        assert_close(layer.weights, weights, rtol=0, atol=1e-5)


def test_windows_of_a_stranger_are_placed_in_the_first_layer_only():
    """Those of the second are shifted, and nothing says so."""
    trace = vizkit.trace(vizkit.wrap(transformers_model("swin"), size_hw=(32, 32)), PICTURE)
    from vizkit.geometry import window_ids

    assert trace.attention[0].query_ids.tolist() == window_ids((8, 8), (4, 4)).tolist()
    assert trace.attention[1].query.grid is None


@pytest.mark.parametrize("kind", ["ViT", "SimpleViT"])
def test_vit_pytorch_is_recorded_and_placed(kind):
    library = pytest.importorskip("vit_pytorch")
    sizes = {"image_size": SIZE_HW, "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 4}
    trace = vizkit.trace(vizkit.wrap(getattr(library, kind)(**sizes, mlp_dim=64, dim_head=8), size_hw=SIZE_HW), PICTURE)
    assert trace.check.passed
    assert trace.attention[1].query.grid == (3, 5)


# Refusals -------------------------------------------------------------------------------------------------------------


class Answers(nn.Module):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, x):
        return self.answer


@pytest.mark.parametrize("answer", [None, {"words": 1}, [torch.zeros(1, 2, 3)], torch.zeros(1, 2, 3)])
def test_an_answer_without_logits_is_refused_in_a_sentence(answer):
    with pytest.raises(TraceError, match=r"logits|class scores"):
        vizkit.trace(vizkit.wrap(Answers(answer), size_hw=SIZE_HW), PICTURE)


class Channels(TenLines):
    def __init__(self, channels):
        super().__init__()
        self.embed = nn.Conv2d(channels, 24, 8, 8)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda m: torch.compile(m, backend="eager"),
        lambda m: nn.DataParallel(m),
        lambda m: torch.optim.swa_utils.AveragedModel(m),
        lambda m: nn.Sequential(torch.compile(m, backend="eager")),
        lambda m: m.compile(backend="eager") or m,
    ],
)
def test_what_is_compiled_or_spread_is_recorded_as_the_module_itself(wrapped):
    plain = TenLines()
    expected = vizkit.trace(vizkit.wrap(plain, size_hw=SIZE_HW), PICTURE)
    made = TenLines()
    made.load_state_dict(plain.state_dict())
    trace = vizkit.trace(vizkit.wrap(wrapped(made), size_hw=SIZE_HW), PICTURE, target=3)
    assert (trace.check.layers, trace.check.failure) == ("2 of 2 layers", None)
    assert_close(trace.attention[1].weights, expected.attention[1].weights)


@pytest.mark.parametrize(
    "module, options, words",
    [
        (Channels(1), {}, "takes images of 1 channel: give mean and std of 1 number"),
        (Channels(4), {}, "4 channels, with mean and std of 4 numbers; images here have 3, or 1"),
        (Channels(13), {}, "13 channels, with mean and std of 13 numbers; images here have 3, or 1"),
        (Channels(3), {"mean": (0.5,), "std": (0.5,)}, "3 channels: give mean and std of 3 numbers"),
        (TenLines(), {"labels": "abc", "size_hw": SIZE_HW}, "has 7 outputs, and these are 3 names"),
        ("resnet50", {}, "takes a torch module"),
        (nn.Identity(), {"size_hw": (0, 10)}, "sides of 1"),
        (nn.Identity(), {"mean": (0.5, 0.5)}, "3 channels"),
        (nn.Linear(2, 2, device="meta"), {}, "no weights yet"),
    ],
)
def test_what_cannot_be_wrapped_is_refused_in_a_sentence(module, options, words):
    with pytest.raises(ModelError, match=words):
        vizkit.wrap(module, **options)
