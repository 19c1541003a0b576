"""`vizkit receptive-field`: a table on the screen, as CSV and as JSON."""

import csv
import json

from vizkit.__main__ import main


def test_lenet_layer_by_layer(capsys):
    assert main(["receptive-field", "bundled:digits_lenet"]) == 0
    title, head, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("bundled:digits_lenet, 32 × 32 pixels")
    assert head.split()[-3:] == ["field", "jump", "start"]
    assert [line.split()[0] for line in lines] == ["c1", "s2", "c3", "s4", "c5"]
    assert [line.split()[-3:] for line in lines][-1] == ["32", "4", "0"]


def test_as_csv_and_json(capsys, tmp_path):
    given = ["receptive-field", "mobilenetv3_small_100", "--image-size", "96", "160"]
    assert main([*given, "-o", str(tmp_path / "fields.csv")]) == 0
    assert "34 layers" in capsys.readouterr().out
    with (tmp_path / "fields.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["kernel"], rows[0]["grid"], rows[-1]["field_px"]) == ("3", "48×80", "639")
    assert main([*given, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [str(row["field_px"]) for row in printed] == [row["field_px"] for row in rows]
    assert main(given) == 0
    assert "a mean over the whole map comes in as well" in capsys.readouterr().out


def test_what_has_no_fields_says_so(capsys, tmp_path):
    assert main(["receptive-field", "bundled:digits_vit"]) == 2
    assert "its layers are not convolutions" in capsys.readouterr().err
    assert main(["receptive-field", "bundled:digits_lenet", "-o", str(tmp_path / "fields.png")]) == 2
    assert ".csv or .json" in capsys.readouterr().err
