"""A CNN of torchvision, with the names and the shortcuts of its own library, on the pages that suit it."""

import pytest

from tests.ui.conftest import fine, opened, texts
from vizkit.ui.pages.convolution import fields_of

MODEL = "random:torchvision:resnet18"
PAGES = [  # (page, its choices, what it has to say)
    ("explore", {}, "stage 5 of 5"),
    ("relevance", {"cam_layer": "stage 3 · 28 × 28 cells"}, "Grad-CAM"),
    ("architecture", {}, "**1.81 G** multiply–adds · **11.7 M** parameters"),
    (
        "convolution",
        {"convolution_view": "Feature maps", "maps_layer": "20"},
        "The shares sum to the model’s own number",
    ),
    (
        "convolution",
        {"convolution_view": "Receptive field"},
        "in the middle of stage 5 can see 435 × 435 pixels",
    ),
    ("convolution", {"convolution_view": "Norms"}, "over the channels of one token: 64 numbers"),
]


@pytest.mark.parametrize(("page", "query", "words"), PAGES, ids=str)
def test_resnet_is_at_home(page: str, query: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fields_of, "SAMPLES", 1)
    test = opened(page, models=MODEL, image="china", **query)
    fine(test)
    assert words in texts(test)
    if page == "relevance":
        assert test.selectbox(key="cam_layer").value == query["cam_layer"]
