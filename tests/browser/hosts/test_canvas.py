"""A canvas with a script of its own in a page without a server: it is mounted with the picture, and turns the step."""

from typing import ClassVar

import pytest
from playwright.sync_api import expect

from tests.hosts.toy import subject
from vizkit.figure.canvas.scripts import SCRIPTS, Script
from vizkit.hosts.page import document
from vizkit.views.blocks import Canvas, Said
from vizkit.views.controls import number
from vizkit.views.rules import whole
from vizkit.views.view import How, View

DRAWS = """
export default function ({ data, parentElement, setStateValue }) {
  const button = parentElement.querySelector('button')
  button.textContent = `${data.words}, ${data.image_size.join(' by ')}, alone: ${data.alone}`
  button.onclick = () => { setStateValue('point', [0.1, 0.1]); setStateValue('turn', 3) }
}
"""


class Own(View):
    """A canvas of its own."""

    step: int = number("Step", 1, 3, 1, plays=True)
    how: ClassVar = How("", "", "", "")

    def title(self, of):
        return "Own"

    def show(self, of):
        yield Said(f"At {self.step}.")
        yield Canvas("toy", {"words": f"step {self.step}"}, "A toy", {"turn": (whole(1, 3), "step")}, of=of)


@pytest.fixture
def script(monkeypatch, tmp_path):
    for name, text in (("toy.js", DRAWS), ("toy.css", "button { color: red }")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setitem(SCRIPTS, "toy", Script("<button></button>", tmp_path / "toy.css", (tmp_path / "toy.js",)))


@pytest.mark.usefixtures("script")
def test_it_is_mounted_and_heard(page, tmp_path):
    path = tmp_path / "own.html"
    path.write_text(document(Own(), [subject()]), encoding="utf-8")
    failed = []
    page.on("pageerror", lambda error: failed.append(error))
    page.goto(path.as_uri())
    expect(page.get_by_role("button", name="step 1, 40 by 80, alone: true")).to_be_visible()
    page.get_by_role("button", name="step 1").click()
    expect(page.get_by_text("At 3.", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="step 3")).to_have_css("color", "rgb(255, 0, 0)")
    assert failed == []
