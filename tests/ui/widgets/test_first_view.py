"""The recording that Explore shows while the models are being loaded."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from tests.ui.conftest import SWIN, opened, texts
from vizkit import models
from vizkit.datasets import photographs, samples
from vizkit.figure.canvas.rows import text64
from vizkit.ui.pages.explore import first
from vizkit.ui.sidebar.inputs import sample
from vizkit.views import bundled
from vizkit.views.subject import Subject

SAID, DIFFERS, WAITING = "shown at first agrees", "was not what the model computes", "while the models are being loaded"


def live():
    of = {}
    name = samples.names()[0]
    for source in bundled.usual(name):
        title, point = bundled.title(source), photographs.POINTS[name]
        loaded = replace(models.load(source), name=title)
        of[source] = Subject(lambda loaded=loaded: loaded, sample(name).rgb, image=name, model=title, point=point)
    return first.record(of)


def canvases(parts):
    """What each canvas was given, those beside one another too."""
    if isinstance(parts, list):
        return [found for part in parts for found in canvases(part)]
    if not isinstance(parts, dict):
        return []
    return [parts["data"]] if "data" in parts else canvases([*parts.values()])


def changed(parts, place, **facts):
    again = json.loads(json.dumps(parts))
    canvases(again)[place].update(facts)
    return again


def test_the_recording_is_what_the_models_compute():
    kept, now = first.load(), live()
    assert list(kept) == list(now)
    assert not first.differs(kept, now), "python -m tests.ui.widgets.test_first_view makes the recording anew"


def test_a_recording_of_something_else_is_noticed():
    kept = next(iter(first.load().values()))
    rows, heads = canvases(kept)
    assert first.differs(kept, changed(kept, 0, classes=[["a class", 0.5]]))
    assert first.differs(kept, changed(kept, 0, quantity="another"))
    assert first.differs(kept, [{"kind": "line", "text": "layer 5 of 6"}, *kept[1:]])
    weights = np.round(first._weights(rows) / rows["step"])
    weights[7] = weights.max() - weights[7]
    assert first.differs(kept, changed(kept, 0, weights=text64(weights.astype("<u2"))))
    levels = first._levels(heads)
    rounded, other = ((levels + step).clip(0, 255).astype("u1") for step in (np.arange(len(levels)) % 2, 9))
    assert not first.differs(kept, changed(kept, 1, maps=text64(rounded)))
    assert first.differs(kept, changed(kept, 1, maps=text64(other)))
    assert not first.differs(kept, changed(kept, 0, point=(0.1, 0.1), sentence="Another query's."))


def test_it_stands_in_until_the_models_are_there_and_is_compared_with_them(monkeypatch):
    monkeypatch.setattr(first, "applies", lambda: True)
    test = opened(image=samples.names()[0], shows="alike patches")
    assert SAID in texts(test)
    assert WAITING not in texts(test)  # the models' own cards are in its place
    kept = first.load()
    source, parts = next(iter(kept.items()))
    monkeypatch.setattr(first, "load", lambda: kept | {source: [{"kind": "line", "text": "layer 5 of 6"}, *parts[1:]]})
    test = opened(image=samples.names()[0], shows="alike patches")
    assert DIFFERS in texts(test)
    assert SAID not in texts(test)


@pytest.mark.product
@pytest.mark.parametrize("asks", [{"models": SWIN}, {"image": "cat"}, {"layer": "2"}, {"scale": "linear"}])
def test_any_other_view_waits_for_its_model(asks, monkeypatch):
    monkeypatch.setattr(first, "ready", lambda: False)  # torch is still on its way
    test = opened(**asks)
    assert SAID not in texts(test)


if __name__ == "__main__":
    with gzip.open(first.RECORDING, "wt", encoding="utf-8") as file:
        json.dump(live(), file)
