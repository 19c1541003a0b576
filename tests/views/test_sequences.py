"""Texts, their models, and what is clicked as settings: in a notebook, on the command line, in a link."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import vizkit
from vizkit.commands.show import settings_of
from vizkit.models.sequences.opening import BUNDLED
from vizkit.traces import NotApplicable
from vizkit.views import VIEWS
from vizkit.views.controls import ControlError, checked, controls
from vizkit.views.sequences.known import TRANSFORMER, trained_texts
from vizkit.views.sequences.masks import Masks
from vizkit.views.sequences.steps import StepByStep
from vizkit.views.sequences.translate import Translate, picks
from vizkit.views.sequences.typed import typed
from vizkit.views.subject import Subject, no_model, no_picture


def nothing() -> Subject:
    return Subject(no_model, no_picture())


def test_a_text_is_rewritten_in_a_notebook_with_all_its_weights():
    shown = vizkit.show("translate", text="20 july 1969")
    assert "becomes 1969-07-20" in shown.title
    found = shown.numbers
    assert found["written"].tolist() == [*"1969-07-20", "[END]"]
    assert found["cross"].shape == (2, 4, 11, len(found["source"]))
    np.testing.assert_allclose(found["cross"].sum(-1), 1, atol=1e-5)
    assert vizkit.show("translate", text="20 july 1969", text_model="LSTM").numbers["cross"].size == 0


def test_what_the_sentence_says_is_where_the_largest_weight_lies():
    shown = vizkit.show("translate", text="20 july 1969")
    cross = shown.numbers["cross"][-1].mean(0)
    place, key = np.unravel_index(cross.argmax(), cross.shape)
    word, source = shown.numbers["written"][place], shown.numbers["source"][key]
    assert f"word {place + 1}, “{word}”, looks most at “{source}”, {cross.max():.0%}".replace("%", " %") in shown.said


def test_a_folder_is_opened_by_its_path_and_a_run_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, own in (("letters", "copy_rnn"), ("LSTM", "dates_lstm")):
        shutil.copytree(BUNDLED / own, tmp_path / "runs" / name)
        (tmp_path / "runs" / name / "status.json").write_text('{"state": "done"}')
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    assert {*trained_texts()} == {"letters", "LSTM (run)"}, "no run hides a model that comes with vizkit"
    for model in ("letters", str(tmp_path / "runs" / "letters")):
        assert "bfac" in vizkit.show("translate", text_model=model).title.replace(" ", "")
    with pytest.raises(ControlError, match="cannot be"):
        vizkit.show("translate", text_model=str(tmp_path / "elsewhere"))


def test_a_name_of_somebody_elses_is_no_path():
    view = Translate(text_model=str(BUNDLED / "dates_lstm"))
    with pytest.raises(ControlError):
        checked(view, [nothing()])
    with pytest.raises(NotApplicable, match="is not here"):
        list(view.show(nothing()))


def test_what_follows_other_settings_is_checked_after_them():
    of = nothing()
    first, last = (StepByStep(layer=layer) for layer in ("encoder 1", "decoder 2"))
    assert [controls(view)["step"].ends([of]) for view in (first, last)] == [(1, 11), (1, 17)]
    checked(StepByStep(layer="decoder 2", step=17), [of])
    with pytest.raises(ControlError, match="from 1 to 11"):
        checked(StepByStep(step=17), [of])
    assert controls(Masks)["mask"].options([of]) == ("causal", "none", "cross", "BERT")


def test_what_was_clicked_holds_for_its_text_alone():
    read = typed(nothing(), TRANSFORMER, "20 july 1969")
    told = read.telling("1 9 7")
    assert read.told(told) == read.told("1 9 7") == "1 9 7"
    assert typed(nothing(), TRANSFORMER, "21 july 1969").told(told) == ""
    assert read.telling("") == ""


def test_a_heads_field_is_read_as_far_as_it_can_be():
    assert picks("cross.0.1,encoder.1.,nothing.0.0,decoder.-1.2,cross") == {"cross": (0, 1), "encoder": (1, None)}


def test_the_command_line_has_the_options_of_a_view():
    options = settings_of(VIEWS["translate"])
    assert {f"setting_{name}" for name in ("text", "text_model", "beams")} <= options.keys()
    assert options["setting_text_model"].__metadata__[0].name == ("--text-model",)
