"""A report as slides of 16:9, for any program that shows PPTX: a picture each, its comment, its origin in the notes."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PIL import Image

from vizkit.figure.saved.plate import clean
from vizkit.report.document import Report
from vizkit.report.making import Made, made
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from pptx.slide import Slide


WIDTH_IN, HEIGHT_IN, MARGIN_IN = 13.333, 7.5, 0.4
COMMENT_IN = 3.6  # the width of a column at the right, where there is a comment
COMMENT_PT = 18
TITLE, BLANK = 5, 6  # layouts of the library's own template: a title alone, and nothing


def pptx(report: Report, inputs: Sequence[Subject]) -> bytes:
    """The presentation: the title first, where there is one. Raises as `made`."""
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    deck.slide_width, deck.slide_height = Inches(WIDTH_IN), Inches(HEIGHT_IN)
    if report.title:
        heading = deck.slides.add_slide(deck.slide_layouts[TITLE]).shapes.title
        assert heading is not None  # of this layout
        heading.text = clean(report.title)
        heading.left, heading.top = Inches(MARGIN_IN), Inches(HEIGHT_IN / 2 - 1)
        heading.width, heading.height = Inches(WIDTH_IN - 2 * MARGIN_IN), Inches(2)
    for entry, given in zip(report.entries, inputs, strict=True):
        _add(
            deck.slides.add_slide(deck.slide_layouts[BLANK]), made(entry.item, given, lying=True), clean(entry.comment)
        )
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def _add(slide: "Slide", picture: Made, comment: str) -> None:
    """The picture as large as it fits, in the middle of its room."""
    from pptx.util import Inches, Pt

    png = picture.png
    with Image.open(io.BytesIO(png)) as opened:
        width_px, height_px = opened.size
    room_in = WIDTH_IN - 2 * MARGIN_IN - (COMMENT_IN + MARGIN_IN if comment else 0)
    inches = min(room_in / width_px, (HEIGHT_IN - 2 * MARGIN_IN) / height_px)  # of a pixel
    left_in = MARGIN_IN + (room_in - inches * width_px) / 2
    top, height = Inches((HEIGHT_IN - inches * height_px) / 2), Inches(inches * height_px)
    shown = slide.shapes.add_picture(io.BytesIO(png), Inches(left_in), top, Inches(inches * width_px), height)
    shown.name = clean(picture.plate.title)
    if comment:
        left = Inches(WIDTH_IN - MARGIN_IN - COMMENT_IN)
        frame = slide.shapes.add_textbox(left, top, Inches(COMMENT_IN), height).text_frame
        frame.word_wrap, frame.text = True, comment
        frame.paragraphs[0].font.size = Pt(COMMENT_PT)
    notes = slide.notes_slide.notes_text_frame
    if notes is not None:
        notes.text = picture.plate.facts["Description"]
