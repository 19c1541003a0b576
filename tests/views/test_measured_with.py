"""Results that come with vizkit are of the weights that come with it; of others pages say so and show none."""

import json

import pytest

from tests.evaluation.recorded_weights import weights
from tests.views.contract import subject
from vizkit.traces import NotApplicable
from vizkit.views import measured_with
from vizkit.views.blocks import Line
from vizkit.views.compare import similarity
from vizkit.views.convolution.shift import Shift
from vizkit.views.detection.detectors import Detectors
from vizkit.views.evaluate.results import Results
from vizkit.views.intervene import heads_known
from vizkit.views.measured_with import WEIGHTS, others, refuse_others
from vizkit.views.relevance.deciding import DecidingParts
from vizkit.views.sequences import texts
from vizkit.views.settled import settled

RECORDS = json.loads(WEIGHTS.read_text(encoding="utf-8"))


@pytest.fixture
def made_anew(monkeypatch):
    """All models have other weights."""

    def forget():
        for kept in (others, heads_known.shipped, similarity._files, texts.recorded):
            kept.cache_clear()

    forget()
    monkeypatch.setattr(measured_with, "digest", lambda model: "0" * 64)
    yield
    forget()


def test_every_record_is_of_the_weights_that_are_here():
    """Measure again what a model made anew has changed, then `python -m tests.evaluation.recorded_weights`."""
    assert weights() == RECORDS


def test_of_other_weights_nothing_is_known(made_anew):
    assert all(map(others, RECORDS))
    with pytest.raises(NotApplicable, match="ViT · insects was measured with other weights than those"):
        refuse_others("heads/insects_vit.json")


@pytest.mark.parametrize("view", [Results(evaluated="insects"), Detectors(), DecidingParts()], ids=str)
def test_a_page_says_that_its_results_are_of_other_weights(view, made_anew):
    with pytest.raises(NotApplicable, match="measured with other weights"):
        list(view.show(subject("an insect")))


def test_what_is_measured_here_is_shown_without_what_was_measured_before(made_anew):
    said = [block.text for block in settled(Shift().show([subject("digits_vit")])) if isinstance(block, Line)]
    assert any("measured with other weights" in text for text in said)
    assert heads_known.shipped("bundled:insects_vit") is None
    assert similarity._files() == []
    assert texts.recorded() == {}
