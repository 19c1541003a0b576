"""The hierarchy of Swins by golden numbers; and what is lost without the shift or without relative positions."""

import numpy as np
import pytest
import torch
from torch import nn

import vizkit
from tests.drawn import noisy_picture
from vizkit.models.probes.positions import relative_bias
from vizkit.models.probes.swin_changes import changed
from vizkit.models.probes.swin_stages import hierarchy, is_swin, own_mask
from vizkit.models.recording.kinds import is_torchvision
from vizkit.traces import NotApplicable


def of(name, **options):
    torch.manual_seed(0)
    return vizkit.load(name, pretrained=False, **options)


@pytest.fixture(scope="module")
def tiny():
    return of("swin_tiny_patch4_window7_224")


# ---- hierarchy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["swin_tiny_patch4_window7_224", "torchvision:swin_t"])
def test_swin_t_has_the_published_shapes(name, tiny):
    """Liu et al. 2021, table 7."""
    loaded = tiny if name.startswith("swin") else of(name)
    stages = hierarchy(loaded)
    assert [(s.grid, s.channels) for s in stages] == [((56, 56), 96), ((28, 28), 192), ((14, 14), 384), ((7, 7), 768)]
    assert [s.heads for s in stages] == [3, 6, 12, 24]
    assert [len(s.blocks) for s in stages] == [2, 2, 6, 2]
    assert [s.first_layer for s in stages] == [0, 2, 4, 10]
    assert [s.tokens.stride for s in stages] == [4.0, 8.0, 16.0, 32.0]
    assert [[b.shift for b in s.blocks] for s in stages] == [
        [(0, 0), (3, 3)],
        [(0, 0), (3, 3)],
        3 * [(0, 0), (3, 3)],
        [(0, 0), (0, 0)],
    ]
    assert stages[0].pad_first == name.startswith("torchvision")


def test_the_features_have_the_shapes_of_the_hierarchy(tiny):
    trace = vizkit.trace(tiny, np.zeros((224, 224, 3), np.uint8))
    found = [(f.tokens.grid, f.values.shape[1]) for f in trace.features]
    assert found == [(s.grid, s.channels) for s in hierarchy(tiny)]


def test_others_have_no_hierarchy(digits, cnn):
    for loaded in (digits, cnn):
        assert not is_swin(loaded)
        for refused in (hierarchy, lambda model: changed(model, shift=False)):
            with pytest.raises(NotApplicable, match="not a Swin"):
                refused(loaded)


def test_a_block_hands_out_its_own_mask(tiny):
    shifted = own_mask(tiny, "layers.0.blocks.1.attn")
    assert shifted.shape == (64, 49, 49)
    assert torch.equal(shifted, tiny.model.layers[0].blocks[1].attn_mask == 0)
    assert own_mask(tiny, "layers.0.blocks.0.attn") is None
    assert own_mask(changed(tiny, shift=False), "layers.0.blocks.1.attn") is None
    assert own_mask(of("torchvision:swin_t"), "features.1.1.attn") is None


# ---- switched off ----------------------------------------------------------------------------------------------------

FAMILY = {
    "v1": ("swin_tiny_patch4_window7_224", (112, 112)),
    "v1 padded": ("swin_tiny_patch4_window7_224", (72, 104)),
    "v2": ("swinv2_tiny_window8_256", (128, 128)),
    "torchvision v1": ("torchvision:swin_t", (112, 112)),
    "torchvision v2": ("torchvision:swin_v2_t", (128, 128)),
}


@pytest.fixture(scope="module", params=FAMILY)
def one(request):
    name, size_hw = FAMILY[request.param]
    narrow = {} if "torchvision" in name else {"model_args": {"embed_dim": 24, "depths": (2, 2, 2, 2)}}
    loaded = of(name, image_size=size_hw, **narrow)
    for module in loaded.model.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)  # version 2 starts at zero, where no block changes anything
        elif hasattr(module, "cpb_mlp"):
            nn.init.normal_(module.cpb_mlp[2].weight, std=0.1)  # the biases start at nearly nothing
        elif hasattr(module, "relative_position_bias_table"):
            nn.init.normal_(module.relative_position_bias_table)
    return loaded


def stage_of(loaded, stage):
    """The blocks of one stage, without the merging before or behind them."""
    model = loaded.model
    return nn.Sequential(*(model.features[2 * stage + 1] if is_torchvision(model) else model.layers[stage].blocks))


@pytest.mark.rest
def test_without_the_shift_nothing_crosses_a_border_and_with_it_something_does(one):
    off = changed(one, shift=False)
    for index, (on_paper, without) in enumerate(zip(hierarchy(one), hierarchy(off), strict=True)):
        (rows, columns), (down, right) = on_paper.grid, on_paper.blocks[0].window
        assert all(block.shift == (0, 0) for block in without.blocks)
        if rows <= down and columns <= right:
            continue  # one window: there is no border
        assert any(any(block.shift) for block in on_paper.blocks)
        x = torch.randn(1, rows, columns, on_paper.channels)
        y = x.clone()
        y[0, min(down, rows) - 1, min(right, columns) - 1] += torch.randn(on_paper.channels)  # at the window's corner
        crossed = []
        for loaded in (one, off):
            with torch.no_grad():
                moved = (stage_of(loaded, index)(x) != stage_of(loaded, index)(y)).any(-1)[0]
            assert moved[:down, :right].all()
            moved[:down, :right] = False
            crossed.append(bool(moved.any()))
        assert crossed == [True, False]


@pytest.mark.product
def test_the_model_itself_stays_as_it_was(one):
    pixels = torch.randn(1, 3, *one.preprocessing.size_hw)
    with torch.no_grad():
        before = one.model(pixels)
        answers = [changed(one, shift=shift, bias=bias).model(pixels) for shift, bias in ((False, True), (True, False))]
        assert torch.equal(one.model(pixels), before)
        assert torch.equal(changed(one).model(pixels), before)
    for answer in answers:
        assert float((answer - before).abs().max()) > 1e-3
    assert float((answers[0] - answers[1]).abs().max()) > 1e-3


@pytest.mark.product
def test_all_weights_are_shared(one):
    """But for the biases, which are what is changed."""
    off = changed(one, shift=False, bias=False)
    own = {p.data_ptr() for p in one.model.parameters()}
    new = [name for name, p in off.model.named_parameters() if p.data_ptr() not in own]
    assert new
    assert all("relative_position_bias_table" in name or "cpb_mlp.2" in name for name in new)
    assert off.name == f"{one.name} without shift and bias"
    assert off.compared is not one.compared


@pytest.mark.product
def test_without_bias_offsets_make_no_difference(one):
    bare = changed(one, bias=False)
    assert float(relative_bias(one, 1).by_offset.std(dim=(1, 2)).min()) > 0
    for layer in range(4):
        assert float(relative_bias(bare, layer).by_offset.std(dim=(1, 2)).max()) == 0


@pytest.mark.product
def test_a_changed_model_can_be_traced(one):
    image = noisy_picture(96, 96)
    trace = vizkit.trace(changed(one, shift=False), image)
    assert trace.check.passed
    for layer in trace.attention:
        if layer.learned:
            first = next(other for other in trace.attention if other.query.grid == layer.query.grid and other.learned)
            assert torch.equal(layer.query_ids, first.query_ids)
