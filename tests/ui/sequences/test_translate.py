"""The view Translate: what its canvas is sent and what it does with what it is told."""

import base64
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import vizkit
from tests.ui.conftest import choose, click, fine, opened, sent_to, texts
from vizkit.analysis.sequences.rollout import origins
from vizkit.models.sequences import open_sequence, trace_pair
from vizkit.models.sequences.influence import influence


def weights(part):
    values = np.frombuffer(base64.b64decode(part["weights"]), "<f4")
    return values.reshape(part["heads"], part["queries"], part["keys"])


def content_of(test):
    (content,) = sent_to(test, "vizkit_translate")
    return content


def test_the_canvas_is_sent_what_the_model_recorded():
    test = opened("sequences")
    fine(test)
    content = content_of(test)
    assert [output["word"] for output in content["outputs"]] == [*"2026-11-21", "[END]"]
    assert " ".join(content["source"]) == "the 2 1 st of november , 2 0 2 6"
    trace = trace_pair(open_sequence("bundled:dates_transformer"), tuple(content["source"]), tuple("2026-11-21"))
    kinds = ["encoder", "encoder", "decoder", "cross", "decoder", "cross"]
    *layers, encoder, cross = content["parts"]
    assert [part["kind"] for part in layers] == kinds
    assert_allclose(weights(encoder)[0], origins(trace).encoder.numpy(), atol=1e-6)
    assert_allclose(weights(cross)[0], origins(trace).source.numpy(), atol=1e-6)
    for part, layer in zip(layers, trace.attention, strict=True):
        assert_allclose(weights(part), layer.weights[0].numpy(), atol=1e-6)
    assert "2026-11-21" in texts(test)


def test_a_forced_word_is_written_and_goes_into_the_link():
    test = opened("sequences")
    content = content_of(test)
    other = content["outputs"][2]["top"][1][0]
    test.session_state["force"] = f"2 0 {other} ⇐ {' '.join(content['source'])}"
    test.run()
    fine(test)
    forced = content_of(test)["outputs"]
    assert [output["word"] for output in forced[:3]] == ["2", "0", other]
    assert [output["forced"] for output in forced[:3]] == [False, False, True]
    assert test.query_params["force"].startswith(f"2 0 {other} ")
    choose(test, sequence_text="20 july 1969")
    assert not any(output["forced"] for output in content_of(test)["outputs"]), "it was for another text"


def test_a_link_with_words_that_the_model_has_not_is_forgotten():
    test = opened("sequences", force="2 zebra")
    fine(test)
    assert [output["word"] for output in content_of(test)["outputs"]] == [*"2026-11-21", "[END]"]


@pytest.mark.parametrize("text", ["le 21 novembre", "<b>21</b>", "1 " * 60])
def test_a_text_that_is_no_date_gets_a_sentence(text):
    test = opened("sequences")
    choose(test, sequence_text=text)
    fine(test)
    assert not sent_to(test, "vizkit_translate")
    assert any(words in texts(test) for words in ("Type a date", "never read", "tokens; the models"))


def test_an_example_is_taken_with_a_click():
    test = opened("sequences")
    click(test, "_sequence_text_2")
    fine(test)
    assert "".join(content_of(test)["source"]) == "21.11.2026"


@pytest.mark.parametrize("model", ["LSTM", "RNN"])
def test_a_model_without_attention_shows_shares_of_the_gradient(model):
    test = opened("sequences")
    choose(test, sequence_model=model)
    fine(test)
    (part,) = content_of(test)["parts"]
    assert (part["kind"], part["title"]) == ("cross", "Gradient")
    assert_allclose(weights(part).sum(-1), 1, atol=1e-5)
    assert "has no attention" in texts(test)


def test_a_run_that_was_trained_here_stands_in_the_list(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path))
    source = Path(vizkit.__file__).parent / "bundled/sequences/dates_rnn"
    for name, folder in (("mine", source), ("letters", source.parent / "copy_rnn")):
        shutil.copytree(folder, tmp_path / name)
        (tmp_path / name / "status.json").write_text('{"state": "done"}')
    test = opened("sequences")
    assert sorted(test.selectbox(key="sequence_model").options[4:]) == ["letters", "mine"]
    choose(test, sequence_model="mine")
    fine(test)
    assert content_of(test)["parts"][0]["title"] == "Gradient"
    choose(test, sequence_model="letters")
    fine(test)
    assert "".join(content_of(test)["source"]) == "bfac........?"


def test_the_gates_have_a_column_for_every_word():
    test = opened("sequences", sequences_view="Memory", memory="Gates")
    fine(test)
    (chart,) = test.get("plotly_chart")
    spec = json.loads(chart.proto.spec)
    assert spec["layout"]["xaxis"]["type"] == "category"
    words = spec["data"][0]["x"]
    assert [word.strip("\u200b") for word in words[:5]] == ["c", "a", "f", "e", "."]
    assert len(set(words)) == len(words), "equal words have columns of their own"


def test_choosing_a_head_runs_no_model(monkeypatch):
    test = opened("sequences")
    before = content_of(test)
    monkeypatch.setattr("vizkit.models.sequences.trace_pair", lambda *_: pytest.fail("the model ran again"))
    monkeypatch.setattr("vizkit.models.sequences.continue_with", lambda *_: pytest.fail("the model wrote again"))
    test.session_state["heads"] = "cross.0.1"
    test.run()
    fine(test)
    assert content_of(test)["parts"] == before["parts"]
    assert test.query_params["heads"] == "cross.0.1"


def test_the_gradient_of_its_largest_is_one_at_most():
    model = open_sequence("bundled:copy_rnn")
    relative = influence(model, ("c", "a", ".", "?"), ("c", "a")).relative
    assert float(relative.max()) == 1
    assert relative.argmax() == influence(model, ("c", "a", ".", "?"), ("c", "a")).whole.argmax()
