"""A view gives the same numbers in a notebook, on the command line and on the page: equal to the last bit."""

import io

import numpy as np
import pytest
import streamlit as st

import vizkit
from tests.ui.conftest import opened
from vizkit.__main__ import main

VIT = "bundled:digits_vit"
SET = {"depth": 4, "fusion": "max", "discard": 0.25, "query": "patch"}


def arrays(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name].tobytes() for name in file.files if name != "meta"}


@pytest.fixture
def saved(monkeypatch):
    """What the NPZ buttons of a page give."""
    files = []

    def download(label, make, file, *_, **__):
        if file.endswith(".npz"):
            files.append(make())

    monkeypatch.setattr(st, "download_button", download)
    return files


@pytest.mark.parametrize("settings", [{}, SET], ids=["usual", "changed"])
def test_rollout_has_the_same_numbers_everywhere(settings, saved, tmp_path):
    at = (0.9, 0.1)
    point = {"at": at} if "query" in settings else {}
    notebook = vizkit.show("rollout", vizkit.load(VIT), "sample:digit 3", **point, **settings)
    flags = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    flags += ["--at", f"{at[0]},{at[1]}"] if point else []
    out = tmp_path / "out.npz"
    main(["show", "rollout", "sample:digit 3", "--model", VIT, "--device", "cpu", "-o", str(out), *flags])
    link = {f"rollout_{name}": str(value) for name, value in settings.items()}
    opened("rollout", models=VIT, image="digit 3", at=f"{at[0]:.4f},{at[1]:.4f}", **link)
    expected = {name: array.tobytes() for name, array in notebook.numbers.items()}
    assert len(expected) == 6
    assert arrays(out.read_bytes()) == expected
    assert arrays(saved[-1]) == expected
