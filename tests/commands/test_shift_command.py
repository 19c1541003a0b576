"""`vizkit shift`: a table and all numbers from one run, or one sentence before any work."""

import json

from vizkit.__main__ import main

FEW = ["shift", "--model", "bundled:digits_mlp", "--images", "8", "--most-px", "2"]


def test_a_table_and_all_numbers(tmp_path):
    table, numbers = tmp_path / "shift.md", tmp_path / "shift.json"
    assert main([*FEW, "-o", str(table), "-o", str(numbers)]) == 0
    (line,) = json.loads(numbers.read_text())["lines"]
    assert line["distance_px"] == [0, 1, 2]
    assert line["images"] == 8
    assert "| Right answers, % | 0 px | 1 px | 2 px |" in table.read_text()
    assert f"| digits_mlp | {100 * line['right'][0]:.1f} ± " in table.read_text()


def test_what_cannot_be_written_or_moved_is_said_in_a_sentence(tmp_path, capsys):
    for more in (["-o", str(tmp_path / "no" / "a.md")], ["-o", str(tmp_path / "a.txt")], ["--most-px", "0"]):
        assert main([*FEW, *more]) == 2
        assert capsys.readouterr().err.strip().count("\n") == 0
    assert not list(tmp_path.iterdir())
