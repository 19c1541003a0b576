"""The views of Convolution: what their canvases are sent, whose numbers stand where, and what a link brings."""

import base64

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.testing import assert_close

import vizkit
from tests.views.contract import everything, model
from vizkit.analysis.convolution.sliding import Steps, output
from vizkit.datasets import samples
from vizkit.from_json import ReportError
from vizkit.models.probes.convolution.first_layer import first_layer
from vizkit.report.item import FORMER
from vizkit.traces import NotApplicable
from vizkit.views.address import from_address
from vizkit.views.blocks import Canvas, Folded, Line, Map, Metrics, Numbers, Picture, Said, Table
from vizkit.views.convolution.feature_maps import FeatureMaps
from vizkit.views.convolution.receptive_field import ReceptiveField
from vizkit.views.convolution.slide import Slide
from vizkit.views.convolution.trainable import Trainable
from vizkit.views.subject import Subject, no_model, no_picture


def subject(name, image="digit 3"):
    loaded = model(name)
    return Subject(lambda: loaded, samples.picture(image), image=image, model=name)


def canvas(view, of):
    return next(block for block in view.show(of) if isinstance(block, Canvas)).data


def said(blocks):
    return " ".join(block.text for block in blocks if isinstance(block, Said | Line))


# ---- Slide -----------------------------------------------------------------------------------------------------------
def numbers(data, name):
    return torch.from_numpy(np.frombuffer(base64.b64decode(data[name]), "<f4").copy())


def kernel_of(data):
    sent = data["kernels"][str(data["steps"][0])]
    return None if sent is None else numbers({"kernel": sent}, "kernel")


def again(data):
    """The output from what the canvas is sent, as the canvas computes it."""
    image, steps = numbers(data, "input").view(*data["input_size"]), Steps(*data["steps"])
    kernel = kernel_of(data)
    kernel = torch.zeros(1, steps.f, steps.f) if kernel is None else kernel.view(-1, steps.f, steps.f)
    return output(image, kernel, steps, data["kind"], data["bias"]).flatten()


@pytest.mark.parametrize(
    "view, steps, count",
    [
        (Slide("edges"), (3, 1, 0, 1), 30 * 30),
        (Slide("edges", size=5, stride=2, padding=1, dilation=3), (5, 2, 1, 3), 11 * 11),
        (Slide("edges", size=6), (5, 1, 0, 1), 28 * 28),  # no kernel has an even side
        (Slide("max pooling"), (2, 2, 0, 1), 16 * 16),
        (Slide("average pooling", padding=3), (2, 2, 1, 1), 17 * 17),  # as in PyTorch, half a side at most
    ],
)
def test_the_canvas_is_sent_what_gives_pytorchs_output(view, steps, count):
    data = canvas(view, [subject("digits_cnn", "mayfly nymph")])
    assert data["steps"] == steps
    assert len(again(data)) == count
    assert_close(again(data), numbers(data, "expected"), rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", ["digits_vit", "digits_cnn"])
def test_the_first_layer_of_a_model_slides_with_its_own_weights(name):
    data, layer = canvas(Slide(f"first layer of {name}", 2), [subject(name)]), first_layer(model(name))
    assert_close(kernel_of(data), layer.weight[1].flatten())
    assert data["bias"] == pytest.approx(float(layer.bias[1]))
    assert (data["editable"], data["picture_again"]) == (False, None)
    assert_close(again(data), numbers(data, "expected"), rtol=0, atol=1e-5)


def test_large_patches_and_other_models_are_refused_in_a_sentence():
    for kernel in ("first layer of insects_deit", "first layer of nobody"):
        with pytest.raises(NotApplicable, match=r"up to 7 × 7 can be followed here\.|No model here is called 'nobody'"):
            list(Slide(kernel).show([subject("insects_deit")]))


def test_edited_weights_belong_to_their_kernel():
    of, typed = [subject("digits_cnn")], "0,0,0,0,2,0,0,0,0"
    for view, edited in (
        (Slide(numbers=typed), True),  # a link of 0.1.0, which names none
        (Slide("blur", numbers=f"blur:{typed}"), True),
        (Slide("blur", numbers=f"edges:{typed}"), False),
        (Slide("edges", size=5, numbers=typed), False),
        *((Slide(numbers=wrong), False) for wrong in ("1,2", "a,b", "1e9" + ",0" * 8, "nan" + ",0" * 8)),
    ):
        data = canvas(view, of)
        assert data["edited"] is edited, view
        assert (kernel_of(data).tolist() == [0, 0, 0, 0, 2, 0, 0, 0, 0]) is edited


def test_a_link_brings_steps_and_place():
    view = from_address(
        Slide,
        {"slide_kernel": "edges", "slide_size": "7", "slide_stride": "9", "slide_padding": "2", "slide_at": "4,99"},
    )
    data = canvas(view, [subject("digits_cnn")])
    assert (data["steps"], data["at"]) == ((7, 1, 2, 1), (3, 29))  # there is no stride of 9, and no column 99


def test_it_opens_on_a_filter_of_the_model_or_of_a_cnn_beside_it():
    own = canvas(Slide(), [subject("digits_cnn")])
    assert_close(kernel_of(own), first_layer(model("digits_cnn")).weight[0].flatten())
    assert own["filters"]["count"] == len(first_layer(model("digits_cnn")).weight)
    assert canvas(Slide(filter=3), [subject("digits_cnn")])["filters"]["chosen"] == 2
    beside = canvas(Slide(), [subject("insects_deit", "mayfly nymph")])  # whose own filters are 8 × 8
    assert beside["filters"]["names"] == "CNN · insects"
    assert canvas(Slide("edges"), [subject("digits_cnn")])["filters"] is None


# ---- Feature maps ----------------------------------------------------------------------------------------------------
def test_a_layer_with_its_fields_and_the_origin_of_a_number():
    of = subject("digits_cnn")
    first = canvas(FeatureMaps(1), of)
    assert first["strengths"] == sorted(first["strengths"], reverse=True)
    assert first["rows"][1] == 3  # the field of a unit after a 3 × 3 convolution: start, size, jump
    assert all(scale["signed"] for scale in first["scales"])
    later = canvas(FeatureMaps(1, "activation"), of)
    assert (any(scale["signed"] for scale in later["scales"]), later["low"]) == (False, 0)
    channel = later["channels"][1]
    blocks = list(everything(FeatureMaps(1, "activation", channel + 1, (3, 4)).show(of)))
    assert next(block for block in blocks if isinstance(block, Canvas)).data["unit"] == (1, 3, 4)
    (metrics,) = (block for block in blocks if isinstance(block, Metrics))
    assert [what for what, *_ in metrics.items] == ["after the convolution", "after the norm", "after the activation"]
    assert "✓ The shares sum to the model’s own number" in said(blocks)


# ---- Reach -----------------------------------------------------------------------------------------------------------
def test_what_a_cell_sees_beside_other_networks():
    """LeNet-5 of 32 pixels: fields of 6, 14, 16 … pixels; a token of the ViT sees all, one of the Swin its window."""
    loaded = vizkit.load("bundled:digits_lenet")
    lenet = Subject(lambda: loaded, samples.picture("digit 3"), image="digit 3", model="LeNet-5")
    blocks = list(everything(ReceptiveField().show([lenet])))
    words = said(blocks)
    assert "The marked cell of ViT · digits sees the whole image in its first layer" in words
    assert "C3: 14 · " in words
    assert "Swin · digits and ViT · digits are not your models" in words
    assert "r = 6 + 1·(5 − 1)·2 = 14 pixels" in str([block.rows for block in blocks if isinstance(block, Table)])
    (numbers,) = (block.make() for block in blocks if isinstance(block, Numbers))
    swin = numbers["Swin · digits: pixels seen"]
    assert (swin[1:, 2] - swin[1:, 0] >= swin[:-1, 2] - swin[:-1, 0]).all()
    assert swin[0, 2] - swin[0, 0] < numbers["ViT · digits: pixels seen"][0, 2]
    assert sum(isinstance(block, Folded) for block in blocks) == 2


def test_another_cell_has_other_frames_in_every_network():
    """In the corner of the second block of a Swin the mask keeps a token within its first window; and the Swin and the
    ViT, which are not the visitor's, follow the cursor too."""
    loaded = vizkit.load("bundled:insects_cnn")
    image = samples.picture("mayfly nymph")
    seen = {}
    for point in ((0.4, 0.4), (0.97, 0.97)):
        cnn = Subject(lambda: loaded, image, image="mayfly nymph", model="CNN", point=point)
        blocks = list(everything(ReceptiveField().show([cnn])))
        (numbers,) = (block.make() for block in blocks if isinstance(block, Numbers))
        seen[point] = numbers
        assert all(block.query == point for block in blocks if isinstance(block, Map))
    middle, corner = seen.values()
    assert [found["Swin · insects: pixels seen"][1].tolist() for found in (middle, corner)] == [
        [0, 0, 112, 112],
        [56, 56, 112, 112],
    ]
    assert (middle["CNN: pixels seen"][0] != corner["CNN: pixels seen"][0]).all()


def test_what_a_cell_uses_is_a_part_of_what_it_sees():
    loaded = vizkit.load("bundled:digits_lenet")
    lenet = Subject(lambda: loaded, samples.picture("digit 3"), image="digit 3", model="LeNet-5")
    blocks = list(everything(ReceptiveField("what it uses", 3).show([lenet])))
    assert "The marked unit of C3 can see 14 × 14 pixels" in said(blocks)
    assert sum(isinstance(block, Picture) for block in blocks) == 3


# ---- What makes deep networks trainable ------------------------------------------------------------------------------
def test_only_batchnorm_looks_at_other_images():
    of = subject("digits_cnn")
    many, one = (said(everything(Trainable("norms", images=count).show(of))) for count in (3, 1))
    assert "The other 2 images change what BatchNorm gives" in many
    assert "In a batch of one" in one
    assert "24 of 32 channels" in many


def test_residuals_bring_the_gradient_back():
    nothing = Subject(no_model, no_picture())
    plain, residual = (said(Trainable(residual=on).show(nothing)) for on in (False, True))
    assert "× 10⁻¹" in plain
    assert "× 10⁻¹" not in residual


# ---- reports of 0.1.0 ------------------------------------------------------------------------------------------------
def test_kinds_of_earlier_reports_are_views():
    channel = FORMER["channel"]({"shows": {"convolution": 2, "channel": 7, "after": "norm"}})
    assert channel == FeatureMaps(2, "norm", 8)
    assert FORMER["receptive field"]({"shows": {"stage": 2, "samples": []}}) == ReceptiveField("what it uses", 2)
    assert FORMER["filters"]({"shows": {"convolution": 2, "channel": 7, "data": "insects"}}) == FeatureMaps(
        2, channel=8
    )
    with pytest.raises(ReportError):
        FORMER["channel"]({"shows": {"convolution": "x"}})


def test_a_picture_moves_with_its_models():
    from vizkit.views.convolution.shift import Shift

    blocks = list(everything(Shift(0).show([subject("digits_cnn"), subject("digits_vit")])))
    assert "cosine of the features 1.000" in said(blocks)
    assert any(isinstance(block, Picture) for block in blocks)


def test_before_a_gradient_is_there_its_place_is_empty():
    def page():
        from vizkit.ui.drawing import Drawing, show
        from vizkit.views.blocks import Columns

        show(object.__new__(Drawing), iter([Columns(())]))  # nothing is asked of the place

    test = AppTest.from_function(page).run()
    assert not test.exception
    assert not test.columns


def test_a_cnn_is_moved_beside_models_of_the_same_classes():
    from vizkit.views.convolution.shift import Shift

    for names, beside in ((["digits_vit"], "CNN"), (["digits_vit", "digits_cnn"], ""), (["photographs_vit"], "")):
        said = [block.text for block in Shift().show([subject(name) for name in names]) if isinstance(block, Line)]
        assert [text.startswith(beside) for text in said] == [True] * bool(beside)
