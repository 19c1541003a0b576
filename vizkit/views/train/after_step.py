"""A view over training: of a model that is a run, what it shows after each step whose weights were kept.

A checkpoint is just another model, so any view has it: the blocks before the first that takes long, at every step, with
one scale for what stands in the same place. `views.content` gives those of the step that `View.after_step` names.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

from vizkit.figure.canvas.rows import Rows
from vizkit.figure.canvas.scripts import TURNED
from vizkit.figure.canvas.tile_maps import Tile
from vizkit.figure.scales import LINEAR, Scale
from vizkit.traces import NotApplicable, TraceError
from vizkit.views.blocks import (
    Bars,
    Block,
    Blocks,
    Canvas,
    Columns,
    Grid,
    Heading,
    Job,
    Later,
    Line,
    Map,
    Part,
    Picture,
    Said,
    Tiles,
)
from vizkit.views.controls import Control
from vizkit.views.subject import Subject
from vizkit.views.view import View
from vizkit.work_folder import at_or_before, file_of, parted, steps_in

FIELD = "after_step"
ASKED = Control("number", "After step", "The steps of training whose weights the run has kept.", plays=True)
LEADING = (Heading, Line, Said, Map, Tiles, Grid, Picture, Bars)  # what no page draws better than the script
MAPS = (Map, Tiles, Grid, Canvas)
PACKED = {part.name for part in fields(Scale)} | {"ticks", "said"}


# ---- the models of a run ---------------------------------------------------------------------------------------------
def steps(of: Subject) -> list[int]:
    """Of the run that its model came of: those whose weights were kept; fewer than two are none."""
    run = getattr(of.open(), "run", None)
    found = steps_in(run) if run and (not of.source or of.source.startswith("run:")) else []
    return found if len(found) > 1 else []


def shown_step(of: Subject, asked: int) -> int | None:
    """After which step it is shown: the last that was kept by then, or its own where it stands still beside its run.
    None of a model that is no run."""
    if not (kept := steps(of)):
        return None
    own = of.open().step
    still = own is not None and any(steps(each) and each.open().step is None for each in of.beside)
    return own if still else at_or_before(asked, kept)


def after(of: Subject, step: int | None) -> Subject:
    """The same with the model of its run after this step, which was kept; None leaves it as it is."""
    if step is None or of.open().step == step:
        return of
    name = f"@{step}"
    if name not in of._others:
        there = of._others[name] = copy(of)
        there.open = of.opening_after(step)
        there.model, there.source = (each and f"{parted(each)[0]}{name}" for each in (of.model, of.source))
        there._made, there._pictured, there._traces = {}, {}, {}
        there.__dict__.pop("seen", None)
    return of._others[name]


def then(of: Subject, asked: int) -> Subject:
    return after(of, shown_step(of, asked))


# ---- what they show --------------------------------------------------------------------------------------------------
def leads(block: Block) -> bool:
    """Whether the script of a played view draws it as well as a page does, and all that stands in it."""
    if isinstance(block, Columns):
        return all(leads(inner) for part in block.parts for inner in part)
    return isinstance(block, LEADING) or (isinstance(block, Canvas) and block.script in TURNED)


def cut(blocks: Iterable[Block]) -> tuple[list[Block], Blocks]:
    """(those that lead, the rest not made yet). A heading goes with what is below it."""
    blocks, first, rest = iter(blocks), [], list[Block]()
    for block in blocks:
        if not leads(block):
            rest = [block]
            break
        first.append(block)
    while first and isinstance(first[-1], Heading):
        rest.insert(0, first.pop())
    return first, chain(rest, blocks)


def playing(blocks: Iterable[Block]) -> tuple[list[Block], Blocks]:
    """(those that are played over training, the rest): what leads up to its first maps, and those. Columns are taken
    apart: a chart beside a map stays behind. Of a part that takes time it is what is shown until it is there."""
    blocks, first, rest = iter(blocks), [], list[Block]()
    for block in blocks:
        lead, left = ([], [block]) if isinstance(block, Later) else _apart(block)
        first += lead
        rest += left
        if left and (isinstance(block, Later) or has_map(first)):
            break
    return first, chain(rest, blocks)


def _apart(block: Block) -> tuple[Sequence[Block], Sequence[Block]]:
    """(what leads of it, what does not)."""
    if isinstance(block, Columns):
        sides = zip(*(_all_apart(part) for part in block.parts), strict=True)
        lead, left = ([Columns(tuple(tuple(part) for part in side if part))] if any(side) else [] for side in sides)
        return lead, left
    if isinstance(block, Part | Later):
        try:
            lead, left = _all_apart(block.make() if isinstance(block, Part) else block.show({}))
        except NotApplicable:
            return [], [block]
        return (lead, left) if has_map(lead) else ([], [block])
    return ([block], []) if leads(block) else ([], [block])


def _all_apart(blocks: Iterable[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
    sides = [_apart(block) for block in blocks]
    return [each for lead, _ in sides for each in lead], [each for _, left in sides for each in left]


def has_map(blocks: Iterable[Block]) -> bool:
    return any(
        isinstance(block, MAPS) or (isinstance(block, Columns) and any(map(has_map, block.parts))) for block in blocks
    )


def jobs(view: View, of: Any) -> tuple[Job, ...]:
    """One for each step that was kept: its blocks that lead; `keeper` keeps them."""
    first, plain = keeper(view, of), replace(view, after_step=None)
    run = first.open().run
    assert run is not None

    def job(step: int) -> Job:
        there = [after(each, step if steps(each) else None) for each in _all(view, of)]
        key = _key(plain, _all(view, of), file_of(run, step))
        return Job(key, f"After step {step:,}", _work(plain, there if view.together else there[0]))

    return tuple(map(job, steps(first)))


def strip(view: View, of: Any) -> Mapping[int, list[Block]]:
    """By steps the blocks that lead, all on one scale. Computed here where they have not been."""
    first, todo = keeper(view, of), jobs(view, of)

    def make() -> dict[int, list[Block]]:
        frames = [first.kept(job.key, lambda job=job: job.work(lambda done, total: None)) for job in todo]
        return dict(zip(steps(first), on_one_scale(frames), strict=True))

    return first.kept(("on one scale", *(job.key for job in todo)), make)


def keeper(view: View, of: Any) -> Subject:
    """Of these subjects the one that keeps what was made at all steps, whichever of them is shown: the first step."""
    run = next(each for each in _all(view, of) if steps(each))
    return after(run, steps(run)[0])


def leading(view: View, of: Any, asked: int) -> list[Block]:
    """Those blocks at the step at which the first run of these is shown."""
    run = next(each for each in _all(view, of) if steps(each))
    return strip(view, of)[shown_step(run, asked) or asked]


def over_training(view: View, of: Any, asked: int) -> Blocks:
    """A view as it is after a step: what leads on the scale of all steps, and the rest."""
    plain, there = replace(view, after_step=None), [then(each, asked) for each in _all(view, of)]
    first, rest = playing(plain.content(there if view.together else there[0]))
    runs = any(map(steps, there))
    yield from leading(view, of, asked) if runs and has_map(first) else first
    yield from rest


def _all(view: View, of: Any) -> Sequence[Subject]:
    return of if view.together else [of]


def _key(view: View, every: Sequence[Subject], file: Path) -> Hashable:
    facts = file.stat()
    who = tuple((parted(each.source)[0], each.point, each.marked) for each in every)
    return FIELD, view, who, tuple(each.source for each in every[0].beside), file.stem, facts.st_mtime_ns, facts.st_size


def _work(view: View, of: Any) -> Callable[[Callable[[int, int], None]], list[Block]]:
    def work(progress: Callable[[int, int], None]) -> list[Block]:
        try:
            return playing(view.content(of))[0]
        except (NotApplicable, TraceError) as sentence:  # nothing speaks for a class yet
            return [Said(str(sentence))]

    return work


# ---- one scale -------------------------------------------------------------------------------------------------------
def on_one_scale(frames: Sequence[list[Block]]) -> list[list[Block]]:
    """The same blocks, where linear scales of what stands in the same place go from the lowest end to the highest of
    all frames; shares have one scale anyway, and a map's own largest value stays so."""
    ends: dict[Hashable, Any] = {}

    def widen(path: Hashable, scale: Scale) -> Scale:
        ends[path] = joined(ends[path], scale) if path in ends else scale
        return scale

    for frame in frames:
        _scaled(frame, (), widen)
    return [_scaled(frame, (), lambda path, scale: joined(ends[path], scale)) for frame in frames]


def joined(one: Scale, other: Scale) -> Scale:
    """The other scale, as wide as both."""
    if not one.kind == other.kind == LINEAR or one.top is None or other.top is None:
        return other
    low, top = min(one.low, other.low), max(one.top, other.top)
    all_ends = [end for each in (one, other) for end in each.full or (each.low, each.top or 0.0)]
    full = min(all_ends), max(all_ends)
    return replace(other, low=low, top=top, full=full if full[0] < low or full[1] > top else None)


def _scaled(value: Any, path: tuple[Hashable, ...], change: Callable[[Hashable, Scale], Scale]) -> Any:
    """The same with every scale in it as `change` of its place and itself gives it."""
    if isinstance(value, Scale):
        return change(path, value)
    if isinstance(value, dict) and value.keys() == PACKED:
        own = {part.name: value[part.name] for part in fields(Scale)}
        return change(path, Scale(**own)).packed()
    if isinstance(value, dict):
        return {name: _scaled(part, (*path, name), change) for name, part in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return type(value)(_scaled(part, (*path, at), change) for at, part in enumerate(value))
    if isinstance(value, Block | Tile | Rows):
        own = {part.name: getattr(value, part.name) for part in fields(value)}  # pyright: ignore[reportArgumentType]
        new = {name: _scaled(part, (*path, name), change) for name, part in own.items()}
        return replace(value, **{name: part for name, part in new.items() if part is not own[name]})  # pyright: ignore
    return value
