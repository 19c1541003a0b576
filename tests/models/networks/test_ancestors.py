"""LeNet-5 and the MLP on pixels, by the numbers of LeCun et al. 1998 and by hand."""

import pytest
import timm
import torch
import torch.nn.functional as F
from torch.testing import assert_close

import vizkit
import vizkit.models.networks
from vizkit.models import family_of, pixels_of
from vizkit.models.networks.lenet import TABLE
from vizkit.traces import NotApplicable


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.fixture
def lenet():
    torch.manual_seed(0)
    return timm.create_model("lenet5").eval()


def test_the_layers_of_lenet_have_the_numbers_of_the_paper(lenet):
    layers = (lenet.c1, lenet.c3, lenet.c5, lenet.f6, lenet.head)
    assert [count(layer) for layer in layers] == [156, 2_416, 48_120, 10_164, 850]
    assert count(lenet) == 61_706


@pytest.mark.parametrize("side", [28, 32])
def test_the_maps_of_lenet_have_the_shapes_of_the_paper(side):
    model, shapes = timm.create_model("lenet5", img_size=side).eval(), []
    for layer in (model.c1, model.s2, model.c3, model.s4, model.c5, model.f6, model.head):
        layer.register_forward_hook(lambda _, __, out: shapes.append(tuple(out.shape[1:])))
    model(torch.zeros(1, 1, side, side))
    assert shapes == [(6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5), (120, 1, 1), (84,), (10,)]


def test_lenet_is_its_formula(lenet):
    pixels = torch.randn(2, 1, 32, 32)
    c1 = F.conv2d(pixels, lenet.c1.weight, lenet.c1.bias).tanh()
    c3 = F.conv2d(F.avg_pool2d(c1, 2), lenet.c3.weight, lenet.c3.bias).tanh()
    s4 = F.avg_pool2d(c3, 2).flatten(1)  # C5 reads all of S4, so it is a linear layer on its 400 numbers
    c5 = F.linear(s4, lenet.c5.weight.flatten(1), lenet.c5.bias).tanh()
    out = lenet.head(F.linear(c5, lenet.f6.weight, lenet.f6.bias).tanh())
    assert_close(lenet(pixels), out)
    assert lenet.forward_head(lenet.forward_features(pixels), pre_logits=True).shape == (2, 84)


def test_28_pixels_are_32_with_a_border_of_zeros(lenet):
    small = timm.create_model("lenet5", img_size=28).eval()
    small.load_state_dict(lenet.state_dict())
    pixels = torch.randn(1, 1, 28, 28)
    assert_close(small(pixels), lenet(F.pad(pixels, (2, 2, 2, 2))))
    with pytest.raises(ValueError, match="32×32 or 28×28 pixels, not 64×48"):
        timm.create_model("lenet5", img_size=(64, 48))


def test_the_sparse_c3_reads_what_the_table_says():
    model = timm.create_model("lenet5", sparse=True).eval()
    assert count(model.c3) == 1_516
    assert count(model) + 12 + 32 == 60_000 + 850  # with the paper's weighted subsampling; its output had no weights
    assert [sum(i in row for row in TABLE) for i in range(6)] == [10] * 6
    before = torch.randn(1, 6, 14, 14)
    for i in range(6):
        after = before.clone()
        after[:, i] += 1
        changed = (model.c3(after) - model.c3(before)).abs().amax((0, 2, 3)) > 1e-6
        assert changed.tolist() == [i in row for row in TABLE]


def test_lenet_takes_colours_and_other_classes():
    model = timm.create_model("lenet5", in_chans=3, num_classes=12)
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 12)
    model.reset_classifier(0)
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 84)
    assert model.get_classifier() is model.head


@pytest.mark.parametrize("name", ["lenet5", "pixel_mlp"])
def test_stages_leave_the_network_as_timm_wants_them(name):
    model = timm.create_model(name).eval()
    pixels = torch.randn(1, 1, 32, 32)
    last, stages = model.forward_intermediates(pixels)
    assert [stage.shape[1] for stage in stages] == [info["num_chs"] for info in model.feature_info]
    assert_close(model.forward_head(last), model(pixels))
    (second,) = model.forward_intermediates(pixels, indices=[1], intermediates_only=True, stop_early=True)
    assert_close(second, stages[1])


def test_the_mlp_has_a_weight_for_every_pixel():
    model = timm.create_model("pixel_mlp", img_size=(5, 7), in_chans=3, hidden=(11, 13), num_classes=2)
    assert count(model) == (105 * 11 + 11) + (11 * 13 + 13) + (13 * 2 + 2)
    with pytest.raises(ValueError, match="a weight for each"):
        model(torch.zeros(1, 3, 7, 5))


def test_they_open_as_models_without_attention(photo):
    loaded = vizkit.load("lenet5", pretrained=False)
    trace = vizkit.trace(loaded, photo, target=3)
    assert [f.tokens.grid for f in trace.features] == [(28, 28), (14, 14), (10, 10), (5, 5)]
    assert trace.check.passed
    mlp = vizkit.load("pixel_mlp", pretrained=False)
    trace = vizkit.trace(mlp, photo, target=3)
    assert (trace.features, trace.attention, trace.check.passed) == ((), (), True)
    from vizkit.analysis.attribution.grad_cam import grad_cam

    with pytest.raises(NotApplicable, match="known places"):
        grad_cam(trace)


# torchvision's --------------------------------------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize(
    "name, grids",
    [
        ("alexnet", [(15, 15), (7, 7), (3, 3), (1, 1)]),
        ("vgg16", [(64, 64), (32, 32), (16, 16), (8, 8), (4, 4), (2, 2)]),
        ("resnet18", [(32, 32), (16, 16), (8, 8), (4, 4), (2, 2)]),
    ],
)
def test_torchvisions_cnns_give_their_features(name, grids, photo):
    loaded = vizkit.load(f"torchvision:{name}", pretrained=False, image_size=64)
    trace = vizkit.trace(loaded, photo, target=7)
    assert [f.tokens.grid for f in trace.features] == grids
    assert family_of(loaded.model) == "cnn"
    assert trace.check.passed
    assert_close(trace.logits, loaded.model(pixels_of(loaded, photo))[0])


def test_their_stages_are_timms(photo):
    """The same weights under the same names: the features of torchvision's ResNet are those of timm's."""
    ours = vizkit.load("torchvision:resnet18", pretrained=False, image_size=64)
    theirs = timm.create_model("resnet18").eval()
    theirs.load_state_dict(ours.model.state_dict())
    pixels = pixels_of(ours, photo)
    for own, other in zip(
        vizkit.trace(ours, photo).features, theirs.forward_intermediates(pixels, intermediates_only=True), strict=True
    ):
        assert_close(own.values, other[0].flatten(1).T, atol=1e-4, rtol=1e-4)
