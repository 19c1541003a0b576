"""The recording that Explore shows while the models are being loaded."""

import dataclasses
import gzip
import json

import numpy as np
import pytest

from tests.ui.conftest import SWIN, opened, texts
from vizkit import models
from vizkit.figure.canvas.rows import text64
from vizkit.ui.pages.explore import first
from vizkit.ui.session import model_names
from vizkit.ui.session.shown import CENTRE, Shown
from vizkit.ui.sidebar.inputs import INSECTS, sample

SAID, DIFFERS, WAITING = "shown at first agrees", "was not what the model computes", "while the models are being loaded"


def live() -> list[first.Recorded]:
    picture, recorded = sample(INSECTS[0]), []
    for source in model_names.bundled()[:2]:
        loaded = models.load(source)
        trace = models.trace(loaded, picture.rgb)
        recorded.append(first.record(Shown(source, loaded, trace, (0, 0, 224, 224), CENTRE, lambda trace=trace: trace)))
    return recorded


def test_the_recording_is_what_the_models_compute():
    for kept, now in zip(first.load(), live(), strict=True):
        assert kept.source == now.source
        assert not kept.differs(now), "python -m tests.ui.widgets.test_first_view makes the recording anew"


def test_a_recording_of_something_else_is_noticed():
    kept = first.load()[0]
    (name, share), *others = kept.classes
    assert kept.differs(dataclasses.replace(kept, classes=[(name, share - 0.01), *others]))
    assert kept.differs(dataclasses.replace(kept, classes=[("another insect", share), *others]))
    assert kept.differs(dataclasses.replace(kept, line="layer 5 of 6"))
    weights = np.round(first._weights(kept.rows) / kept.rows["step"])
    weights[7] = weights.max() - weights[7]
    assert kept.differs(dataclasses.replace(kept, rows={**kept.rows, "weights": text64(weights.astype("<u2"))}))


def test_it_stands_in_until_the_models_are_there_and_is_compared_with_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(first, "applies", lambda: True)
    test = opened()
    assert not test.exception
    assert SAID in texts(test)
    assert WAITING not in texts(test)  # the models' own cards are in its place
    kept = first.load()
    monkeypatch.setattr(first, "load", lambda: [dataclasses.replace(kept[0], line="layer 5 of 6"), kept[1]])
    test = opened()
    assert DIFFERS in texts(test)
    assert SAID not in texts(test)


@pytest.mark.parametrize("asks", [{"models": SWIN}, {"image": "china"}, {"layer": "2"}, {"scale": "shared"}])
def test_any_other_view_waits_for_its_model(asks: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(first, "ready", lambda: False)  # torch is still on its way
    test = opened(**asks)
    assert not test.exception
    assert SAID not in texts(test)


if __name__ == "__main__":
    with gzip.open(first.RECORDING, "wt", encoding="utf-8") as file:
        json.dump([dataclasses.asdict(card) for card in live()], file)
