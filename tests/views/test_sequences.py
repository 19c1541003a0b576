"""Texts, their models, and what is clicked as settings: in a notebook, on the command line, in a link."""

import shutil

import pytest
from numpy.testing import assert_allclose

import vizkit
from vizkit.commands.show import settings_of
from vizkit.figure.saved.plate import Words
from vizkit.figure.sequences.arcs import WRONG
from vizkit.models.sequences.opening import BUNDLED
from vizkit.traces import NotApplicable
from vizkit.views import VIEWS
from vizkit.views.blocks import Canvas, Line, Link, Said
from vizkit.views.controls import ControlError, checked, controls
from vizkit.views.sequences.known import BERT, GPT, TRANSFORMER, trained_texts
from vizkit.views.sequences.masks import Masks
from vizkit.views.sequences.memory import Memory
from vizkit.views.sequences.steps import StepByStep
from vizkit.views.sequences.translate import WRONG_DAY, Translate, picks
from vizkit.views.sequences.typed import truth_of, typed
from vizkit.views.settled import flat
from vizkit.views.subject import Subject, no_model, no_picture


def nothing():
    return Subject(no_model, no_picture())


def test_a_text_is_rewritten_in_a_notebook_with_all_its_weights():
    shown = vizkit.show("translate", text="20 july 1969")
    assert "becomes 1969-07-20" in shown.title
    found = shown.numbers
    assert found["written"].tolist() == [*"1969-07-20", "[END]"]
    assert found["cross"].shape == (2, 4, 11, len(found["source"]))
    assert_allclose(found["cross"].sum(-1), 1, atol=1e-5)
    assert vizkit.show("translate", text="20 july 1969", text_model="LSTM").numbers["cross"].size == 0


def test_a_wrong_weekday_makes_wrong_digits_and_the_page_says_so():
    shown = vizkit.show("translate", text=WRONG_DAY)
    assert "writes “1999-05-31”, which is wrong: right is “1999-05-03”, 2 places differ." in shown.said
    assert shown.said.startswith("To write “3” (word 9), it looks most at “3”, ")
    assert "The text names a Thursday; it was a Monday." in shown.said
    assert shown.said.endswith("With the right weekday the Transformer writes “1999-05-03”, which is right.")
    (canvas,) = (block for block in shown.view.show(nothing()) if isinstance(block, Canvas))
    digits = [(each["word"], each["right"]) for each in canvas.data["outputs"]]
    assert [pair for pair in digits if pair[0] != pair[1]] == [("3", "0"), ("1", "3")]
    assert digits[-1] == ("[END]", "[END]")
    assert canvas.data["at"] == 9, "it opens, as the sentence, on the first that is wrong"
    inks = [mark.colour for mark in canvas.still[0].draw(452.0)[0] if isinstance(mark, Words) and "≠" in mark.text]
    assert inks == [WRONG, WRONG], "on paper too"


@pytest.mark.parametrize("text", ["", WRONG_DAY])
def test_step_by_step_opens_on_the_word_of_translate(text):
    (canvas,) = (block for block in Translate(text=text).show(nothing()) if isinstance(block, Canvas))
    view = StepByStep(text=text)
    assert view.place(*view.walked(nothing())) + 1 == canvas.data["at"]


def test_what_bert_still_sees_is_said_and_what_it_looks_at():
    for hidden, answer in (("5", "2026-11-21"), ("5,17", "2026-?1-21")):
        blocks = [*flat(Masks(mask="BERT", hidden=hidden).show(nothing()))]
        said, looks = ([block.text for block in blocks if isinstance(block, kind)][-1] for kind in (Said, Line))
        assert said.endswith(f" Not hidden: “{answer}” behind the arrow.")
        assert looks.startswith("The largest weight: “")


def test_the_task_of_memory_has_an_example():
    line = next(block for block in Memory(task="reverse", by="gap").show(nothing()) if isinstance(block, Line))
    assert line.text == "Read, for example: “c a f e d . . . . . . . . ?”; right is then “d e f a c”."


def test_what_is_right_is_known_of_our_own_tasks_alone():
    assert truth_of(typed(nothing(), TRANSFORMER, "20 july 1969")) == tuple("1969-07-20")
    assert truth_of(typed(nothing(), TRANSFORMER, "30 february 2001")) == (), "no such day"
    for text, said in (("30 february 2001", "a day that does not exist"), ("12/25/1999", "right is not known")):
        assert f"{said}." in vizkit.show("translate", text=text).said
    assert truth_of(typed(nothing(), "bundled:copy_rnn", "fa..?")) == ("f", "a")


def test_the_next_word_is_right_or_wrong():
    for written, verdict in (("", "which is right"), ("6", "which is right"), ("11", "")):
        blocks = Masks(mask="causal", text="20 july 1969", next=written).show(nothing())
        said = [block.text for block in blocks if isinstance(block, Said)][-1]
        assert verdict in said
        assert ("right" in said) is bool(verdict), "after a wrong digit nobody knows"


def test_what_a_model_expects_stands_beside_what_the_text_has():
    for model, said in (
        (GPT, "After “november” the most probable word is “,”, 99.6 %, which is right."),
        (BERT, "At “november” the most probable word is “december”, 63 %; the text has “november”."),
        (TRANSFORMER, "The Transformer writes “2026-11-21”, which is right."),
    ):
        first = next(block for block in StepByStep(text_model=model).show(nothing()) if isinstance(block, Said))
        looks, rest = first.text.split(". ", 1)
        assert rest == said
        view = StepByStep(text_model=model)
        shown = view.steps(*view.walked(nothing()))
        softmax = shown[view.at(shown) - 1].say
        assert looks.partition(": ")[2] in softmax, "the sentence above and that of the step are of the same weight"


def test_the_challenge_hides_the_month_and_nothing_else():
    def hidden(text):
        links = [each.view for each in Translate(text=text).show(nothing()) if isinstance(each, Link)]
        views = [view for view in links if isinstance(view, Masks)]
        canvases = [block for view in views for block in flat(view.show(nothing())) if isinstance(block, Canvas)]
        return [each.data["line"][at] for each in canvases for at in each.data["hidden"]]

    assert hidden("") == ["november"]
    assert hidden("Thursday 3 May 1999") == ["may"], "not the longest word"
    assert hidden("21.11.2026") == [], "in numbers alone a month is no word"


def test_a_word_is_like_others():
    view = StepByStep(layer="encoder 1", step=1)
    assert "most like those of “nov”" in view.steps(*view.walked(nothing()))[0].say


def test_a_folder_is_opened_by_its_path_and_a_run_by_its_name(tmp_path, monkeypatch):
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
    with pytest.raises(ControlError, match="from 1 to 18"):
        checked(StepByStep(step=19), [of])
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
    assert {f"setting_{name}" for name in ("text", "text_model", "heads")} <= options.keys()
    assert options["setting_text_model"].__metadata__[0].name == ("--text-model",)
