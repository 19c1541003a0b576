"""A report as files: one page that stands alone, and a folder with pictures, numbers and what makes them again."""

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from vizkit import __version__
from vizkit.from_json import ReportError, read
from vizkit.report.item import Item, from_json, stem_of, to_json
from vizkit.report.making import Made, made
from vizkit.standalone.page import LIMIT_MB, Card, around, fragment
from vizkit.traces import TraceError
from vizkit.views.explore import Explore
from vizkit.views.subject import Subject

FORMAT = 1
MOST_ITEMS, MOST_BYTES = 200, 2**22
HTML_MB = 24.0  # of all canvases together


@dataclass(frozen=True)
class Entry:
    """A picture and what was written below it: text, not Markdown."""

    item: Item
    comment: str = ""


@dataclass(frozen=True)
class Report:
    title: str
    entries: tuple[Entry, ...]

    def to_json(self) -> str:
        items = [{**to_json(entry.item), "comment": entry.comment} for entry in self.entries]
        return json.dumps({"format": FORMAT, "vizkit": __version__, "title": self.title, "items": items}, indent=1)


def opened(data: bytes) -> Report:
    """The report in the bytes of a replay.json. Raises ReportError, and nothing else, for any others."""
    if len(data) > MOST_BYTES:
        raise ReportError(f"This file is larger than {MOST_BYTES >> 20} MiB; a replay.json is not.")
    try:
        record: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise ReportError("This is no replay.json: it is not JSON. Save the report again.") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT or not isinstance(record.get("items"), list):
        raise ReportError("This is no replay.json that this version of vizkit reads; save the report again.")
    if not 0 < len(record["items"]) <= MOST_ITEMS:
        raise ReportError(f"A report has 1 to {MOST_ITEMS} pictures; this one has {len(record['items'])}.")
    entries = []
    for item in record["items"]:
        rest = dict(item) if isinstance(item, dict) else {}
        comment = read(str, rest.pop("comment", ""), "comment")
        entries.append(Entry(from_json(rest), comment))
    return Report(read(str, record.get("title", ""), "title"), tuple(entries))


# ---- one page --------------------------------------------------------------------------------------------------------
def html(report: Report, inputs: Sequence[Subject]) -> str:
    """A page with all pictures and comments; attention can be explored in it, as far as 24 MB go."""
    pictures = [made(entry.item, given) for entry, given in zip(report.entries, inputs, strict=True)]
    return _page(report, pictures, inputs)


def _page(report: Report, pictures: Sequence[Made], inputs: Sequence[Subject]) -> str:
    able = sum(isinstance(picture.item.shows, Explore) for picture in pictures)
    limit = min(LIMIT_MB, HTML_MB / max(1, able))
    articles = []
    for number, (entry, picture, given) in enumerate(zip(report.entries, pictures, inputs, strict=True), 1):
        title = f"{number}. {picture.plate.title}" if len(pictures) > 1 else picture.plate.title
        comment = f"<p class='comment'>{escape(entry.comment)}</p>" if entry.comment else ""
        drawn = [f"<figure>{each}</figure>" for each in (picture.svg, _canvas(picture, given, limit)) if each]
        articles.append(
            f"<article><h2>{escape(title)}</h2>{comment}<div class='pictures'>{''.join(drawn)}</div></article>"
        )
    heading = f"<h1>{escape(report.title)}</h1>" if report.title else ""
    footer = f"<footer>Made by vizkit {__version__}.</footer>"
    return around(f"{heading}{''.join(articles)}{footer}", report.title or pictures[0].plate.title)


def _canvas(picture: Made, inputs: Subject, limit_mb: float) -> str:
    """The canvas of a picture that has one, at the same layer, head and query; "" of the others."""
    shows = picture.item.shows
    if not isinstance(shows, Explore):
        return ""
    loaded, (trace, layer), query = inputs.loaded, shows.traced(inputs), shows.asked(inputs)
    head = None if shows.head is None else shows.head - 1
    labels = tuple((loaded.label(label), value) for label, value in loaded.head.top(trace.logits))
    card = Card(trace, inputs.rgb, inputs.box_xyxy, labels, loaded.trained, loaded.head)
    try:
        return fragment(card, limit_mb=limit_mb, start=(layer, head, query))
    except TraceError:  # too large: the drawing stands alone
        return ""


# ---- a folder --------------------------------------------------------------------------------------------------------
def files(report: Report, inputs: Sequence[Subject]) -> Iterator[tuple[str, bytes]]:
    """(name, content) of everything in the folder: of each picture PNG, SVG and NPZ, then the page and replay.json.
    A name is that of a file, never a path."""
    pictures = []
    for number, (entry, given) in enumerate(zip(report.entries, inputs, strict=True), 1):
        picture = made(entry.item, given)
        stem = f"{number:02}_{stem_of(picture.item, given)}"
        yield f"{stem}.png", picture.png
        yield f"{stem}.svg", picture.svg.encode()
        yield f"{stem}.npz", picture.npz
        pictures.append(picture)
    yield "report.html", _page(report, pictures, inputs).encode()
    whole = [Entry(picture.item, entry.comment) for picture, entry in zip(pictures, report.entries, strict=True)]
    yield "replay.json", Report(report.title, tuple(whole)).to_json().encode()


def zipped(report: Report, inputs: Sequence[Subject]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files(report, inputs):
            archive.writestr(f"report/{name}", content)
    return buffer.getvalue()
