"""Where tokens lie, by hand on grids of a few cells: windows, halos, mask units, regions, the tokens of families."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from timm.layers.diff_attention import DiffAttention
from timm.models.volo import OutlookAttention
from torch import nn

from tests.analysis.conftest import SWIN as SMALL_SWIN
from tests.analysis.conftest import image
from tests.analysis.conftest import made as random_model
from tests.models.sources.test_following import made
from vizkit.geometry import all_ids, window_ids
from vizkit.models import families
from vizkit.models.families import outlook, places, swin, translate, vit
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.kinds import kind
from vizkit.models.recording.plan import Plan, planned
from vizkit.models.recording.recorder import Call, Keep
from vizkit.traces import Attention, Tokens, TraceError

CORNERS = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]  # windows of 2 × 2 in a grid of 4 × 4
STRIDES = [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]]  # tokens two apart


def module(file="somebody", /, **values):
    """A module that a file defines, with these attributes."""
    made = type("Toy", (nn.Module,), {"__module__": file})()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def call(path, *shape, of=None):
    return Call(path, of, "fused", torch.zeros(shape or (1, 1, 1, 1)))


def placed(rule, model, at, grid):
    found = places.RULES[rule](model, at, grid)
    return found and (found[0], found[1].tolist(), found[2], found[3].tolist())


def test_windows_of_the_block_or_of_the_layer():
    inner = module()
    block = module(attn=inner, window_size=2)
    model, at = module(block=block), call("block.attn", of=inner)
    assert placed("twins", model, at, (4, 4)) == ((4, 4), CORNERS, (4, 4), CORNERS)
    block.shift_size = (1, 0)
    assert placed("davit", model, at, (4, 4))[1][0] == [4, 5, 8, 9]
    block.shift_size = (0, 0)
    inner.ws = 1  # the layer's own goes first
    assert placed("twins", model, at, (2, 2))[1] == [[0], [1], [2], [3]]
    inner.ws, block.window_size = None, (1, 2)
    assert placed("gcvit", model, at, (2, 2))[1] == [[0, 1], [2, 3]]
    inner.window_size = 2
    assert placed("gcvit", model, at, (2, 2))[1] == [[0, 1, 2, 3]]
    inner.window_size, block.window_size, block.window_resolution = None, None, (2, 1)
    assert placed("efficientvit_msra", model, at, (2, 2))[1] == [[0, 2], [1, 3]]
    block.window_resolution = 0  # attends to all
    assert placed("vision_transformer_sam", model, at, (2, 2)) is None


def test_queries_that_were_pooled():
    block = module(attn=module(), window_size=(4, 4), q_stride=(2, 2))
    model, at = module(block=block), call("block.attn", of=block.attn)
    grid, queries, keys_grid, keys = placed("hieradet_sam2", model, at, (4, 8))
    assert (grid, queries) == ((2, 4), [[0, 1, 4, 5], [2, 3, 6, 7]])
    assert keys_grid == (4, 8)
    assert keys[1][:5] == [4, 5, 6, 7, 12]
    assert placed("hieradet_sam2", model, at, (3, 7))[0] == (2, 4)  # an odd edge is padded
    block.window_size, block.q_stride = (2, 4), (1, 2)
    assert placed("hieradet_sam2", model, at, (2, 4))[1] == [[0, 1, 2, 3]]


def test_windows_and_strides_by_turns():
    block = module(attn=module(), partition_size=(2, 2))
    model, at = module(block=block), call("block.attn")
    assert placed("maxxvit", model, at, (4, 4)) == ((4, 4), CORNERS, (4, 4), CORNERS)
    block.partition_block = False
    assert placed("maxxvit", model, at, (4, 4)) == ((4, 4), STRIDES, (4, 4), STRIDES)
    block.partition_block, block.partition_size = True, (1, 2)
    assert placed("maxxvit", model, at, (2, 2))[1] == [[0, 1], [2, 3]]
    assert placed("maxxvit", module(block=module(attn=module())), at, (4, 4)) is None


def test_blocks_and_the_same_corner_of_every_patch():
    level = module(transformer_encoder=module(attn=module()), block_size=2)
    at = call("level.transformer_encoder.attn")
    assert placed("nest", module(level=level), at, (4, 4)) == ((4, 4), CORNERS, (4, 4), CORNERS)
    stage = module(transformer=module(attn=module()), patch_size=(2, 2))
    at = call("stage.transformer.attn")
    assert placed("mobilevit", module(stage=stage), at, (4, 4)) == ((4, 4), STRIDES, (4, 4), STRIDES)
    assert placed("mobilevit", module(stage=stage), at, (3, 4)) is None
    assert placed("mobilevit", module(stage=stage), at, (4, 3)) is None
    stage.patch_size = (1, 2)  # two groups of every second column
    assert placed("mobilevit", module(stage=stage), at, (2, 4))[1] == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_a_halo():
    layer = module(block_size=2, halo_size=1, block_stride=1)
    model, at = module(attn=layer), call("attn", of=layer)
    rule = "timm.layers.halo_attn.HaloAttn"
    grid, queries, keys_grid, keys = placed(rule, model, at, (4, 4))
    assert (grid, queries, keys_grid) == ((4, 4), CORNERS, (4, 4))
    assert keys[0] == [-1, -1, -1, -1, -1, 0, 1, 2, -1, 4, 5, 6, -1, 8, 9, 10]
    assert keys[3] == [5, 6, 7, -1, 9, 10, 11, -1, 13, 14, 15, -1, -1, -1, -1, -1]
    assert placed(rule, model, at, (2, 4))[3][1][4:8] == [1, 2, 3, -1]
    layer.block_stride = 2
    assert placed(rule, model, at, (4, 4))[:2] == ((2, 2), [[0], [1], [2], [3]])
    assert placed(rule, model, at, (4, 5)) is None
    assert placed(rule, model, at, (5, 4)) is None


class Unroll(nn.Module):
    """Hiera's order for one pooling of 2 × 2: first the upper left token of every unit, then the upper right …"""

    size = (2, 4)

    def forward(self, x):
        return x[:, [0, 2, 1, 3, 4, 6, 5, 7]]


def test_mask_units():
    model, rule = module(unroll=Unroll()), "timm.models.hiera.MaskUnitAttention"
    order = [0, 2, 1, 3, 4, 6, 5, 7]
    assert placed(rule, model, call("a", 1, 1, 2, 8), (2, 4)) == ((1, 2), [[0, 1]], (2, 4), [order])
    assert placed(rule, model, call("a", 2, 1, 1, 4), (2, 4)) == (
        (1, 2),
        [[0], [1]],
        (2, 4),
        [[0, 1, 4, 5], [2, 3, 6, 7]],
    )
    assert placed(rule, model, call("a", 1, 1, 2, 8), (4, 2)) is None


def test_the_rule_and_the_one_grid_that_fits():
    block = module("timm.models.twins", attn=module(), window_size=2)
    model, at = module(block=block), call("block.attn", 4, 1, 4, 4, of=block.attn)
    found = places.places_of(model, at, [{(2, 2)}, {(4, 4), (2, 2)}])
    assert (found[0], found[1].tolist()) == ((4, 4), CORNERS)
    assert places.places_of(model, at, [{(4, 4), (2, 8)}]) is None  # both have four windows
    assert places.places_of(model, at, [{(4, 4), (2, 8)}, {(4, 4)}]) is None
    assert places.places_of(model, at, []) is None
    assert places.places_of(module(block=module(attn=module())), at, [{(4, 4)}]) is None
    at.rows = (0,)
    assert places.places_of(model, at, [{(4, 4)}]) is None


def test_the_grid_of_a_stage():
    model = module(stages=nn.Sequential(nn.Identity(), nn.Identity()), other=nn.Identity())
    maps = (torch.zeros(3, 8, 6), torch.zeros(3, 4, 2))
    assert places.own_grid(model, "stages.1.blocks.0", maps) == {(4, 2)}
    assert places.own_grid(model, "stages.0", maps) == {(8, 6)}
    for path, given in (("other.1", maps), ("none.1", maps), ("stages.norm", maps), ("stages.1", maps[:1])):
        assert places.own_grid(model, path, given) == set()


def layer(name, grid, windows, size=4):
    tokens = Tokens("grid", (), grid, free=0 if grid else size)
    ids = torch.arange(size).expand(windows, size).clone()
    if windows > 1:
        ids[1:] = -1
    return Attention(name, torch.zeros(windows, 1, size, size), tokens, tokens, ids, ids)


def told_apart(found):
    """Regions by the order in which they come: only which are the same matters."""
    order = list(dict.fromkeys(found.flatten().tolist()))
    return [[order.index(number) for number in window] for window in found.tolist()]


def test_regions_of_rolled_windows():
    """After a roll by one the last row and column came round, and those before them keep apart."""
    block = module(attn=module(), window_size=(2, 2), shift_size=(1, 1))
    model = module(block=block)
    four = [[0, 0, 0, 0], [1, 2, 1, 2], [3, 3, 4, 4], [5, 6, 7, 8]]
    for grid in ((4, 4), (3, 4), (4, 3)):  # padded to the same
        assert told_apart(places.regions_of(model, layer("block.attn", grid, 4))) == four
    wide, high = (places.regions_of(model, layer("block.attn", grid, 2)) for grid in ((2, 4), (4, 2)))
    assert told_apart(wide) == [[0, 0, 0, 0], [1, 2, 1, 2]]  # one window covers the rows
    assert told_apart(high) == [[0, 0, 0, 0], [1, 1, 2, 2]]
    assert places.regions_of(model, layer("block.attn", (2, 2), 1)) is None
    assert places.regions_of(model, layer("block.attn", (4, 4), 3)) is None
    assert places.regions_of(model, layer("block.attn", None, 1)) is None
    assert places.regions_of(module(block=module(attn=module())), layer("block.attn", (4, 4), 4)) is None
    theirs = module("torchvision.models", block=module(attn=module(window_size=[2, 2], shift_size=[1, 1])))
    assert places.regions_of(theirs, layer("block.attn", (4, 4), 4)) is not None
    block.shift_size = (0, 0)
    assert places.regions_of(model, layer("block.attn", (4, 4), 4)) is None


def test_overlapping_windows():
    assert outlook.windows_of((3, 3), 3, 2, 1).tolist() == [
        [-1, -1, -1, -1, 0, 1, -1, 3, 4],
        [-1, -1, -1, 1, 2, -1, 4, 5, -1],
        [-1, 3, 4, -1, 6, 7, -1, -1, -1],
        [4, 5, -1, 7, 8, -1, -1, -1, -1],
    ]

    def found(size, step, rim, grid):
        return outlook.windows(module(), call("a", of=module(kernel_size=size, stride=step, padding=rim)), grid)

    inside = found(3, 2, 1, (3, 3))
    assert (inside[0], inside[2]) == ((3, 3), (3, 3))
    assert found(3, 3, 0, (3, 3)) is not None
    assert found(2, 3, 0, (3, 3)) is None  # places between the windows belong to none
    assert found(3, 1, 0, (2, 9)) is None
    assert found(3, 1, 0, (9, 2)) is None
    assert found(4, 1, 1, (2, 2)) is not None
    assert found(4, 1, 1, (1, 1)) is None
    assert kind(OutlookAttention(4, 1)) == outlook.OUTLOOK


def test_a_place_has_the_mean_of_its_rows_in_all_windows():
    """Against loops over windows, places and heads; a gradient is that of the mean."""
    grid, size = (3, 4), 3
    ids = outlook.windows_of(grid, size, 2, 1)
    draw = torch.Generator().manual_seed(0)
    at = call("a")
    at.weights, at.gradient = (torch.rand(len(ids), 2, 9, 9, generator=draw) for _ in range(2))
    merged, queries, neighbours = outlook.by_place(at, ids, grid)
    assert queries.flatten().tolist() == list(range(12))
    assert merged.weights.shape == (12, 2, 1, 25)
    assert merged.gradient is not None
    for place, slot, head in product(range(12), range(25), range(2)):
        row, column = place // 4 + slot // 5 - 2, place % 4 + slot % 5 - 2
        inside = 0 <= row < 3 and 0 <= column < 4
        assert int(neighbours[place, slot]) == (row * 4 + column if inside else -1)
        if inside:
            covering = [window for window in ids.tolist() if place in window]
            both = [
                (w, window.index(place), window.index(row * 4 + column))
                for w, window in enumerate(ids.tolist())
                if place in window and row * 4 + column in window
            ]
            weights, gradients = (
                [float(values[w, head, i, j]) for w, i, j in both] for values in (at.weights, at.gradient)
            )
            assert float(merged.weights[place, head, 0, slot]) == pytest.approx(sum(weights) / len(covering))
            assert float(merged.gradient[place, head, 0, slot]) == pytest.approx(
                sum(gradients) / max(len(both), 1) * len(covering)
            )
    at.gradient = None
    assert outlook.by_place(at, ids, grid)[0].gradient is None


SWIN = {"embed_dim": 8, "num_heads": (1, 1), "depths": (2, 1), "num_classes": 2}


def test_stages_of_swin():
    """Patches of 4 pixels, merged two by two; an odd edge is padded."""
    model = made("swin_tiny_patch4_window7_224", **SWIN, window_size=4, img_size=(40, 56), strict_img_size=False)
    first, second = swin.tokens_of(model, (40, 54))
    assert (first.grid, first.stride, second.grid, second.stride) == ((10, 14), 4.0, (5, 7), 8.0)
    assert (first.name, second.name) == ("stage 1", "stage 2")
    assert swin.tokens_of(model, (36, 36))[1].grid == (5, 5)
    wide = module("timm.models.swin_transformer", patch_embed=module(patch_size=(2, 4)), layers=[0, 0])
    assert [(each.grid, each.stride) for each in swin.tokens_of(wide, (8, 16))] == [((4, 4), 4.0), ((2, 2), 8.0)]
    assert swin.step_px(model, (40, 56)) == 8
    assert swin.expected(model) == 3
    found = list(swin.blocks(model, (40, 56)))
    assert [(each.path, each.stage, each.window, each.shift) for each in found] == [
        ("layers.0.blocks.0.attn", 0, (4, 4), (0, 0)),
        ("layers.0.blocks.1.attn", 0, (4, 4), (2, 2)),
        ("layers.1.blocks.0.attn", 1, (4, 4), (0, 0)),
    ]
    one = swin.layer_at(model, (40, 56), 1, call(found[1].path, 12, 1, 16, 16))
    assert torch.equal(one.query_ids, window_ids((10, 14), (4, 4), (2, 2)))
    assert (one.name, one.query, one.key) == (found[1].path, first, first)
    assert swin.matches(model)
    assert not swin.matches(module("timm.models.swin_transformer"))
    assert not swin.matches(module(head=nn.Identity()))


def test_stages_of_torchvisions_swin():
    """It pads before the roll, and does not shift along an axis that one window covers."""
    from torchvision.models.swin_transformer import SwinTransformer

    with torch.device("meta"):
        model = SwinTransformer([4, 4], 8, [2, 2], [1, 1], [4, 4], num_classes=2)
    assert [tokens.grid for tokens in swin.tokens_of(model, (36, 32))] == [(9, 8), (5, 4)]
    assert swin.expected(model) == 4
    found = list(swin.blocks(model, (36, 32)))
    assert [(each.path, each.stage, each.window, each.shift) for each in found] == [
        ("features.1.0.attn", 0, (4, 4), (0, 0)),
        ("features.1.1.attn", 0, (4, 4), (2, 2)),
        ("features.3.0.attn", 1, (4, 4), (0, 0)),
        ("features.3.1.attn", 1, (4, 4), (2, 0)),
    ]
    one = swin.layer_at(model, (36, 32), 1, call(found[1].path, 6, 1, 16, 16))
    assert torch.equal(one.key_ids, window_ids((9, 8), (4, 4), (2, 2), pad_first=True))
    assert swin.matches(model)
    assert [each.shift for each in swin.blocks(model, (16, 36))] == [(0, 0), (0, 2), (0, 0), (0, 2)]


def test_the_trace_of_a_small_swin():
    """5 × 7 tokens after 10 × 14, with the merging between."""
    loaded = random_model("swin_tiny_patch4_window7_224", **SMALL_SWIN)
    pixels = image(0, (40, 56))
    found = families.trace(loaded, pixels, target=1)
    paths = [f"layers.{stage}.blocks.{block}.attn" for stage, block in product(range(2), range(2))]
    assert [each.name for each in found.attention] == [*paths[:2], "merging 1", *paths[2:]]
    assert [each.learned for each in found.attention] == [True, True, False, True, True]
    assert [each.key.grid for each in found.attention] == [(10, 14)] * 3 + [(5, 7)] * 2
    assert (found.attention[2].query.grid, found.check.layers_expected) == ((5, 7), 4)
    assert [(each.name, each.tokens.grid) for each in found.features] == [("stage 1", (10, 14)), ("stage 2", (5, 7))]
    assert {each.tokens.grid for each in found.cam_features} == {(5, 7)}
    assert [each.name for each in found.layer_features] == paths
    kept = families.trace(loaded, pixels, keep=Keep(layers=(1,), rows=(0,), heads="mean", dtype=torch.float16))
    assert [(each.name, each.weights.dtype) for each in kept.attention if each.learned] == [(paths[1], torch.float16)]
    assert kept.attention[0].weights.shape[1:] == (1, 16, 16)  # all rows of a window, and the mean over heads
    assert {"swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256"} <= {*families.names_of(swin)}
    assert all(name.startswith("swin") for name in families.names_of(swin))


def embedding(**values):
    return module("timm.layers", **values)


def test_tokens_of_a_vit():
    model = module(
        "timm.models.deit",
        patch_embed=embedding(grid_size=(3, 5)),
        num_prefix_tokens=4,
        blocks=[],
        cls_token=1,
        dist_token=1,
    )
    (tokens,) = vit.tokens_of(model, (48, 80))
    assert (tokens.special, tokens.grid, tokens.stride) == (("cls", "dist", "reg1", "reg2"), (3, 5), 16.0)
    assert vit.step_px(model, (48, 80)) == 16
    model.patch_embed.dynamic_feat_size = lambda size: (size[0] // 8, size[1] // 8)
    assert vit.tokens_of(model, (48, 80))[0].grid == (6, 10)
    assert vit.special_names(module(num_prefix_tokens=1, cls_token=None)) == ("reg1",)
    assert vit.special_names(module(num_prefix_tokens=0, cls_token=1)) == ()
    assert vit.special_names(module()) == ()
    assert vit.matches(model)
    assert not vit.matches(module("timm.models.deit"))
    assert not vit.matches(module(blocks=[]))
    theirs = module("torchvision.models.vision_transformer", patch_size=16, encoder=module(layers=[0, 0]))
    assert not vit.matches(theirs)
    assert not vit.matches(module("torchvision.models", class_token=1))
    theirs.class_token = 1
    assert vit.matches(theirs)
    (tokens,) = vit.tokens_of(theirs, (48, 80))
    assert tokens == Tokens("patches", ("cls",), (3, 5), stride=16.0)
    assert vit.step_px(theirs, (48, 80)) is None
    assert vit.expected(theirs) == 2


def test_the_table_of_positions():
    def table(rows, **values):
        found = vit.position_table(
            module(
                pos_embed=nn.Parameter(torch.zeros(1, rows, 2)),
                num_prefix_tokens=1,
                patch_embed=embedding(grid_size=(2, 3)),
                **values,
            )
        )
        return found and (found[0], tuple(found[1].shape), *found[2:])

    assert table(7) == ("pos_embed", (1, 7, 2), 1, (2, 3))
    assert table(6, no_embed_class=True) == ("pos_embed", (1, 6, 2), 0, (2, 3))
    assert table(6) is None
    assert vit.position_table(module()) is None
    encoder = module(pos_embedding=torch.zeros(1, 10, 2))
    theirs = module("torchvision.models", image_size=48, patch_size=16, encoder=encoder)
    found = vit.position_table(theirs)
    assert (found[0], found[2], found[3]) == ("encoder.pos_embedding", 1, (3, 3))


def test_the_tokens_of_a_layer():
    tokens = Tokens("patches", ("cls",), (2, 2), stride=8.0)
    whole = vit.layer(call("blocks.0.attn", 1, 1, 5, 5), tokens, "a")
    assert (whole.name, whole.query, whole.key, whole.query_ids.tolist()) == ("a", tokens, tokens, [[0, 1, 2, 3, 4]])
    pool = vit.layer(call("attn_pool", 1, 1, 2, 4), tokens, "pool")
    assert (pool.name, pool.query.name, pool.query.special) == ("pool", "pool", ("pool", "pool2"))
    assert (pool.key.special, pool.key.grid) == ((), (2, 2))
    assert pool.key_ids.tolist() == [[0, 1, 2, 3]]


def test_calls_are_numbered_and_rows_picked():
    twice = [call("a"), call("b"), call("a")]
    assert translate.names_of(twice) == ["a · 1", "b", "a · 2"]
    tokens = Tokens("t", (), (1, 4))
    at = call("a", 1, 1, 2, 4)
    at.rows, at.heads = (3, 1), 6
    found = translate.attention_of(at, tokens, tokens, all_ids(4), all_ids(4))
    assert (found.query_ids.tolist(), found.key_ids.tolist(), found.heads) == ([[3, 1]], [[0, 1, 2, 3]], 6)
    assert (found.name, translate.attention_of(at, tokens, tokens, all_ids(4), all_ids(4), "b").name) == ("a", "b")
    assert [translate.step_of_stages(size) for size in ((128, 128), (127, 999), (999, 128))] == [32, 4, 32]


def test_rows_of_windows_in_the_order_of_tokens():
    rows = torch.arange(1.0, 7.0)[:, None]
    assert translate.spread(rows, torch.tensor([2, -1, 0, 1, -1, 3]), 4).flatten().tolist() == [3, 4, 1, 6]
    first, then = torch.arange(6.0).view(3, 2).split([1, 2])
    assert translate.joined(first, then).data_ptr() == first.data_ptr()  # cut from one tensor: not copied
    assert torch.equal(translate.joined(first, then), torch.arange(6.0).view(3, 2))
    assert torch.equal(translate.joined(then, first), torch.cat([then, first]))
    tokens = Tokens("t", ("cls",), (1, 2))
    special = translate.features_of("f", torch.ones(2, 3), torch.zeros(1, 3), tokens)
    assert (special.values.tolist(), special.tokens) == ([[0] * 3, [1] * 3, [1] * 3], tokens)
    plain = translate.features_of("f", torch.arange(6.0).view(3, 1, 2), None, tokens)
    assert (plain.values.tolist(), plain.tokens.special) == ([[0, 2, 4], [1, 3, 5]], ())


def test_the_trace_of_a_small_vit():
    """3 × 5 patches after a class token, in a picture that is wider than high."""
    loaded = random_model("test_vit", depth=2)
    pixels = image(0)
    found = families.trace(loaded, pixels, target=3)
    paths = ["blocks.0.attn", "blocks.1.attn"]
    assert [(each.name, each.key.grid) for each in found.attention] == [(path, (3, 5)) for path in paths]
    assert (found.target, found.check.layers_expected, found.check.passed) == (3, 2, True)
    assert [each.name for each in found.features] == ["blocks.0", "blocks.1"]
    assert {each.values.shape for each in found.features} == {(16, 64)}
    assert [(each.tokens.name, each.tokens.special) for each in found.features] == [("patches", ("cls",))] * 2
    assert {each.tokens.grid for each in found.cam_features} == {(3, 5)}
    assert [each.name for each in found.layer_features] == paths
    assert all(each.gradient is not None for each in found.layer_features)
    kept = families.trace(loaded, pixels, keep=Keep(layers=(1,), rows=(0,)))
    assert [(each.name, each.weights.shape[-2:]) for each in kept.attention] == [(paths[1], (1, 16))]
    one = vit.layer_at(loaded.model, (48, 80), 1, call(paths[1], 1, 1, 16, 16))
    assert (one.name, one.query.grid, one.query.special) == (paths[1], (3, 5), ("cls",))


def test_attention_layers_of_vits():
    """What timm can fuse, ours, and two for differential attention; nothing else."""
    fused = module("timm.layers.attention", fused_attn=True)
    twice = DiffAttention(4, num_heads=1)
    assert vit.expected(nn.Sequential(fused, nn.Identity(), twice)) == 3
    assert vit.expected(made("vit_parts_tiny", depth=2, img_size=32)) == 2
    named = families.names_of(vit)
    assert {"deit3_base_patch16_224", "vit_base_r26_s32_224", "test_vit_relpos", "vit_parts_base"} <= {*named}
    assert {"aimv2_1b_patch14_224", "eva02_base_patch14_224", "beit_base_patch16_224"} <= {*named}
    assert "resnet18" not in named


def test_tokens_that_a_plan_drops():
    """Of a class token and 2 × 2 patches the second patch: its rows are missing, and its features are zero."""
    tokens, rows = Tokens("patches", ("cls",), (2, 2), stride=8.0), torch.arange(1.0, 7.0).view(3, 2)
    special = torch.full((1, 2), 9.0)
    result = Pass(torch.zeros(1), (), (rows, torch.arange(8.0).view(4, 2)), (special, None), None)
    with planned(Plan((), (), dropped=(2,))):
        left = vit.layer(call("a", 1, 1, 4, 4), tokens, "b")
        assert (left.name, left.query_ids.tolist(), left.key_ids.tolist()) == ("b", [[0, 1, 3, 4]], [[0, 1, 3, 4]])
        assert (left.query, left.key) == (tokens, tokens)
        assert vit.layer(call("a", 1, 1, 5, 5), tokens, "b").key_ids.tolist() == [[0, 1, 2, 3, 4]]
        seen = vit.features(replace(result, maps=result.maps[:1], specials=(special,)), tokens)
        bare = vit.features(replace(result, maps=result.maps[1:], specials=(None,)), tokens)
    assert seen[0].values.tolist() == [[9, 9], [1, 2], [0, 0], [3, 4], [5, 6]]
    assert (seen[0].name, seen[0].tokens) == ("blocks.0", tokens)
    assert bare[0].values.tolist() == [[0, 1], [2, 3], [0, 0], [4, 5], [6, 7]]
    whole = vit.features(result, tokens)
    assert [each.name for each in whole] == ["blocks.0", "blocks.1"]
    assert whole[0].values.tolist() == [[9, 9], [1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    "family, model, options",
    [(vit, "test_vit", {"depth": 1}), (swin, "swin_tiny_patch4_window7_224", SMALL_SWIN)],
)
def test_a_layer_that_is_missing_is_told(monkeypatch, family, model, options):
    """One more layer than the pass has, as the family counts them: there is no trace."""
    loaded = random_model(model, **options)
    count = family.expected(loaded.model)
    monkeypatch.setattr(family, "expected", lambda _: count + 1)
    with pytest.raises(TraceError, match=f"{count} of {count + 1} attention layers were recorded"):
        families.trace(loaded, image(0, loaded.preprocessing.size_hw))


def test_what_families_say_of_themselves():
    """A ViT keeps the same rows in all layers; the maps of Swin have their channels last."""
    assert [(each.TITLE, each.SAME_ROWS) for each in (vit, swin)] == [("ViT", True), ("Swin", False)]
    assert [getattr(each, "CHANNELS_LAST", False) for each in (vit, swin)] == [False, True]


def test_deciding_features_lie_where_they_fit():
    """Rows go by their number, maps by their very grid, and what fits nothing is left out."""
    grid, with_class = Tokens("grid", (), (2, 3)), Tokens("patches", ("cls",), (2, 3))
    channels_first, rows = torch.arange(12.0).view(2, 2, 3), torch.arange(14.0).view(7, 2)
    other, odd = torch.zeros(2, 3, 2), torch.zeros(5, 2)
    each = {"map": channels_first, "rows": rows, "other": other, "odd": odd}
    deciding = tuple((name, values, values + 100) for name, values in each.items())
    result = Pass(torch.zeros(1), (), (), (), None, deciding)
    seen, flat = translate.cam_features(result, with_class, grid)
    assert (seen.name, seen.tokens, flat.name, flat.tokens) == ("map", grid, "rows", with_class)
    assert seen.values.tolist() == [[0, 6], [1, 7], [2, 8], [3, 9], [4, 10], [5, 11]]
    assert seen.gradient is not None
    assert flat.gradient is not None
    assert torch.equal(seen.gradient, seen.values + 100)
    assert torch.equal(flat.gradient, rows + 100)
    last = replace(result, deciding=(("last", channels_first.movedim(0, -1), channels_first.movedim(0, -1)),))
    assert torch.equal(translate.cam_features(last, grid, channels_last=True)[0].values, seen.values)
    staged = translate.stage_features(replace(result, gradients=(channels_first,)), [seen])
    assert staged[0].gradient is not None
    assert torch.equal(staged[0].gradient, seen.values)
    assert translate.stage_features(result, [seen]) == []
