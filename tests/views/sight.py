"""What every view keeps to in what is seen of it, and in what is saved: functions that give what breaks a rule, as in
`contract`. `test_sight.py` applies them to all views and to toys that break them."""

import re
from dataclasses import replace

import numpy as np

from tests.views.contract import given
from vizkit.figure.palette import CLASSES
from vizkit.figure.saved.plate import Words, clean
from vizkit.figure.saved.single import Captions
from vizkit.figure.scales import DOUBLINGS
from vizkit.hosts.column import Column
from vizkit.hosts.paper import sheet
from vizkit.hosts.stage import stage
from vizkit.report.item import Item, Other
from vizkit.report.making import made
from vizkit.views import entry
from vizkit.views.address import from_address, to_address
from vizkit.views.blocks import (
    Answered,
    Canvas,
    Chart,
    Columns,
    Download,
    Folded,
    Formula,
    Grid,
    Heading,
    Hint,
    Line,
    Link,
    Map,
    Numbers,
    Picture,
    Process,
    Proof,
    Said,
    Tiles,
    ToReport,
)
from vizkit.views.controls import ControlError, controls, setting
from vizkit.views.relevance.decision import Decision
from vizkit.views.settled import flat, settled

OWN_SCALE = re.compile(r"\b(own|each to|each from)\b")
NAMED = re.compile(r"\d|“[^”]+”")
NOT_ON_PAPER = (Answered, Download, Folded, Formula, Hint, Link, Numbers, Process, Proof, ToReport)
"""What stands beside the picture on a page and in no file: how far to believe it, how it is computed, more of it."""


def drawn(found):
    return [one for one in found if one.refusal is None]


def first_sight(found):
    """As the view opens, where it has a meaning for the model."""
    return drawn(found[:1])


def shown(one):
    """(all that it is given, what it shows of them)."""
    of = given(one.view, one.view.meant(one.of))
    return of if isinstance(of, list) else [of], settled(one.view.show(of))


def remarks(blocks):
    said = [block.text if isinstance(block, Said) else getattr(block, "said", "") for block in blocks]
    return [text for text in said if text]


# ---- the first sight ------------------------------------------------------------------------------------------------
def silent(found):
    """At first sight something is said, of every model that the view has a meaning for."""
    return [str(one) for one in first_sight(found) if not remarks(one.blocks)]


def says_nothing(found):
    """What is said names what is seen: a number, or a word of the model's in quotes."""
    return [f"{one}: {text}" for one in first_sight(found) for text in remarks(one.blocks) if not NAMED.search(text)]


def without_effect(found):
    """What can be seen at first sight differs from place to place, in one picture at least."""
    shown = [(one, [values for block in one.blocks for values in seen_values(block)]) for one in first_sight(found)]
    return [str(one) for one, arrays in shown if arrays and not any(np.ptp(values) > 0 for values in arrays)]


def seen_values(block):
    """The numbers that become colours or lengths."""
    if isinstance(block, Map) and block.rows.kind != "pick" and block.rows.values.size:
        yield block.rows.row_of(block.rows.query_id(block.query))[0]
    if isinstance(block, Picture):
        yield block.rgb
    if isinstance(block, Tiles | Grid):
        maps = block.maps if isinstance(block, Tiles) else [tile for tile, _ in block.cells]
        yield from (tile.values for tile in maps if tile.values.size)
    if isinstance(block, Chart):
        yield from (values for still in block.still for values in seen_values(still))
        for trace in block.figure.data:
            every = (np.asarray(getattr(trace, name, None)) for name in ("x", "y", "z"))
            yield from (each for each in every if each.dtype.kind in "iuf" and each.size)
        for name in ("x", "y"):  # a point for each trace
            every = [np.asarray(getattr(trace, name, None)).ravel() for trace in block.figure.data]
            if every and all(each.dtype.kind in "iuf" and each.size == 1 for each in every):
                yield np.concatenate(every)


# ---- what is saved --------------------------------------------------------------------------------------------------
def lost_on_paper(found):
    """Every block of the page is in a picture that is saved."""
    lost = []
    for one in first_sight(found):
        subjects, blocks = shown(one)
        for block in flat(blocks):
            column = Column(subjects, (0.2, 0.8))
            column.draw([block])
            empty = isinstance(block, Said | Line | Heading) and not block.text
            if not (column.marks or empty or isinstance(block, NOT_ON_PAPER)):
                lost.append(f"{one}: {block!r}")
    return lost


def not_as_seen(found):
    """The words of the page, the remark among them, in its order: on paper, in a report and in a page of its own."""
    lost = []
    for one in first_sight(found):
        subjects, blocks = shown(one)
        files = {
            "paper": on_paper(sheet([(subjects, blocks)], Captions("", [], [], {}))),
            "report": on_paper(reported(one, subjects)),
            "page": in_a_page(one, subjects),
        }
        lost += [
            f"{one}: {word!r} is not in its place of the {name}"
            for name, text in files.items()
            if (word := misplaced(written(blocks), text))
        ]
    return lost


def reported(one, subjects):
    of, *others = subjects
    of.beside = tuple(others)
    more = tuple(Other("bundled:y", "another model") for _ in others)
    source, model = ("bundled:x", "a model") if of.has_model else ("", "")
    return made(Item(one.view, source, model, of.image, others=more), of).plate


def written(blocks):
    """What people read as words, in the order of the page."""
    for block in flat(blocks):
        if isinstance(block, Heading | Line | Said | Map | Picture | Tiles):
            names = ("text", "said", "caption", "title")
            yield next(text for name in names if isinstance(text := getattr(block, name, None), str))


def misplaced(words, text):
    """The first that does not follow those before it; line breaks and spaces do not count."""
    text, at = bare(text), 0
    for word in words:
        found = text.find(bare(word), at)
        if found < 0:
            return word
        at = found + len(bare(word))
    return ""


def bare(text):
    return "".join(clean(text).split())


def on_paper(plate):
    return " ".join(mark.text for mark in plate.marks if isinstance(mark, Words))


def in_a_page(one, subjects):
    book = stage(one.view, subjects, most_bytes=0)

    def walked(value):
        if isinstance(value, dict):
            for name, part in value.items():
                part = book["pool"][part["$"]] if isinstance(part, dict) and "$" in part else part
                yield from [part] if name in ("text", "sentence", "caption") else walked(part)
        elif isinstance(value, list):
            for part in value:
                yield from walked(part)

    return " ".join(walked(book["frames"]))


# ---- colours and axes -----------------------------------------------------------------------------------------------
def scales_of_their_own(found):
    """What stands beside one another to be compared has one scale, or says that each has its own."""
    broken = []
    for one in drawn(found):
        for block in one.blocks:
            words = " ".join(filter(None, (getattr(block, "title", ""), getattr(block, "alt", ""))))
            if isinstance(block, Tiles):
                rows = [(words, [ends_of_scale(tile.scale) for tile in block.maps if tile.places is not None])]
            elif isinstance(block, Columns):
                rows = list(compared(block))
            else:
                rows = []
            broken += [
                f"{one}: {said or block}: {limits}"
                for said, limits in rows
                if not OWN_SCALE.search(said) and not alike(limits)
            ]
    return broken


def compared(block):
    """(words, limits) of maps, and of the axes of charts, that stand beside one another and are of the same."""
    beside = {}
    said = {}
    for part in block.parts:
        for inner in flat(part):
            for what, limits in ends_of(inner):
                beside.setdefault(what, []).append(limits)
                said[what] = f"{said.get(what, '')} {getattr(inner, 'title', '')} {getattr(inner, 'quantity', '')}"
    yield from ((said[what], limits) for what, limits in beside.items())


def ends_of(block):
    """(what is measured, the values at its ends): the colours of a map, the colours and the axes of a chart."""
    if isinstance(block, Map) and block.rows.kind != "pick" and block.rows.key_grid is not None:
        yield ("map", block.quantity), ends_of_scale(block.rows.scale)
    if isinstance(block, Chart):
        figure = block.figure
        titles = tuple(axis.title.text for axis in (figure.layout.xaxis, figure.layout.yaxis))
        for trace in figure.data:
            if trace.type == "heatmap":
                ends = (
                    (trace.zmin, trace.zmax)
                    if trace.zmin is not None
                    else (float(np.nanmin(trace.z)), float(np.nanmax(trace.z)))
                )
                yield ("colours", *titles), ends
        for name, axis in (("x", figure.layout.xaxis), ("y", figure.layout.yaxis)):
            every = [
                np.asarray(values)
                for trace in figure.data
                if trace.type != "heatmap" and (values := getattr(trace, name, None)) is not None
            ]
            numbers = [values for values in every if values.dtype.kind in "iuf" and values.size]
            if numbers and len(numbers) == len(every):
                ends = axis.range or (min(map(np.min, numbers)), max(map(np.max, numbers)))
                yield (name, *titles), tuple(ends)


def ends_of_scale(scale):
    return float(scale.kind == DOUBLINGS), scale.low, scale.top or 0.0


def alike(limits):
    return all(np.allclose(np.asarray(ends, float), np.asarray(limits[0], float)) for ends in limits)


def bare_axes(found):
    """An axis says what it counts, unless it names things, and colours say what they are."""
    broken = []
    for one in drawn(found):
        for chart in (block for block in one.blocks if isinstance(block, Chart)):
            figure = chart.figure
            for name, axis in (("x", figure.layout.xaxis), ("y", figure.layout.yaxis)):
                named = all(
                    np.asarray(values).dtype.kind in "UO"
                    for trace in figure.data
                    if (values := getattr(trace, name, None)) is not None
                )
                if not axis.title.text and axis.visible is not False and not (named and figure.data):
                    broken.append(f"{one}: {chart.alt}: {name}")
            for trace in figure.data:
                if trace.type == "heatmap" and trace.showscale is not False and not trace.colorbar.title.text:
                    broken.append(f"{one}: {chart.alt}: colours")
    return broken


def colours_that_change(found):
    """In all charts of a view a name has one colour, and in one chart a look has one name."""
    broken = []
    for one in drawn(found):
        of_name = {}
        for chart in (block for block in one.blocks if isinstance(block, Chart)):
            of_look = {}
            for place, trace in enumerate(chart.figure.data):
                if not trace.name or trace.type not in ("scatter", "bar") or trace.showlegend is False:
                    continue
                colour, look = look_of(trace, place)
                of_name.setdefault(trace.name, set()).add(colour)
                of_look.setdefault(look, set()).add(trace.name)
            broken += [
                f"{one}: {chart.alt}: {sorted(names)} look alike" for names in of_look.values() if len(names) > 1
            ]
        broken += [f"{one}: {name} has {len(looks)} colours" for name, looks in of_name.items() if len(looks) > 1]
    return broken


def look_of(trace, place):
    """(its colour, how it looks altogether): where none is given, as the template goes through the classes."""
    line = getattr(trace, "line", None)
    given = (line and line.color), trace.marker.color
    colour = str(next((each for each in given if each is not None), CLASSES[place % len(CLASSES)]))
    pattern = trace.marker.pattern.shape if trace.type == "bar" else trace.marker.symbol
    return colour, (colour, line and line.dash, getattr(trace, "mode", ""), pattern)


def unannounced(found):
    """A view beside whose answers stands what the model knows says in its entry that it shows answers."""
    return [str(one) for one in found[:1] if answered(one) and not entry(one.view).answers]


def answered(one):
    return any(isinstance(block, Answered) for block in one.blocks)


def unexplained(found):
    """Of a class that is explained stands what the model knows beside it."""
    return [str(one) for one in drawn(found) if isinstance(one.view, Decision) and not answered(one)]


# ---- clicks ---------------------------------------------------------------------------------------------------------
def not_a_setting(found):
    """What a click sets is a setting, with a value that it can have: so it is in the link too."""
    broken = []
    for one in drawn(found):
        asked = controls(one.view)
        for block in one.blocks:
            told = [field for _, field in block.tells.values()] if isinstance(block, Canvas) else []
            fields = [name for field in told for name in ([field] if isinstance(field, str) else filter(None, field))]
            picks = getattr(block, "picks", "") or ()
            several = not isinstance(picks, str)
            fields += picks if several else [picks]
            broken += [f"{one}: {field} is no setting" for field in fields if field not in (*asked, "image")]
            for value in getattr(block, "values", ()) if not broken and picks not in ((), "image") else ():
                for name, part in zip(picks, value, strict=True) if several else [(picks, value)]:
                    if not kept(one, name, part):
                        broken.append(f"{one}: {name} cannot be {part!r}")
    return broken


def kept(one, name, value):
    cls = type(one.view)
    of = given(one.view, one.view.meant(one.of))
    try:
        view = replace(one.view, **{name: setting(one.view, name, value, of if isinstance(of, list) else [of])})
    except ControlError:
        return False
    return from_address(cls, to_address(view)) == view


RULES = (
    silent,
    says_nothing,
    without_effect,
    lost_on_paper,
    not_as_seen,
    scales_of_their_own,
    bare_axes,
    colours_that_change,
    unannounced,
    unexplained,
    not_a_setting,
)
