"""A view on a stage is its figure and its sentence alone, on every host."""

from dataclasses import replace

import pytest

import vizkit
from tests.views.contract import subject, subjects_of
from vizkit.__main__ import main
from vizkit.traces import NotApplicable
from vizkit.views import VIEWS, class_of
from vizkit.views.blocks import Bars, Canvas, Chart, Heading, Later, Line, Map, Metrics, Picture, Said, Table
from vizkit.views.staged import FIGURES, staged
from vizkit.views.view import View

SAID, LINE, FOOT = Said("The answer is 3."), Line("layer 1"), Line("A footnote.")
ROWS = Table(({"a": 1.0},), "Numbers")


def any_figure(_):
    return True


def test_only_the_first_figure_under_its_line_and_sentence():
    first, second = Chart(None, "first", picks="layer", hint="Click."), Chart(None, "second")
    blocks = list(staged([Heading("H"), ROWS, LINE, first, FOOT, SAID, Said("More."), second, Metrics(())], any_figure))
    assert blocks[:2] == [SAID, LINE]
    assert isinstance(blocks[2], Chart)
    assert (blocks[2].alt, blocks[2].picks, blocks[2].hint, len(blocks)) == ("first", "", "", 3)
    chosen = list(staged([first, SAID, second], lambda block: block is second))
    assert [getattr(block, "alt", "") for block in chosen] == ["", "second"]
    assert list(staged([SAID, ROWS, FOOT], any_figure)) == [SAID, ROWS]


@pytest.mark.product
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_has_a_stage(name):
    """One sentence at most, one figure, one line at most, and of what changes something nothing."""
    cls, entry = class_of(name), VIEWS[name]
    of = subject(subjects_of(entry)[0])
    assert cls.content is View.content  # a method of a view that is called so would be drawn in its place
    view = cls(staged=True)
    try:
        blocks = list(view.content([of] if cls.together else of))
        whole = list(replace(view, staged=False).content([of] if cls.together else of))
    except NotApplicable:
        pytest.skip("of another model")
    assert whole
    assert len(blocks) <= 3
    assert all(isinstance(block, (*FIGURES, Said, Line, Heading, Later, Table)) for block in blocks), blocks
    assert sum(isinstance(block, (*FIGURES, Later, Table)) for block in blocks) <= 1
    assert not any(getattr(block, "picks", "") or getattr(block, "tells", {}) for block in blocks)


def test_a_stage_is_saved_and_shown_as_it_is_seen(tmp_path):
    shown = vizkit.show("rollout", vizkit.load("bundled:digits_vit"), "sample:digit 3", staged=True, depth=2)
    kinds = [type(block) for block in shown.blocks]
    assert kinds == [Line, Map]
    assert isinstance(shown.blocks[1], Map)
    assert not any(kind in (Picture, Canvas, Bars) for kind in kinds)
    shown.save(tmp_path / "staged.html")
    page = (tmp_path / "staged.html").read_text(encoding="utf-8")
    assert "Layer by layer" not in page  # the small maps, at none of its steps
    out = str(tmp_path / "staged.svg")
    command = ["show", "rollout", "sample:digit 3", "--model", "bundled:digits_vit", "-o", out]
    assert main([*command, "--staged"]) == 0
    assert "Layer by layer" not in (tmp_path / "staged.svg").read_text(encoding="utf-8")
    assert main(command) == 0
    assert "Layer by layer" in (tmp_path / "staged.svg").read_text(encoding="utf-8")
