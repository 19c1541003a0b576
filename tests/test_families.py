"""The contract: one model of every timm module that has attention, with random weights.

Its rows sum to one, its logits stay what they are, every layer is found, every query stands in one place, nothing is
left behind, and every place that a trace claims is proven by a probe.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import timm
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import vizkit
import vizkit.models.networks
from tests.drawn import noise, noisy_picture, seeded
from vizkit.models import FAMILIES, families, family_of
from vizkit.models.families.outlook import OUTLOOK
from vizkit.models.recording.kinds import kind
from vizkit.models.sources.loaded import described
from vizkit.traces import PADDING, Tokens, dense, row_sum_error

OBLONG = {"img_size": (64, 96), "depth": 2}
SMALL = {"embed_dim": 96, "num_heads": 3}
NARROW = {"embed_dim": 24}
WIDE = {"img_size": (128, 192)}
TWICE = {"depths": (2, 2, 2, 2)}

# timm's module: a small model of it, its input, what makes it smaller still.
ZOO = {
    "beit": ("beit_base_patch16_224", (64, 96), OBLONG | SMALL),
    "byoanet": ("eca_halonext26ts", (256, 256), {}),
    "byobnet": ("gcresnext26ts", (96, 160), {}),
    "cait": ("cait_xxs24_224", (64, 96), OBLONG),
    "coat": ("coat_lite_tiny", (64, 96), {"img_size": (64, 96)}),
    "convit": ("convit_tiny", (96, 96), {"depth": 3, "local_up_to_layer": 2, "img_size": 96}),
    "cpubone": ("cpubone_nano", (256, 384), {}),
    "crossvit": ("crossvit_tiny_240", (240, 240), {"depth": ((1, 1, 0),)}),
    "csatv2": ("csatv2", (256, 384), {"depths": (1, 1, 2, 2), "transformer_depths": (0, 0, 1, 1)}),
    "davit": ("davit_tiny", (96, 160), {"depths": (1, 1, 1, 1), "embed_dims": (24, 48, 96, 192)}),
    "deepseek_vit": ("deepseek_vit_412m", (84, 112), SMALL | {"depth": 2, "img_size": (84, 112)}),
    "deit": ("deit_tiny_distilled_patch16_224", (64, 96), OBLONG),
    "edgenext": ("edgenext_xx_small", (96, 160), {}),
    "efficientformer": ("efficientformer_l1", (224, 224), {"depths": (1, 1, 1, 2)}),
    "efficientformer_v2": ("efficientformerv2_s0", (128, 192), WIDE),
    "efficientvim": ("efficientvim_m1", (224, 224), {}),
    "efficientvit_msra": ("efficientvit_m0", (448, 448), {"img_size": 448}),
    "eva": ("eva02_tiny_patch14_224", (84, 56), {"depth": 2, "img_size": (84, 56)}),
    "fastvit": ("fastvit_sa12", (128, 192), {"layers": (1, 1, 1, 1)}),
    "gcvit": ("gcvit_xxtiny", (224, 224), {"embed_dim": 16}),
    "gemma4_vit": ("gemma4_vit_167m", (96, 144), SMALL | {"depth": 2, "img_size": (96, 144)}),
    "hiera": ("hiera_tiny_224", (64, 96), NARROW | {"stages": (1, 2, 2, 2), "img_size": (64, 96)}),
    "hieradet_sam2": ("hieradet_small", (128, 192), NARROW | {"stages": (1, 2, 2, 2), "global_att_blocks": (4,)}),
    "iformer": ("iformer_t", (128, 192), {}),
    "levit": ("levit_128s", (128, 192), WIDE),
    "lowformer": ("lowformer_b0", (128, 192), {}),
    "maxxvit": ("maxvit_pico_rw_256", (128, 192), WIDE | {"depths": (1, 1, 1, 1)}),
    "metaformer": ("caformer_s18", (128, 192), {}),
    "mobilenetv3": ("mobilenetv4_hybrid_medium", (256, 384), {}),
    "mobilenetv5": ("mobilenetv5_base", (96, 160), {"channel_multiplier": 0.25}),
    "mobilevit": ("mobilevit_xxs", (128, 192), {}),
    "mvitv2": ("mvitv2_tiny", (128, 128), {"img_size": 128}),
    "naflexvit": ("naflexvit_base_patch16_parfac_gap", (64, 96), {"depth": 2} | SMALL),
    "nest": ("nest_tiny", (128, 128), {"img_size": 128}),
    "nextvit": ("nextvit_small", (128, 192), {"depths": (1, 1, 5, 1)}),
    "pit": ("pit_ti_224", (96, 128), {"img_size": (96, 128)}),
    "pvt_v2": ("pvt_v2_b0", (128, 192), {}),
    "qwen3_vit": ("qwen3_vit_88m", (64, 96), OBLONG | SMALL),
    "shvit": ("shvit_s1", (256, 384), {}),
    "swin_transformer": ("swin_tiny_patch4_window7_224", (64, 96), NARROW | TWICE | {"img_size": (64, 96)}),
    "swin_transformer_v2": ("swinv2_tiny_window8_256", (64, 96), NARROW | TWICE | {"img_size": (64, 96)}),
    "swin_transformer_v2_cr": ("swinv2_cr_tiny_224", (128, 192), NARROW | TWICE | WIDE),
    "tiny_vit": ("tiny_vit_5m_224", (128, 192), {"depths": (1, 1, 2, 1)}),
    "tnt": ("tnt_s_patch16_224", (64, 96), OBLONG),
    "twins": ("twins_svt_small", (96, 160), TWICE),
    "visformer": ("visformer_tiny", (128, 192), WIDE | {"depth": (2, 2, 2)}),
    "vision_transformer": ("vit_dwee_patch16_reg1_gap_256", (64, 96), OBLONG),
    "vision_transformer_hybrid": ("vit_tiny_r_s16_p8_224", (128, 192), WIDE | {"depth": 2}),
    "vision_transformer_relpos": ("vit_relpos_small_patch16_224", (64, 96), OBLONG),
    "vision_transformer_sam": (
        "samvit_base_patch16_224",
        (96, 128),
        SMALL | {"depth": 3, "img_size": (96, 128), "window_size": 4, "global_attn_indexes": (2,)},
    ),
    "vitamin": ("vitamin_small_224", (64, 96), {"img_size": (64, 96)}),
    "volo": ("volo_d1_224", (128, 192), WIDE),
    "xcit": ("xcit_nano_12_p8_224", (64, 96), OBLONG),
    "named_vits": ("vit_parts_tiny", (64, 96), OBLONG),
    "dual_scale": ("dual_scale_tiny", (64, 96), OBLONG | {"depth": 3, "merge_block": 2}),
    "gradual_reduction": ("gradual_reduction_tiny", (64, 96), OBLONG | {"depth": 3, "reduce_after": (1, 2)}),
}
OURS = {"named_vits", "dual_scale", "gradual_reduction", "lenet", "pixel_mlp"}

# Modules whose source speaks of attention, but means something else: no model of theirs weighs tokens by a softmax.
CHANNELS = "its attn_layer is squeeze-and-excitation and the like: it weighs channels"
NOT_ATTENTION = {
    **dict.fromkeys(("cspnet", "cspnext", "nfnet", "res2net", "resnet", "vovnet"), CHANNELS),
    **dict.fromkeys(
        ("resnest", "sknet"), "a softmax over branches: it chooses, channel by channel, between convolutions"
    ),
}

# What has no place in the image, of the layers of each module above, and why; every other token set has a grid.
WITHOUT_PLACES = {
    "davit": "every other block attends between channels",
    "edgenext": "channels",
    "xcit": "channels, then a class token that looks at patches",
    "hieradet_sam2": "a padded window fits two grids of this small input",
}


@cache
def loaded_of(module):
    name, size_hw, options = ZOO[module]
    with seeded():
        model = timm.create_model(name, pretrained=False, **options).eval().requires_grad_(False)
    calibrate(model, size_hw)
    return described(name, model, None, source="test")


def pixels_of(module):
    return noise(1, 3, *ZOO[module][1], seed=1)


def calibrate(model, size_hw):
    """Batch norms learn the scale of random weights from four images; else signals fade to nothing in deep models."""
    norms = [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = None  # the plain average
        norm.train()
    if norms:
        model(noise(4, 3, *size_hw, seed=3))
    model.eval()


def trace_of(loaded, pixels):
    return families.trace(loaded, pixels)


@cache
def first_trace(module):
    return trace_of(loaded_of(module), pixels_of(module))


@pytest.mark.parametrize("module", ZOO)
def test_contract(module):
    loaded, trace = loaded_of(module), first_trace(module)
    assert trace.attention
    assert trace.check.passed
    assert trace.check.layers_found == trace.check.layers_expected
    assert row_sum_error(trace.attention) <= 1e-4
    with torch.no_grad():
        plain = loaded.model(pixels_of(module))
    plain = plain[0] if isinstance(plain, Tensor) else torch.stack(plain).mean(0)[0]
    assert float((trace.logits - plain).abs().max()) <= 1e-4 * max(1, float(plain.abs().max()))
    for layer in trace.attention:
        assert layer.query_ids[layer.query_ids != PADDING].sort().values.tolist() == [*range(len(layer.query))]
        assert set(layer.key_ids.flatten().tolist()) - {PADDING} == set(range(len(layer.key)))
    tables = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    assert not any(getattr(part, table) for part in loaded.model.modules() for table in tables)
    names = [layer.name for layer in trace.attention]
    assert len(set(names)) == len(names)
    assert trace.features
    for features in trace.features:
        assert features.values.shape[0] == len(features.tokens)


@pytest.mark.parametrize("module", ["deit", "eva", "beit", "vision_transformer", "vision_transformer_relpos", "tnt"])
def test_features_of_one_stream_of_tokens_are_what_leaves_each_block(module):
    loaded, trace, seen = loaded_of(module), first_trace(module), []
    handles = [b.register_forward_hook(lambda _, __, out: seen.append(out)) for b in loaded.model.blocks]
    with torch.no_grad():
        loaded.model(pixels_of(module))
    for handle in handles:
        handle.remove()
    assert [features.name for features in trace.features] == ["blocks.0", "blocks.1"]
    for features, out in zip(trace.features, seen, strict=True):
        out = out[1] if module == "tnt" else out  # (words, patches)
        assert features.tokens.special == trace.attention[-1].query.special
        assert_close(features.values, out[0])


@pytest.mark.parametrize("module", ZOO)
def test_only_known_layers_have_no_place(module):
    trace = first_trace(module)
    without = [a.name for a in trace.attention if a.query.grid is None and a.key.grid is None]
    assert bool(without) == (module in WITHOUT_PLACES), without
    assert any("no known places" in note for note in trace.notes) == bool(without)


# The probe ----------------------------------------------------------------------------------------------------------


def changes(before, after):
    """How much the own vector of every query and every key changed, by id.

    log w′ − log w of a row is Δscore − Δ log Z; the second is one number for the row: its median, as long as few keys
    change. What is left is Δscore: at few keys in the row of a query that stayed, at most keys in one that changed.
    """
    real = (before.key_ids != PADDING)[:, None, None] & (before.weights > 1e-30) & (after.weights > 1e-30)
    logs = [torch.where(real, a.weights, torch.nan).double().log() for a in (before, after)]
    left = logs[1] - logs[0]  # group head query key
    left = (left - left.nanmedian(-1, keepdim=True).values).abs()
    moved_query = left.nanmedian(-1).values.nanmean(1).nan_to_num(0)  # group query
    moved_key = left.nan_to_num(0).mean((1, 2))  # group key
    return by_id(moved_query, before.query_ids, before.query), by_id(moved_key, before.key_ids, before.key)


def by_id(values, ids, tokens):
    out = torch.zeros(len(tokens) + 1, dtype=torch.float64)
    return out.index_add_(0, (ids % len(out)).flatten(), values.flatten())[:-1]


def centre(change, tokens):
    """(row, column) around which the change lies, in cells; the fourth power looks at its peak."""
    first, (rows, columns) = len(tokens.special), tokens.grid
    peak = change[first : first + rows * columns].view(rows, columns)
    if peak.max() <= 0:
        return None
    peak = (peak / peak.max()) ** 4
    row, column = torch.arange(rows) + 0.5, torch.arange(columns) + 0.5
    return float((peak.sum(1) * row).sum() / peak.sum()), float((peak.sum(0) * column).sum() / peak.sum())


def noise_in(pixels, grid, cell):
    out = pixels.clone()
    (top, bottom), (left, right) = (
        (round(i * size / n), round((i + 1) * size / n))
        for i, size, n in zip(cell, pixels.shape[-2:], grid, strict=True)
    )
    area = out[..., top:bottom, left:right]
    area.copy_(noise(*area.shape, seed=2))
    return out


def misplaced(loaded, pixels, before, reach):
    """Noise in one cell of each grid: token sets whose change lies elsewhere, and those that never changed."""
    claimed = {t.grid for a in before.attention if a.learned for t in (a.query, a.key) if t.grid}
    for i, grid in enumerate(sorted(claimed)):
        down, right = ((0.8, 0.2), (0.3, 0.7), (0.2, 0.4))[i % 3]
        cell = (int(down * grid[0]), int(right * grid[1]))
        after = trace_of(loaded, noise_in(pixels, grid, cell))
        for old, new in zip(before.attention, after.attention, strict=True):
            if not old.learned:
                continue
            for side, tokens, change in zip(("query", "key"), (old.query, old.key), changes(old, new), strict=True):
                if tokens.grid != grid or (side == "query" and old.weights.shape[-1] < 3):
                    continue
                found = centre(change, tokens)
                far = found is None or max(abs(found[0] - cell[0] - 0.5), abs(found[1] - cell[1] - 0.5)) > reach
                if far:
                    yield old.name, side, f"grid {grid}: noise in {cell}, change around {found}"


REACH = 1.5  # cells
FURTHER = {"cpubone": 2.0, "mobilenetv3": 2.5}  # random 5×5 and 7×7 convolutions of the same stage spread the noise
BY_DESIGN = {
    "convit": ("attn · 2", "the second map is one of positions and does not depend on the image"),
    "gcvit": ("blocks.1.attn query", "the queries of every second block are pooled from the whole image"),
}


@pytest.mark.parametrize("module", sorted(ZOO.keys() - {"edgenext"}))
def test_every_place_is_where_the_probe_finds_it(module):
    loaded, pixels = loaded_of(module), pixels_of(module).double()
    loaded.model.double()
    try:
        wrong = list(misplaced(loaded, pixels, trace_of(loaded, pixels), FURTHER.get(module, REACH)))
    finally:
        loaded.model.float()
    exempt = BY_DESIGN.get(module, ("nothing",))[0]
    assert not [one for one in wrong if exempt not in f"{one[0]} {one[1]}"]


def test_nextvits_pooled_keys_claim_no_cell():
    """They are pooled along the rows, sixteen cells of one or two rows together, whatever the grid."""
    loaded, trace = loaded_of("nextvit"), first_trace("nextvit")
    for layer in trace.attention:
        pool = getattr(loaded.model.get_submodule(layer.name), "sr", None)
        assert (layer.key.grid is None) == isinstance(pool, torch.nn.AvgPool1d)
        assert layer.query.grid is not None


@pytest.mark.parametrize("wrong", ["transposed", "rolled"])
def test_the_probe_refutes_wrong_places(wrong):
    """The probe can fail: the same weights with other ids are found out."""
    loaded, pixels = loaded_of("vision_transformer_relpos"), pixels_of("vision_transformer_relpos")
    ids = torch.arange(24).view(4, 6)
    ids = ids.view(6, 4).T.flatten() if wrong == "transposed" else ids.roll((2, 2), (0, 1)).flatten()
    cell, tokens = (3, 1), Tokens("patches", (), (4, 6))
    before, after = (trace_of(loaded, x).attention[0] for x in (pixels, noise_in(pixels, (4, 6), cell)))
    _, change = changes(before, after)
    right, moved = centre(change, tokens), centre(change[ids], tokens)
    assert max(abs(right[0] - 3.5), abs(right[1] - 1.5)) < 0.1
    assert max(abs(moved[0] - 3.5), abs(moved[1] - 1.5)) > REACH


# Nothing new in timm goes unnoticed ---------------------------------------------------------------------------------

SPEAKS_OF_ATTENTION = re.compile(
    r"softmax|scaled_dot_product|attention\w*\(|attn_layer|create_attn|mqa_|EvaBlock|vision_transformer import"
)


def test_every_module_of_timm_that_speaks_of_attention_is_accounted_for():
    """Read from the sources, which takes no time; a new module of timm fails here until it is in one of the tables."""
    folder = Path(timm.__file__).parent / "models"
    speaks = {
        module
        for module in timm.list_modules()
        if module not in OURS and SPEAKS_OF_ATTENTION.search((folder / f"{module}.py").read_text())
    }
    assert speaks - NOT_ATTENTION.keys() == set(ZOO) - OURS
    assert not NOT_ATTENTION.keys() & ZOO.keys()


# Convolutional networks ---------------------------------------------------------------------------------------------


def test_features_of_a_cnn_lie_on_the_grid_of_their_stage():
    with seeded():
        loaded = vizkit.load("test_resnet", pretrained=False)
    pixels = torch.randn(1, 3, 64, 160)
    trace = trace_of(loaded, pixels)
    assert family_of(loaded.model) == "cnn"
    assert not trace.attention
    assert trace.check.passed
    grids = [features.tokens.grid for features in trace.features]
    strides = [features.tokens.stride for features in trace.features]
    assert grids == [(64 // int(s), 160 // int(s)) for s in strides]
    assert strides == [info["reduction"] for info in loaded.model.feature_info]
    with torch.no_grad():
        maps = loaded.model.forward_intermediates(pixels, intermediates_only=True)
    for features, expected in zip(trace.features, maps, strict=True):
        rows, columns = features.tokens.grid
        assert torch.equal(features.values[columns + 2], expected[0, :, 1, 2])
        assert features.values.shape == (rows * columns, expected.shape[1])


@pytest.mark.parametrize(
    "name, kind",
    [
        ("skresnet18", None),
        ("resnest14d", None),
        ("gcresnet33ts", "GlobalContext"),
        ("resnet50_clip", "AttentionPool2d"),
    ],
)
def test_cnns_with_something_like_attention(name, kind):
    """Selective kernels and split attention weigh channels, not places; global context and attention pooling do."""
    loaded = vizkit.load(name, pretrained=False)
    size_hw = loaded.preprocessing.size_hw if "clip" in name else (64, 96)
    trace = trace_of(loaded, torch.randn(1, 3, *size_hw))
    assert len(trace.attention) == sum(type(module).__name__ == kind for module in loaded.model.modules())
    assert trace.check.passed
    assert all(layer.key.grid is not None for layer in trace.attention)


def test_trace_of_an_image_goes_through_the_models_own_preprocessing():
    image = noisy_picture(90, 120)
    trace = vizkit.trace(vizkit.load("test_vit", pretrained=False), image)
    assert trace.image_size == (160, 160)
    assert trace.attention[0].query.grid == (10, 10)


def test_outlook_attention_gives_every_place_what_the_layer_gives_it():
    """VOLO's outlook layer rebuilt from the trace: each place takes from the very neighbours that its row names."""
    loaded, found, trace = loaded_of("volo"), {}, first_trace("volo")
    outlooks = [(name, part) for name, part in loaded.model.named_modules() if kind(part) == OUTLOOK]
    handles = [
        part.register_forward_hook(lambda part, given, out, name=name: found.update({name: (given[0], out)}))
        for name, part in outlooks
    ]
    with torch.no_grad():
        loaded.model(pixels_of("volo"))
        for handle in handles:
            handle.remove()
        layers = {layer.name: layer for layer in trace.attention}
        assert outlooks
        for name, part in outlooks:
            given, out = found[name]
            layer = layers[name]
            assert layer.query.grid == layer.key.grid == tuple(given.shape[1:3])
            values = part.v(given).flatten(1, 2).unflatten(-1, (part.num_heads, -1))[0].transpose(0, 1)
            mixed = (dense(layer) @ values).transpose(0, 1).flatten(1)
            rows, columns = layer.query.grid
            # A window every second place: an odd row or column lies in two, but for the last.
            covering = [torch.tensor([2 if i % 2 and i < n - 1 else 1 for i in range(n)]) for n in (rows, columns)]
            mixed = mixed * (covering[0][:, None] * covering[1]).flatten()[:, None]
            assert_close(part.proj(mixed.view(1, rows, columns, -1)), out, atol=2e-5, rtol=1e-4)


def test_gradients_of_outlook_attention_are_those_of_the_shown_weights():
    """Along any change of the layer's own weights the logit changes by Σ gradient · change of what is shown."""
    from vizkit.models.families.outlook import by_place, windows_of
    from vizkit.models.recording.recorder import Call

    grid, heads = (4, 6), 2
    ids, generator = windows_of(grid, 3, 2, 1), torch.Generator().manual_seed(0)
    raw = torch.rand(len(ids), heads, 9, 9, generator=generator).softmax(-1)
    values = torch.randn(heads, 24 + 1, generator=generator)  # the padding's value is the last
    values[:, -1] = 0
    wanted = torch.randn(heads, 24 + 1, generator=generator)
    wanted[:, -1] = 0
    # logit = Σ wanted(place) · Σ over windows and keys weight · value
    gradient = wanted[:, ids][..., None] * values[:, ids][:, :, None]  # head window query key
    call, _, keys = by_place(Call("", None, "softmax", raw, gradient=gradient.transpose(0, 1)), ids, grid)
    assert keys.shape == (24, 25)
    assert_close(call.weights.sum(-1), torch.ones(24, heads, 1))
    logit = float((raw.transpose(0, 1) * gradient).sum())
    assert float((call.weights * call.gradient).sum()) == pytest.approx(logit, rel=1e-5)


# Tables go by the file of a class, not by its bare name --------------------------------------------------------------


def test_every_class_in_a_table_is_one_of_timm():
    from vizkit.models.families import generic, places, translate, vit
    from vizkit.models.recording import forward, weights

    tables = (*translate.CHANGED, *forward.WITHOUT_SOFTMAX, *weights.HEAD_BY_HEAD, *weights.GROUP_FIRST)
    tables += (*generic.CHANNELS, *generic.SLOTS, *generic.POOLED, OUTLOOK, vit.OURS, vit.TWICE)
    tables += tuple(name for name in places.RULES if "." in name)
    for name in tables:
        file, _, single = name.rpartition(".")
        assert kind(object.__new__(getattr(import_module(file), single))) == name
    files = {name for name in places.RULES if "." not in name} | {*vit.MODULES, *FAMILIES["swin"].MODULES}
    assert files <= {*timm.list_modules(), "vit_from_parts", "named_vits"}


CHANGING = {"cait": "TalkingHeadAttn", "efficientformer_v2": "Attention2d", "convit": "GPSA", "efficientvim": "HSMSSD"}


@pytest.mark.parametrize("module", ["cait", "efficientformer_v2", "convit", "efficientvim", "maxxvit", "volo", "deit"])
def test_only_layers_that_change_their_weights_after_the_softmax_say_so(module):
    """coatnet's Attention2d mixes nothing, that of EfficientFormer v2 does."""
    said = [note.split()[0] for note in first_trace(module).notes if "as the softmax gives them" in note]
    assert said == [CHANGING[module]] if module in CHANGING else not said


def test_coatnets_attention_of_the_same_name_changes_nothing():
    name, options = "coatnet_0_rw_224", {"img_size": (64, 96), "depths": (1, 1, 1, 1)}
    model = timm.create_model(name, pretrained=False, **options).eval().requires_grad_(False)
    names = {type(part).__name__ for part in model.modules()}
    trace = trace_of(described(name, model, None, source="test"), torch.randn(1, 3, 64, 96))
    assert names & {"Attention2d", "AttentionCl"}
    assert not [note for note in trace.notes if "softmax" in note]


class Attention2d(nn.Module):
    """Somebody's own layer, which happens to have a name of timm's."""


def test_a_strangers_class_of_the_same_name_is_not_timms():
    from vizkit.models.families.translate import changes
    from vizkit.models.recording.recorder import Call

    assert changes([Call("attn", Attention2d(), "softmax")]) == []
    Attention2d.__module__, own = "my.models.tnt", Attention2d.__module__
    try:
        assert not FAMILIES["tnt"].matches(Attention2d())
    finally:
        Attention2d.__module__ = own


# Attention without a softmax -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, linear", [("efficientvit_b0", 4), ("swiftformer_xs", 4), ("convnext_atto", 0), ("poolformer_s12", 0)]
)
def test_attention_without_a_softmax_is_not_called_no_attention(name, linear):
    from vizkit.analysis.attention.statistics import by_layer
    from vizkit.analysis.attribution.last_layer import last_layer
    from vizkit.analysis.attribution.layer_product import stream
    from vizkit.traces import NotApplicable

    loaded = vizkit.load(name, pretrained=False)
    trace = trace_of(loaded, torch.randn(1, 3, 224, 224))
    assert (trace.linear, len(trace.attention), trace.check.layers_expected) == (linear, 0, 0)
    says = "The attention of this model has no softmax" if linear else "This model has no attention layers"
    for view in (lambda: last_layer(trace, "cls"), lambda: stream(trace), lambda: by_layer(trace)):
        with pytest.raises(NotApplicable, match=says):
            view()
