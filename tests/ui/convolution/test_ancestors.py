"""AlexNet, VGG and ResNet of torchvision, with the names and the shortcuts of their own library, on the pages that suit
them."""

import pytest

from tests.ui.conftest import fine, opened, texts
from vizkit.device import DEVICE
from vizkit.models import by_name
from vizkit.ui.session import background, models

RESNET, ALEXNET, VGG = (f"random:torchvision:{name}" for name in ("resnet18", "alexnet", "vgg16"))
OWN_SIZE = [  # (page, its choices, what it has to say of a ResNet-18 at 224 pixels)
    ("explore", {}, "stage 5 of 5"),
    ("relevance", {"cam_layer": "stage 3 · 28 × 28 cells"}, "Grad-CAM"),
    (
        "architecture",
        {},
        "times as strong as the median one after",
    ),
    (
        "convolution",
        {"convolution_view": "Feature maps", "maps_layer": "20"},
        "The shares sum to the model’s own number",
    ),
    (
        "convolution",
        {"convolution_view": "Receptive field"},
        "stage 5: 435",
    ),
    ("convolution", {"convolution_view": "Norms"}, "over the channels of one token: 64 numbers"),
]
SMALL = [  # the same of the other two, at 64 pixels
    (ALEXNET, "explore", {}, "stage 4 of 4"),
    (ALEXNET, "relevance", {"cam_layer": "stage 2 · 7 × 7 cells"}, "HiResCAM"),
    (
        ALEXNET,
        "architecture",
        {},
        "times as strong as the median one after",
    ),
    (ALEXNET, "compare", {}, "A row is an image"),
    (ALEXNET, "compare", {"compare_method": "Input × gradient"}, "of its map on"),
    (ALEXNET, "compare", {"compare_view": "Cost"}, "Multiply–adds are counted"),
    (ALEXNET, "convolution", {"convolution_view": "Receptive field"}, "stage 4: 195"),
    (ALEXNET, "convolution", {"convolution_view": "Shift by a pixel"}, "cosine"),
    (ALEXNET, "convolution", {"convolution_view": "Activations"}, "ReLU"),
    (VGG, "relevance", {"cam_layer": "stage 5 · 4 × 4 cells"}, "Grad-CAM"),
    (
        VGG,
        "architecture",
        {},
        "times as strong as the median one after",
    ),
    (VGG, "convolution", {"convolution_view": "Feature maps", "maps_layer": "13"}, "The shares sum to"),
    (VGG, "convolution", {"convolution_view": "Receptive field"}, ": 212"),
    (VGG, "convolution", {"convolution_view": "Norms"}, "over the channels of one token"),
]


@pytest.fixture(scope="module")
def small():
    """Both are opened at 64 pixels, where they are quick; their last pool then enlarges its map."""
    named = by_name.named

    def sized(source, size_hw):
        return named(source, (64, 64) if source in (ALEXNET, VGG) and size_hw is None else size_hw)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_name, "named", sized)
        yield
    for source in (ALEXNET, VGG):
        models.forget(source)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """One sample for a mean, and nothing beside the page."""

    def start(name, work):
        lock = DEVICE
        with lock:
            work(background.Task(lock))

    monkeypatch.setattr(background, "start", start)


def said(test):
    """In its texts and in its canvases."""
    return " ".join([texts(test), *(each.proto.json for each in test.main.get("bidi_component"))])


@pytest.mark.product
@pytest.mark.parametrize("page, query, words", OWN_SIZE, ids=str)
def test_resnet_is_at_home(page, query, words):
    test = opened(page, models=RESNET, image="china", **query)
    fine(test)
    assert words in said(test)
    if page == "relevance":
        assert test.selectbox(key="cam_layer").value == query["cam_layer"]


@pytest.mark.product
@pytest.mark.parametrize("model, page, query, words", SMALL, ids=str)
@pytest.mark.usefixtures("small")
def test_alexnet_and_vgg_too(model, page, query, words):
    test = opened(page, models=model, image="china", **query)
    test.run()
    fine(test)
    assert words in said(test)
