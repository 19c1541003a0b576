"""The row of a query is the same on paper (Rows) as in the browser (look.js), which computes it by itself."""

from typing import ClassVar

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.hosts.toy import subject
from vizkit.figure.canvas.rows import Rows
from vizkit.hosts.page import document
from vizkit.views.blocks import Map
from vizkit.views.view import How, View

# Two windows of two places each on a 2 × 2 grid; every one reads [cls]. The first reads place 2 twice, the second one
# place that is padding. The class token itself asks nowhere.
ROWS = Rows(
    np.array([[[0.12, 0.25, 0.2, 0.43], [0.5, 0.3, 0.11, 0.09]], [[0.2, 0.15, 0.65, 0.0], [0.13, 0.17, 0.3, 0.4]]]),
    (2, 2),
    (2, 2),
    np.array([[1, 2], [3, 4]]),
    np.array([[0, 1, 2, 2], [0, 4, 3, -1]]),
    ("cls",),
    ("cls",),
)


class OneMap(View):
    """A map alone."""

    query: str | tuple[float, float] = "cls"
    how: ClassVar = How("", "", "", "")

    def title(self, of):
        return "Rows"

    def show(self, of):
        yield Map(ROWS, self.query, "Rows of", "share")


def in_words(query):
    """What look.js says of the same row: the special tokens, and the largest place."""
    asked = ROWS.query_id(query)
    places, special = ROWS.row_of(asked)
    row, column = divmod(asked - 1, 2)
    down, across = np.unravel_index(places.argmax(), places.shape)
    padding = 1 - special["cls"] - places.sum()
    lost = f" · {padding:.0%} to padding".replace("%", " %") if padding > 0.002 else ""
    return (
        f"row {row + 1}, column {column + 1} of 2 × 2 gives {100 * special['cls']:.0f} % to [cls]{lost} · "
        f"among patches most, {100 * places.max():.0f} %, to row {down + 1}, column {across + 1}"
    )


@pytest.mark.parametrize("query", [(0.2, 0.2), (0.7, 0.2), (0.2, 0.7), (0.9999, 0.9999), "cls", "nobody"])
def test_both_compute_the_same_row(page, tmp_path, query):
    path = tmp_path / "one.html"
    of = subject()
    if not isinstance(query, str):  # the canvas takes a point of the picture, Rows one of what the model sees of it
        x0, y0, x1, y1 = of.box_xyxy
        height, width = of.rgb.shape[:2]
        of.point = ((x0 + query[0] * (x1 - x0)) / width, (y0 + query[1] * (y1 - y0)) / height)
    path.write_text(document(OneMap(query), [of]), encoding="utf-8")
    page.goto(path.as_uri())
    expect(page.locator("output")).to_have_text(in_words(query))
