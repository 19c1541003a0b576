"""A report as files: one page that stands alone, and a folder with pictures, numbers and what makes them again."""

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from vizkit import __version__
from vizkit.from_json import ReportError, read
from vizkit.hosts.page import fragment
from vizkit.hosts.stage import FRAMES_BYTES
from vizkit.report.item import Item, from_json, stem_of, to_json
from vizkit.report.making import captions, headed, made, own_models, ready
from vizkit.standalone.page import around
from vizkit.views.subject import Subject

FORMAT = 1
MOST_ITEMS, MOST_BYTES = 200, 2**22
HTML_BYTES = 24_000_000  # of all views together
ENLARGE = (Path(__file__).parent / "enlarge.js").read_text(encoding="utf-8")


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
        raise ReportError(f"A report has 1 to {MOST_ITEMS} figures; this one has {len(record['items'])}.")
    entries = []
    for item in record["items"]:
        rest = dict(item) if isinstance(item, dict) else {}
        comment = read(str, rest.pop("comment", ""), "comment")
        entries.append(Entry(from_json(rest), comment))
    return Report(read(str, record.get("title", ""), "title"), tuple(entries))


# ---- one page --------------------------------------------------------------------------------------------------------
def html(report: Report, inputs: Sequence[Subject]) -> str:
    """A page with all pictures and comments, which can be explored in it; steps of a played field as far as 24 MB
    go."""
    most_bytes = min(FRAMES_BYTES, HTML_BYTES // max(1, len(report.entries)))
    numbers = range(1, len(report.entries) + 1) if len(report.entries) > 1 else (0,)
    articles = [
        article(entry, given, number, most_bytes)
        for number, entry, given in zip(numbers, report.entries, inputs, strict=True)
    ]
    heading = f"<h1>{escape(report.title)}</h1>" if report.title else ""
    printed = "<button class='print' onclick='print()'>Print, or save as PDF</button>"
    return paged(f"{printed}{heading}{''.join(articles)}<footer>Made by vizkit {__version__}.</footer>", report.title)


def article(entry: Entry, inputs: Subject, number: int = 0, most_bytes: int = FRAMES_BYTES) -> str:
    """HTML of one picture below its comment: the view itself, which answers, without what few ask for, or a figure of
    chosen maps as a drawing.
    `number`: before its title, 0 for none. Raises as `made`."""
    item, view, of = ready(entry.item, inputs)
    words = captions(item, view, of)
    figure = made(item, inputs) if item.only else None
    title = headed(figure.plate.title if figure else words.title, item)
    shown = figure.svg if figure else fragment(view, of, most_bytes, item.draw, unfolded=False)
    comment = f"<p class='comment'>{escape(entry.comment)}</p>" if entry.comment else ""
    lines, origin = (escape(" · ".join(each)) for each in ((*words.lines, *own_models(view)), words.footer))
    return (
        f"<article><header><h2>{f'{number}. ' if number else ''}{escape(title)}</h2>"
        f"<button class='enlarge'>Enlarge</button></header>{comment}<figure>{shown}</figure>"
        f"<footer>{lines}<details><summary>Version and digests</summary>{origin}</details></footer></article>"
    )


def paged(inner: str, title: str) -> str:
    """A whole page with articles."""
    return around(f"{inner}<script>{ENLARGE}</script>", title or "Report")


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
    yield "report.html", html(report, inputs).encode()
    whole = [Entry(picture.item, entry.comment) for picture, entry in zip(pictures, report.entries, strict=True)]
    yield "replay.json", Report(report.title, tuple(whole)).to_json().encode()


def zipped(report: Report, inputs: Sequence[Subject]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files(report, inputs):
            archive.writestr(f"report/{name}", content)
    return buffer.getvalue()
