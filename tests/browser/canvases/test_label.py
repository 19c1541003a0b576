"""Patches that are painted in the browser: its probe is that of the library, and a click changes what is seen."""

from pathlib import Path

import pytest
import torch

import vizkit.figure.canvas
from tests.browser.canvases.recorded import CNN, SWIN, VIT, subject
from tests.browser.canvases.test_last_message import paper  # noqa: F401 - a fixture
from tests.views.contract import everything
from vizkit.analysis.features.probe import RIDGE, compact, probe
from vizkit.views.blocks import Canvas, Numbers
from vizkit.views.features.label import Label

PROBE = Path(vizkit.figure.canvas.__file__).parent / "features" / "probe.js"
MOUNT = """data => {
  document.body.querySelectorAll('div').forEach(host => host.remove())
  Object.assign(window, { root: shell(scripts.vizkit_alike), told: [] })
  scripts.vizkit_alike.draw({ data, parentElement: root, setStateValue: (_, value) => { told.push(value) } })
  return root.querySelector('section').dataset.things
}"""
KEYS = """keys => keys.forEach(key =>
  root.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', { key })))"""
ANSWER = """([vectors, channels, painted, ridge]) =>
  [...probe(Int16Array.from(vectors), channels, new Map(painted), ridge)]"""
PRESS = """at => {
  root.querySelectorAll('nav button')[at].click()
  return root.querySelector('section').dataset.things
}"""
CLICK = """([x, y]) => {
  const canvas = root.querySelector('canvas'), box = canvas.getBoundingClientRect()
  canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + x, clientY: box.top + y }))
  return root.querySelector('section').dataset.things
}"""


def sent(view, given):
    """(what the canvas is sent, the things of all patches)."""
    blocks = [*everything(view.show(subject(*given, (0.5, 0.5))))]
    (canvas,), (found,) = ([each for each in blocks if isinstance(each, kind)] for kind in (Canvas, Numbers))
    return canvas.data | {"label": canvas.alt}, "".join(map(str, found.arrays()["things"]))


@pytest.mark.parametrize("count", [1, 2, 10, 60])
def test_the_browser_answers_as_the_library(chromium, count):
    draw = torch.Generator().manual_seed(count)
    vectors = compact(torch.randn(400, 90, generator=draw) + torch.randn(90, generator=draw))
    painted = {int(patch): 1 + int(patch) % 4 for patch in torch.randperm(400, generator=draw)[:count]}
    page = chromium.new_page()
    page.set_content(f"<script>{PROBE.read_text(encoding='utf-8')}</script>")
    given = [vectors.flatten().tolist(), vectors.shape[1], [*painted.items()], RIDGE]
    found = page.evaluate(ANSWER, given)
    page.close()
    assert found == probe(vectors, painted)[1].tolist()
    assert found != probe(vectors, {patch: 1 + thing % 4 for patch, thing in painted.items()})[1].tolist()


@pytest.mark.parametrize("given", [VIT, SWIN, CNN])
def test_a_click_labels_as_the_server_does_and_once_more_takes_it_back(paper, given):  # noqa: F811
    data, things = sent(Label(), given)
    assert paper.evaluate(MOUNT, data) == things
    paper.evaluate(PRESS, 2)
    once = paper.evaluate(CLICK, [30, 100])
    (told,) = paper.evaluate("told")
    assert told.startswith(data["clicks"])
    assert once == sent(Label(clicks=told), given)[1] != things
    assert paper.evaluate(CLICK, [30, 100]) == things
    assert paper.evaluate("told[1]") == data["clicks"]
    assert paper.evaluate(PRESS, 5) == ""
    assert paper.evaluate("told[2]") == "none"


def test_undo_takes_the_last_click_and_keys_paint(paper):  # noqa: F811
    data, things = sent(Label(), VIT)
    paper.evaluate(MOUNT, data)
    paper.evaluate(KEYS, ["4", "ArrowDown", "ArrowRight", "Enter"])
    first, rows, columns = paper.evaluate("told[0]").split()[-1], *data["grids"][0]
    assert first == f"4:1:{int(1500 / columns + 0.5)},{int(1500 / rows + 0.5)}"
    assert paper.evaluate(PRESS, 4) == things
