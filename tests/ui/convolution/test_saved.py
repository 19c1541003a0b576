"""Every view's pictures go to the report, and are the same again from its replay.json alone."""

from collections.abc import Callable

import pytest
from vizkit.ui.pages.convolution import fields_of, filters

from tests.ui.conftest import CNN, VIT, fine, opened, saved_again
from vizkit.ui.session import background, cached

VIEWS = {  # view → (key of its Save, how many pictures it has)
    "Slide": ("slide", 1),
    "Feature maps": ("maps", 2),
    "Receptive field": ("field", 2),
    "Filters": ("filters", 1),
    "Shift by a pixel": ("shift", 2),
    "Activations": ("activations", 2),
    "Norms": ("norms", 1),
    "Vanishing gradients": ("vanishing", 2),
}


def at_once(name: str, work: Callable[[background.Task], None]) -> None:
    """What a page does beside itself."""
    lock = cached.device_lock()
    with lock:
        work(background.Task(lock))


@pytest.mark.parametrize("view", VIEWS)
def test_pictures_are_the_same_again(view: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fields_of, "SAMPLES", 1)
    monkeypatch.setattr(filters.background, "start", at_once)
    key, count = VIEWS[view]
    query = {"models": [CNN, VIT], "image": "digit 3", "filters_data": "this picture"}
    test = opened("convolution", convolution_view=view, **query).run()
    fine(test)
    saved_again(test, key, count)
