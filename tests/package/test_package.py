"""What `pip install .` brings: the same ranges as requirements.txt, every file the program reads, and a command."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

import vizkit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

WITHOUT_THE_APP = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("streamlit", "plotly", "accelerate", "torchmetrics", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import numpy as np
from PIL import Image
from vizkit.__main__ import main
Image.fromarray(np.arange(40 * 50 * 3, dtype=np.uint8).reshape(40, 50, 3)).save("picture.png")
assert main(["trace", "picture.png", "--model", "bundled:digits_vit", "-o", "picture.npz"]) == 0
assert main(["explain", "picture.png", "--model", "bundled:digits_vit", "-o", "map.png"]) == 0
"""
THE_APP = """
from streamlit.testing.v1 import AppTest
from vizkit.commands.app import script
test = AppTest.from_file(str(script()), default_timeout=600)
test.query_params["models"] = "bundled:digits_vit"
test.run()
assert not test.exception, test.exception
assert test.title[0].value == "Explore"
print(script())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("wheel"), Path.cwd()
    os.chdir(ROOT)
    try:
        return folder / build_wheel(str(folder))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as package:
        package.extractall(folder)
    return folder


def run(code, installed, folder):
    """In a process that knows the installed package and not this checkout."""
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_ranges_are_those_of_requirements():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    every = [*PROJECT["dependencies"], *(line for extra in ("train", "app", "data") for line in EXTRAS[extra])]
    named = {line for line in every if "vizkit[" not in line}
    assert named == {line for line in lines if not line.startswith("#")}


def test_the_extras_name_what_the_sentences_promise():
    from vizkit.__main__ import EXTRAS as PROMISED

    packages = {"sklearn": "scikit-learn", "pptx": "python-pptx"}
    for module, extra in PROMISED.items():
        names = {re.match(r"[\w-]+", line)[0] for line in EXTRAS[extra]}
        assert packages.get(module, module) in names


@pytest.mark.rest
def test_the_wheel_has_every_file_that_is_not_python(wheel):
    with zipfile.ZipFile(wheel) as package:
        names = set(package.namelist())
    kinds = ("js", "css", "svg", "html", "safetensors", "json", "md", "csv", "png", "jpg", "npz")
    files = [path for kind in kinds for path in (ROOT / "vizkit").rglob(f"*.{kind}")]
    assert len(files) > 50
    assert [path for path in files if str(path.relative_to(ROOT)) not in names] == []
    assert {"vizkit/served/app.py", "vizkit/served/pages/explore.py", "vizkit/served/.streamlit/config.toml"} <= names
    assert wheel.name == f"vizkit-{vizkit.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < 100e6, "a registry usually takes no more"


def test_the_changelog_begins_with_this_version():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert first
    assert first[1] == vizkit.__version__


@pytest.mark.rest
def test_tracing_and_explaining_need_no_streamlit(installed, tmp_path):
    assert "layers" in run(WITHOUT_THE_APP, installed, tmp_path)
    assert (tmp_path / "picture.npz").stat().st_size > 10_000
    assert (tmp_path / "map.png").stat().st_size > 1_000


@pytest.mark.rest
def test_the_app_runs_from_the_package(installed, tmp_path):
    assert run(THE_APP, installed, tmp_path).strip() == str(installed / "vizkit/served/app.py")


@pytest.mark.parametrize("module, extra", [("streamlit", "app"), ("sklearn", "train")])
def test_what_is_not_installed_gets_a_sentence(module, extra, monkeypatch, capsys):
    from vizkit.__main__ import main

    def missing():
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr("vizkit.commands.models.models", missing)
    assert main(["models"]) == 2
    assert f"pip install 'vizkit[{extra}]'" in capsys.readouterr().err


def test_another_missing_module_is_an_error_of_ours(monkeypatch):
    from vizkit.__main__ import main

    def missing():
        raise ModuleNotFoundError("No module named 'vizkit.nothing'", name="vizkit.nothing")

    monkeypatch.setattr("vizkit.commands.models.models", missing)
    with pytest.raises(ModuleNotFoundError):
        main(["models"])
