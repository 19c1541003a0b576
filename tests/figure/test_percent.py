"""Shares as they are read: the form, and that Python and the browser write the same."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from vizkit.figure.canvas.scripts import SCRIPTS
from vizkit.percent import in_percent

ROOT = Path(__file__).parents[2]
WRITTEN = {
    0: "0 %",
    1e-7: "< 0.001 %",
    1e-5: "0.001 %",
    0.000123: "0.012 %",
    0.0051: "0.51 %",
    0.05: "5 %",
    0.051: "5.1 %",
    0.125: "13 %",
    0.5: "50 %",
    0.9: "90 %",
    0.973: "97.3 %",
    0.9996: "> 99.9 %",
    1 - 1e-9: "100 %",
    1: "100 %",
    1.2: "120 %",
    -0.051: "−5.1 %",
}
EDGES = [edge + step for edge in (0, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.9, 0.999, 1) for step in (-1e-9, 0.0, 1e-9)]


@pytest.mark.parametrize("share", WRITTEN)
def test_a_share_has_one_form(share):
    assert in_percent(share) == WRITTEN[share]
    assert in_percent(np.float32(0.051)) == "5.1 %"


def test_accuracies_below_one_another_have_as_many_decimals():
    assert [in_percent(share, 1) for share in (0.75, 1, 0.9996, 0.0512)] == ["75.0 %", "100.0 %", "99.96 %", "5.1 %"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_browser_writes_the_same():
    shares = [*map(float, WRITTEN), *EDGES]
    shares += [*np.linspace(-0.2, 1.2, 2803).tolist(), *np.geomspace(1e-7, 1, 500).tolist()]
    code = (ROOT / "vizkit/figure/canvas/short.js").read_text(encoding="utf-8")
    code += f"\nconsole.log(JSON.stringify({json.dumps(shares)}.map(percent)))"
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [in_percent(share) for share in shares]


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_canvas_has_a_form_of_its_own(name):
    """`percent` is that of short.js, or not there."""
    assert SCRIPTS[name].code.count("const percent") <= 1
    for file in SCRIPTS[name].js:
        text = file.read_text(encoding="utf-8")
        assert file.name == "short.js" or "const percent" not in text
        assert "percent(" not in text or "const percent = " in SCRIPTS[name].code


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_files_of_a_canvas_make_one_script():
    """No name is declared twice in the files that are joined: each is read as a module, and none is run."""
    read = "for (const [name, code] of JSON.parse(require('fs').readFileSync(0))) new (require('vm').SourceTextModule)"
    command = ["node", "--experimental-vm-modules", "--no-warnings", "-e", f"{read}(code, {{identifier: name}})"]
    codes = json.dumps([(name, script.code) for name, script in SCRIPTS.items()])
    done = subprocess.run(command, input=codes, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
