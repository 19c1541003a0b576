"""The blocks of a view as elements of the page, each drawn when it is ready."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import streamlit as st

from vizkit.device import import_alone
from vizkit.hosts.packing import Packing, on_picture
from vizkit.image import RGB, digest_of
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.asking import held, key_of, open_view
from vizkit.ui.canvas import picture_url, script_canvas
from vizkit.ui.plain import plain
from vizkit.ui.session import background, report
from vizkit.ui.session.address import go_next, link
from vizkit.ui.session.background import do
from vizkit.ui.session.chosen import choose_first, cursor
from vizkit.ui.session.subjects import NOTHING, NamedSubject
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets import chart, known, table
from vizkit.ui.widgets.controls import go_on
from vizkit.views import VIEWS, Entry, bundled
from vizkit.views import entry as entry_of
from vizkit.views.address import to_address
from vizkit.views.blocks import (
    Answered,
    Bars,
    Block,
    Canvas,
    Chart,
    Code,
    Columns,
    Download,
    Folded,
    Formula,
    Grid,
    Heading,
    Hint,
    Later,
    Line,
    Link,
    Map,
    Matrix,
    Metrics,
    Numbers,
    Paper,
    Part,
    Picture,
    Process,
    Proof,
    Said,
    Table,
    Tiles,
    ToReport,
)
from vizkit.views.controls import controls, rule_of
from vizkit.views.rules import POINT, Rule, below, one_of, tuple_of
from vizkit.views.subject import Subject
from vizkit.views.train.after_step import FIELD
from vizkit.views.view import View

OPENED_IN = {"Explore": "pages/explore.py", "Relevance": "pages/relevance.py"}
SMALL = Tiles, Grid, Canvas, Chart


@dataclass
class Drawing:
    """One column of a view on the page: what its blocks are of, and how maps are drawn. `key`: before the keys of its
    elements. `without`: what it is of where there is no model. `small`: blocks that may have small maps."""

    entry: Entry
    view: View
    of: Sequence[NamedSubject]
    opacity: str
    key: str
    without: Subject = NOTHING
    count: int = 0
    files: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    small: list[Block] = field(default_factory=list)

    def next_key(self, kind: str) -> str:
        """Of an element: the same at every run in which the blocks before it are the same."""
        self.count += 1
        return f"{self.key}_{kind}{self.count}"

    def state(self, field: str) -> str:
        """Where the session has a field of this view; "image" is the name of the picture itself, and the step after
        which a run is shown is the same in all views."""
        return field if field in ("image", FIELD) else key_of(self.entry, field, controls(self.view)[field])

    def put(self, field: str | tuple[str, ...], value: Any) -> None:
        """Set a field, or several to the parts of a value, as its widget holds it."""
        if isinstance(field, tuple):
            for each, part in zip(field, value, strict=True):
                self.put(each, part)
        elif field:
            control = controls(self.view).get(field)
            st.session_state[self.state(field)] = held(control, value) if control else value

    def pick(self, field: str | tuple[str, ...], values: Sequence[Any]) -> Callable[[int], None] | None:
        """What a click on number i does."""
        return (lambda index: self.put(field, values[index])) if field else None


def show(to: Drawing, blocks: Iterable[Block]) -> None:
    """Each where the page stands, drawn when it is ready."""
    for block in blocks:
        if isinstance(block, SMALL):
            to.small.append(block)
        DRAWN[type(block)](to, block)


# ---- one block each --------------------------------------------------------------------------------------------------
@dataclass
class Pictures(Packing):
    """Pictures as the page keeps them. Those of its subjects have a digest already: 12 megapixels take 80 ms."""

    of: Sequence[NamedSubject] = ()

    def url(self, rgb: RGB, side_px: int = 0) -> str:
        known = (each.picture.digest for each in self.of if each.picture.rgb is rgb)
        return picture_url(next(known, "") or digest_of(rgb), rgb)


def _packed(to: Drawing, block: Map | Tiles | Grid) -> None:
    """The canvas that a saved page mounts too; here a click sets a field."""
    for part in Pictures(to.opacity, of=to.of).packed(block, to.of):
        if part["kind"] == "heading":
            st.markdown(f"**{plain(part['text'])}**")
            continue
        tells: dict[str, Any]
        if isinstance(block, Map):
            tells = {"point": (POINT, partial(asked_there, to, block.picks))}
        else:
            tells = {"pick": (below(part["data"]["pick"]), to.pick(block.picks, part["values"]))}
        script_canvas(part["script"])(to.next_key(type(block).__name__.lower()), part["data"], **tells)


def _chart(to: Drawing, block: Chart) -> None:
    if block.title:
        st.markdown(f"**{plain(block.title)}**")
    point: tuple[Rule[Any], Callable[[Any], None]] | None = None
    if block.picks:
        asked, of = controls(to.view), to.of or [to.without]
        if isinstance(block.picks, tuple):
            rule = tuple_of(*(rule_of(asked[field], of) for field in block.picks))
        else:
            rule = rule_of(asked[block.picks], of)
        point = rule, partial(to.put, block.picks)
    chart.chart(block.figure, to.next_key("chart"), block.alt, point)
    if block.hint:
        st.caption(plain(block.hint))


def _table(to: Drawing, block: Table) -> None:
    table.show(to.next_key("table"), block)
    if block.caption:
        st.caption(plain(block.caption))


def _picture(to: Drawing, block: Picture) -> None:
    width = "stretch" if block.share == 1 else max(1, round(block.share * 1000))
    st.image(block.rgb, alt=block.alt, width=width, output_format="PNG")
    if block.caption:
        st.caption(plain(block.caption))


def _metrics(to: Drawing, block: Metrics) -> None:
    with st.container(horizontal=True):
        for what, number, more in block.items:
            st.metric(plain(what), plain(number), more or None, "off", border=True, delta_arrow="off")


def _bars(to: Drawing, block: Bars) -> None:
    chart.bars(block.bars.html(), to.next_key("bars"), block.alt)


def _columns(to: Drawing, block: Columns) -> None:
    if not block.parts:  # of what is computed later none is there yet
        return
    for column, part in zip(st.columns(block.widths or len(block.parts)), block.parts, strict=True):
        with column:
            show(to, part)


def _part(to: Drawing, block: Part) -> None:
    try:
        show(to, block.make())
    except NotApplicable as sentence:
        st.caption(f":material/block: {plain(sentence)}")


def _later(to: Drawing, block: Later) -> None:
    of: Any = block.of
    todo = [job for job in block.jobs if of.find(job.key) is None]
    todo = [] if all(job.rough for job in todo) else todo
    task = to.next_key("later")

    begun = f"_begun_{task}"
    if todo and not background.at_work(task):
        asked = tuple(job.key for job in block.jobs)
        if block.button or st.session_state.get(begun) == asked:  # stopped, or not wanted yet
            st.button(
                block.button or "Go on",
                key=f"start_{task}",
                icon=":material/play_arrow:",
                on_click=background.start,
                args=(task, partial(do, of, todo)),
            )
        else:
            st.session_state[begun] = asked
            background.start(task, partial(do, of, todo))
    drawn, found = background.came(task), st.container()  # above its progress, so that nothing in it moves at the end
    try:
        with found:
            show(to, block.show({job.key: result for job in block.jobs if (result := of.find(job.key)) is not None}))
    finally:
        background.show(task, drawn, bar=not block.silent)
    if block.again and not todo and not background.at_work(task):
        told = {"on_click": background.start, "args": (task, partial(do, of, block.jobs))}
        st.button(block.again, icon=":material/refresh:", key=f"again_{task}", **told)


def _canvas(to: Drawing, block: Canvas) -> None:
    data = {**block.data, "label": block.alt}
    tells: dict[str, Any] = {}
    if block.of is not None:
        of = block.of
        data |= on_picture(of, Pictures(to.opacity, of=to.of).url(of.rgb)) | {"point": cursor(), "alone": False}
        tells["point"] = POINT, partial(asked_there, to, block.picks)
    for name, (rule, to_set) in block.tells.items():
        tells[name] = (rule, partial(to.put, to_set))
    if block.picture is not None:
        data["pages"] = list(OPENED_IN)
        rule = tuple_of(below(len(block.data["tiles"])), one_of(OPENED_IN))
        tells["open"] = rule, partial(_open_picture, block.picture, block.model)
    if not tells:  # of a view on a stage: nobody answers
        data["alone"] = True
    script_canvas(block.script)(to.next_key(block.script), data, **tells)


def _open_picture(picture: Callable[[int], tuple[str, RGB]], model: str, told: tuple[int, str]) -> None:
    inputs.take(*picture(told[0]))
    if model:
        choose_first(model)
    go_next(OPENED_IN[told[1]])


def asked_there(to: Drawing, field: str, point: tuple[float, float]) -> None:
    """A click on the picture: the query of this field is the patch there."""
    st.session_state["at"], st.session_state[to.state(field) if field else "query"] = point, "patch"


def _folded(to: Drawing, block: Folded) -> None:
    opened = st.expander(block.title, key=to.next_key("folded"), on_change="rerun")
    if opened.open:
        with opened:
            show(to, block.make())


def _said(to: Drawing, block: Said) -> None:
    st.markdown(f":primary[:material/insights:] {plain(block.text)}" if block.text else "&nbsp;")


def _link(to: Drawing, block: Link) -> None:
    key = to.next_key("link")
    if isinstance(block.view, str):
        go_on(block.words, VIEWS[block.view], key)
    else:
        told = {"icon": ":material/arrow_forward:", "key": key, "on_click": _open, "args": (block,)}
        if st.button(block.words, **told) and (block.image or entry_of(block.view) != to.entry):
            st.rerun()  # a fragment draws itself alone: another view is the page's


def _open(block: Link) -> None:
    open_view(block.view)
    if block.image:
        st.session_state["image"], st.session_state["models"] = block.image, bundled.usual(block.image)
    if block.model:
        choose_first(block.model)
        st.session_state["focus"] = block.model


def _to_report(to: Drawing, block: ToReport) -> None:
    item = replace(report.item_of(to.of[0], block.view, to.opacity), link=link(to_address(block.view)))
    told = {"on_click": report.keep, "args": (item, to.of[0])}
    st.button(block.words, icon=":material/add_notes:", key=to.next_key("report"), **told)


DRAWN: dict[type, Callable[[Drawing, Any], object]] = {
    Heading: lambda to, block: st.markdown(f"**{plain(block.text)}**"),
    Line: lambda to, block: st.caption(plain(block.text)),
    Hint: lambda to, block: st.caption(plain(block.text)),
    Said: _said,
    Answered: lambda to, block: known.say(block.loaded, to.next_key("answered")),
    Formula: lambda to, block: st.latex(block.latex),
    Code: lambda to, block: st.code(block.code, block.language, wrap_lines=True),
    Map: _packed,
    Tiles: _packed,
    Grid: _packed,
    Later: _later,
    Canvas: _canvas,
    Picture: _picture,
    Chart: _chart,
    Bars: _bars,
    Matrix: lambda to, block: chart.bars(block.matrix.html(), to.next_key("matrix"), block.alt),
    Paper: lambda to, block: None,  # of files alone
    Link: _link,
    ToReport: _to_report,
    Table: _table,
    Metrics: _metrics,
    Columns: _columns,
    Part: _part,
    Folded: _folded,
    Process: lambda to, block: import_alone(f"vizkit.ui.widgets.{block.name}").draw(*filter(None, [block.on])),
    Proof: lambda to, block: reading.proof(block.trace, block.words, holds=block.holds),
    Numbers: lambda to, block: None,  # of a Save alone
    Download: lambda to, block: to.files.update({block.label: block.make}),
}
