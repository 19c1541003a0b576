"""`vizkit translate`: the answer, what each word looks at, a trace to keep; or one sentence."""

import pytest

from tests.models.sequences.test_from_library import saved
from vizkit.__main__ import main
from vizkit.saving import open_npz


def test_a_date_is_rewritten_and_its_trace_kept(tmp_path, capsys):
    kept = tmp_path / "trace.npz"
    assert main(["translate", "the 21st of November, 2026", "-o", str(kept)]) == 0
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == "2026-11-21"
    assert len(rows) == 11
    assert "'november'" in rows[6]
    trace, _ = open_npz(kept)
    assert [tuple(layer.weights.shape[-2:]) for layer in trace.attention] == [(11, 11)] * 6
    assert {layer.query.name for layer in trace.attention} == {"source", "target"}


def test_several_texts_are_kept(capsys):
    assert main(["translate", "21.11.2026", "--beams", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("2026-11-21  log probability -")


@pytest.mark.parametrize(
    "more",
    [
        ["bonjour"],
        [""],
        ["21.11.2026", "--model", "bundled:nothing"],
        ["21.11.2026", "--beams", "0"],
        ["21.11.2026", "--model", "no/folder"],
        ["21.11.2026", "-o", "trace.txt"],
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(more, capsys):
    assert main(["translate", *more]) == 2
    assert capsys.readouterr().err.strip().count("\n") == 0


def test_a_folder_of_transformers_reads_any_text(tmp_path, capsys):
    saved(tmp_path, "T5ForConditionalGeneration")
    assert main(["translate", "the cats sat", "--model", str(tmp_path)]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert all("looks at word" in row for row in rows)
    assert main(["translate", "dogs", "--model", str(tmp_path)]) == 2
    assert "knows no “dogs”" in capsys.readouterr().err
