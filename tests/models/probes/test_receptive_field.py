"""Receptive fields: the numbers of the literature, by hand, and probed by changing pixels."""

import pytest
import timm
import torch
import torchvision
from torch import nn
from torch.testing import assert_close

import vizkit
import vizkit.models.networks
from vizkit.analysis.convolution.ancestors import ANCESTORS
from vizkit.models.probes.convolution.field_table import formula
from vizkit.models.probes.convolution.reach import Reach
from vizkit.models.probes.convolution.receptive_field import walk, walk_of
from vizkit.models.probes.multiply_adds import copy_with, without_content
from vizkit.traces import NotApplicable

SIZE = (61, 67)  # primes, so that no side is taken for the other


# The formulas ---------------------------------------------------------------------------------------------------------


def test_the_formula_by_hand():
    first = Reach().through(kernel=3, stride=2, padding=1)
    assert first == Reach(size=3, jump=2, start=-1)
    second = first.through(kernel=3, dilation=2)  # reads units i, i + 2 and i + 4: pixels −1 … 9
    assert second == Reach(size=11, jump=2, start=-1)
    assert second.pixels(0) == (-1, 10)
    assert second.centre(3) == 10.5
    assert second.cut(-1, 3) == Reach(11, 6, -3)
    assert first.beside(Reach(1, 2, 0)) == first  # a shortcut adds nothing
    assert Reach(3, 2, -1).beside(Reach(3, 2, 1)) == Reach(5, 2, -1)
    with pytest.raises(ValueError, match="no neighbours"):
        first.beside(Reach())


# Golden numbers -------------------------------------------------------------------------------------------------------
@pytest.mark.product
@pytest.mark.parametrize("ancestor", ANCESTORS, ids=lambda ancestor: ancestor.architecture)
def test_fields_and_parameters_of_the_ancestors(ancestor):
    own = ancestor.architecture == "lenet5"
    with torch.device("meta"):
        make = timm.create_model if own else torchvision.models.get_model
        model = make(ancestor.architecture).eval()
    walked = walk_of(model, (1, 1, 32, 32) if own else (1, 3, 224, 224))
    last = walked.stages[-1]
    assert last.rows == last.columns
    assert (last.rows.size, sum(p.numel() for p in model.parameters())) == (ancestor.field_px, ancestor.parameters)
    assert last.rows.jump == (4 if own else 32)
    assert not last.whole
    shortcuts = [name for name, _ in model.named_modules() if "downsample" in name]
    layers = [m for m in model.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    assert len(layers) - sum(name.endswith(".0") for name in shortcuts) == ancestor.layers
    chain = [name for name, m in model.named_modules() if isinstance(m, nn.Conv2d | nn.MaxPool2d | nn.AvgPool2d)]
    assert walked.depth == len(chain) - sum(name.endswith(".0") for name in shortcuts)
    paths = [layer.path for layer in walked.layers]
    assert sorted(paths) == sorted(chain)  # each of them once, shortcuts among them


@pytest.mark.parametrize(
    "name, depth",
    [
        ("densenet121", 120 + 4),  # 121 with its classifier; and four pools: after the stem, between the blocks
        ("convnext_tiny", 1 + 18 + 3),  # its 1×1 layers are linear ones; a stem, 3 + 3 + 9 + 3 blocks, three steps down
    ],
)
def test_depth_is_that_of_the_longest_way(name, depth):
    with torch.device("meta"):
        model = timm.create_model(name).eval()
    assert walk_of(model, (1, 3, 224, 224)).depth == depth


def test_a_shortcut_makes_no_network_deeper_and_the_larger_branch_is_what_is_seen():
    walked = walk_of(Branches(), (1, 2, *SIZE))
    assert (len(walked.layers), walked.depth) == (5, 1 + 2 + 1)
    deep, wide = walked.layers[2].seen, walked.layers[3].seen
    last = walked.layers[-1].seen
    assert last.columns.size == max(deep.columns.size, wide.columns.size) + last.columns.jump // 3


def test_where_the_stride_stands_decides_427_against_483():
    """torchvision (and timm) halve in the 3×3 convolution of a bottleneck, the paper in the 1×1 before it."""
    with torch.device("meta"):
        model = torchvision.models.resnet50().eval()
    assert walk_of(model, (1, 3, 224, 224)).stages[-1].rows.size == 427
    for stage in (model.layer2, model.layer3, model.layer4):
        stage[0].conv1.stride, stage[0].conv2.stride = (2, 2), (1, 1)
    assert walk_of(model, (1, 3, 224, 224)).stages[-1].rows.size == 483


@pytest.mark.product
@pytest.mark.parametrize(
    "name, fields, whole",
    [
        ("resnet50", (7, 35, 91, 267, 427), False),
        ("vgg16", (5, 14, 40, 92, 196, 212), False),  # timm's stages end before the pool, the last after it
        ("convnext_tiny", (76, 224, 1096, 1688), False),  # through layer norms with the channels last
        ("mobilenetv3_small_100", (3, 7, 31, 319, 639), True),  # squeeze-and-excitation sees everything
    ],
)
def test_stages_of_timms_models(name, fields, whole):
    with torch.device("meta"):
        model = timm.create_model(name).eval()
    stages = walk_of(model, (1, 3, 224, 224)).stages
    assert tuple(stage.rows.size for stage in stages) == fields
    assert stages[-1].whole == whole


# Probes ---------------------------------------------------------------------------------------------------------------
class Branches(nn.Module):
    """A shortcut, a wide and a deep path, which end in one map."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 3, (3, 5), stride=(2, 1), padding=(1, 2))
        self.wide = nn.Conv2d(3, 3, 3, padding=5, dilation=5)
        self.deep = nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 7, padding=3))
        self.last = nn.Conv2d(6, 2, 2, stride=(1, 3))

    def forward(self, x):
        x = self.first(x)
        return self.last(torch.cat([x + self.deep(x), self.wide(x)], 1))


TOYS = {
    "strides": nn.Sequential(nn.Conv2d(2, 3, 5, stride=3, padding=2), nn.Conv2d(3, 2, 3, stride=2, padding=1)),
    "dilated": nn.Sequential(nn.Conv2d(2, 3, 3, padding=2, dilation=2), nn.Conv2d(3, 2, 3, dilation=5)),
    "oblong": nn.Sequential(nn.Conv2d(2, 3, (7, 3), stride=(2, 3), padding=(5, 0)), nn.AvgPool2d((2, 3), (3, 2))),
    "pools": nn.Sequential(nn.AvgPool2d(3, 2, 1), nn.Conv2d(2, 2, 3, padding=1), nn.AvgPool2d(2)),
    "padded": nn.Sequential(nn.ZeroPad2d((3, 2, 4, 1)), nn.Conv2d(2, 2, 5, stride=3)),
    "branches": Branches(),
}


def positive(model):
    """All weights above zero: nothing cancels, so all that can change a unit does."""
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.rand_like(weight) + 0.1)
    return model.double().eval()


def probed(run, pixels, cell):
    """(x0, y0, x1, y1) around the pixels whose change changes the unit at `cell`."""
    pixels = pixels.clone().requires_grad_()
    run(pixels)[..., cell[0], cell[1]].sum().backward()
    touched = pixels.grad[0].abs().sum(0) > 0
    rows, columns = touched.any(1).nonzero(), touched.any(0).nonzero()
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def clipped(box, size_hw):
    x0, y0, x1, y1 = box
    return max(0, x0), max(0, y0), min(size_hw[1], x1), min(size_hw[0], y1)


@pytest.mark.parametrize("name", TOYS)
def test_pixels_outside_change_nothing_and_those_at_the_edges_do(name):
    model = positive(TOYS[name])
    pixels = torch.rand(1, 2, *SIZE, dtype=torch.float64)
    seen = walk_of(model, pixels.shape).layers[-1].seen
    out = model(pixels)
    assert tuple(out.shape[-2:]) == seen.grid
    rows, columns = seen.grid
    for cell in [(0, 0), (rows // 2, columns // 2), (rows - 1, 0), (rows - 1, columns - 1)]:
        box = clipped(seen.box(cell), SIZE)
        assert probed(model, pixels, cell) == box
        x0, y0, x1, y1 = box
        outside = torch.rand_like(pixels)
        outside[..., y0:y1, x0:x1] = pixels[..., y0:y1, x0:x1]
        assert_close(model(outside)[..., cell[0], cell[1]], out[..., cell[0], cell[1]])


@pytest.mark.parametrize("side, cells, exact", [(12, 3, True), (8, 7, True), (10, 3, True), (61, 7, False)])
def test_adaptive_pools_see_at_least_what_they_read(side, cells, exact):
    model = positive(nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.AdaptiveAvgPool2d(cells)))
    pixels = torch.rand(1, 2, side, side, dtype=torch.float64)
    seen = walk_of(model, pixels.shape).layers[-1].seen
    for cell in ((i, cells - 1 - i) for i in range(cells)):
        x0, y0, x1, y1 = clipped(seen.box(cell), (side, side))
        read = probed(model, pixels, cell)
        assert (x0 <= read[0], y0 <= read[1], read[2] <= x1, read[3] <= y1) == (True,) * 4
        assert not exact or read == (x0, y0, x1, y1)


@pytest.mark.parametrize("cells", [7, (5, 7), (7, 2)])
def test_an_adaptive_pool_to_more_cells_than_its_map_has_takes_no_even_steps(cells):
    """As in torchvision's AlexNet and VGG for images smaller than 224 pixels: what comes before keeps its field."""
    model = nn.Sequential(nn.Conv2d(2, 2, 3, stride=2, padding=1), nn.AdaptiveAvgPool2d(cells), nn.Conv2d(2, 2, 1))
    (layer,) = walk_of(model, (1, 2, 10, 10)).layers
    assert (layer.seen.grid, formula(layer)) == ((5, 5), "r = 1 + 1·(3 − 1)·1 = 3 pixels")


class Gated(nn.Module):
    """A number of the whole map has a part in every place."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3)

    def forward(self, x):
        x = self.conv(x)
        return nn.functional.relu(self.conv(x * nn.functional.avg_pool2d(x, x.shape[-2:])))


def test_a_gate_lets_the_whole_image_in():
    last = walk_of(Gated(), (1, 2, *SIZE)).layers[-1].seen
    assert last.whole
    assert (last.rows.size, last.columns.size) == (5, 5)  # the field without it
    assert not walk_of(TOYS["branches"], (1, 2, *SIZE)).layers[-1].seen.whole


def test_lenets_fields_are_true():
    torch.manual_seed(0)
    model = timm.create_model("lenet5", img_size=28).double().eval()
    pixels = torch.rand(1, 1, 28, 28, dtype=torch.float64)
    stages = walk_of(model, pixels.shape).stages
    for index, seen in enumerate(stages):

        def stage(pixels, index=index):
            return model.forward_intermediates(pixels, intermediates_only=True)[index]

        for cell in [(0, 0), (seen.grid[0] // 2, seen.grid[1] - 2)]:
            assert probed(stage, pixels, cell) == clipped(seen.box(cell), (28, 28))


def test_the_model_is_left_as_it_was():
    model = TOYS["strides"]
    before = [*model.parameters()]
    walk_of(model, (1, 2, *SIZE))
    assert all(now is then for now, then in zip(model.parameters(), before, strict=True))
    assert not any(module._forward_hooks for module in model.modules())
    assert copy_with(model, without_content)[0].weight.is_meta


@pytest.mark.product
@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "pixel_mlp"])
def test_networks_without_overlapping_windows_say_so(name):
    with pytest.raises(NotApplicable, match="not convolutions"):
        walk(vizkit.load(name, pretrained=False))


# What strides leave over ----------------------------------------------------------------------------------------------


def test_the_bound_by_hand():
    """Four pixels each, four apart, of 11: two units, and the last three pixels belong to none."""
    patches = Reach().through(4, 4).of(2, 11)
    assert patches == Reach(4, 4, 0, beyond=8)
    assert patches.through(3, padding=1).pixels(1) == (0, 8)
    assert Reach().through(4, 4).of(3, 12).beyond is None
    assert Reach(9, 4, -4).of(2, 8).pixels(1) == (0, 9)  # padding is no pixel that is left over
    assert patches.beside(Reach(4, 4, 0)).beyond is None
    assert patches.beside(Reach(4, 4, 0, beyond=9)).beyond == 9


@pytest.mark.product
@pytest.mark.parametrize(
    "name, side",
    [("convnext_atto", 129), ("convnext_atto", 96), ("inception_v3", 129), ("resnet18", 75)]
    + [("toy", side) for side in range(60, 72)],
)
def test_pixels_that_strides_leave_over_are_claimed_by_no_unit(name, side):
    """Against the exact field: a gradient through positive weights that no activation cuts, in each stage's corners."""
    if name == "toy":
        model = nn.Sequential(
            nn.Conv2d(3, 2, 5, 3), nn.AvgPool2d(3, 2), nn.Conv2d(2, 2, 3, 1, 1), nn.Conv2d(2, 2, 2, 2)
        )
    else:
        model = timm.create_model(name, pretrained=False)
    model = positive(linear(model))
    pixels = torch.rand(1, 3, side, side + 2, dtype=torch.float64)
    walked = walk_of(model, pixels.shape)
    seen = [stage for stage in walked.stages if stage] or [walked.layers[-1].seen]
    for index, stage in enumerate(seen):
        rows, columns = stage.grid
        for cell in {(rows - 1, columns - 1), (rows // 2, 0)}:

            def run(given, index=index):
                return model(given) if name == "toy" else model.forward_intermediates(given)[1][index]

            assert probed(run, pixels, cell) == clipped(stage.box(cell), (side, side + 2)), (index, cell)


def test_the_whole_field_of_a_resnet18_is_the_published_435_pixels():
    """Araujo et al. 2019. Of few maps, which do not change it, on an image that holds all of it."""
    model = positive(linear(timm.create_model("resnet18", channels=(4, 4, 4, 4))))
    pixels = torch.rand(1, 3, 449, 449, dtype=torch.float64)
    seen = walk_of(model, pixels.shape).stages[-1]
    cell = (seen.grid[0] // 2, seen.grid[1] // 2)
    x0, y0, x1, y1 = probed(lambda given: model.forward_features(given), pixels, cell)
    assert (x1 - x0, y1 - y0) == (435, 435)
    assert (x0, y0, x1, y1) == seen.box(cell)


def linear(model):
    """Without what cuts gradients or mixes places that a convolution does not: norms, activations, the largest."""
    for path, module in list(model.named_modules()):
        kind = type(module).__name__
        owner, _, name = path.rpartition(".")
        if kind.startswith(("BatchNorm", "LayerNorm", "GlobalResponseNorm")) or isinstance(module, nn.ReLU | nn.GELU):
            setattr(model.get_submodule(owner), name, nn.Identity())
        elif isinstance(module, nn.MaxPool2d):
            mean = nn.AvgPool2d(module.kernel_size, module.stride, module.padding)
            setattr(model.get_submodule(owner), name, mean)
    return model
