"""What models answer before and after changes: the one in focus, and the others that are shown."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from vizkit.figure.class_bars import Axis, ClassBars, reach
from vizkit.figure.palette import class_colours
from vizkit.interventions import Changes
from vizkit.interventions.switched import followed, in_words
from vizkit.models.recording.edits import ALL
from vizkit.views.blocks import Bars, Blocks, Columns, Heading, Line, Part
from vizkit.views.compare.images import truth_of
from vizkit.views.intervene.changed import Place, place, trace_of
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.traces import Trace

CLASSES = 3


@dataclass(frozen=True)
class Row:
    """An answer before and after; `mark`: of the first one after, where it is known whether it is right."""

    name: str
    before: float
    after: float
    mark: str = ""

    def sent(self, head: Any) -> tuple:
        shares = (max(0.0, self.before), max(0.0, self.after)) if head.bounded else (0.0, 0.0)
        return self.name + self.mark, head.text(self.before), head.text(self.after), *shares


def strongest(of: Subject, before: "Trace", after: "Trace") -> list[int]:
    """The likeliest classes before, and those after."""
    top = of.loaded.head.top
    return list(dict.fromkeys(at for trace in (before, after) for at, _ in top(trace.logits, CLASSES)))


def answers(of: Subject, before: "Trace", after: "Trace") -> list[Row]:
    first, then = (of.loaded.head.values(each.logits) for each in (before, after))
    truth, listed = truth_of(of.image), strongest(of, before, after)
    marks = {int(then.argmax()): " ✓" if of.loaded.label(int(then.argmax())) == truth else " ✗"}
    marks = marks if truth in of.loaded.labels else {}
    return [Row(of.loaded.label(at), float(first[at]), float(then[at]), marks.get(at, "")) for at in listed]


def bars(of: Subject, before: "Trace", after: "Trace") -> Bars:
    """Bars after, ticks before."""
    head, rows = of.loaded.head, answers(of, before, after)
    first, then = [row.before for row in rows], [row.after for row in rows]
    top = 1.0 if head.bounded else reach(first, then)
    colours = class_colours(strongest(of, before, after), len(before.logits))
    names = [row.name + row.mark for row in rows]
    title = f"{head.quantity} after, tick: before"
    axis = Axis(top, signed=not head.bounded)
    return Bars(ClassBars(names, then, colours, first, axis, title), "Answers after the changes, ticks before")


# ---- other models ----------------------------------------------------------------------------------------------------
def beside(of: Subject, at: Place, changes: Changes) -> Blocks:
    """The same changes in the other models that are shown, where one of them can have any."""
    shared = {each.among_photographs(): of_another(place(each), at, changes) for each in of.beside}
    if not any(shared.values()):
        return
    yield Heading("The same changes in every model: bars after, ticks before")
    yield Columns(
        tuple(
            (Heading(each.name), Part(partial(_answers_of, each, own, at, changes)))
            for each, own in ({of: changes} | shared).items()
        )
    )


def _answers_of(of: Subject, own: Changes, at: Place, changes: Changes) -> Blocks:
    yield bars(of, trace_of(of, Changes()), trace_of(of, own))
    missing = Changes(model=tuple(edit for edit in changes.model if edit not in own.model))
    if missing:
        yield Line(f"Not in this model: {in_words(missing, at.heads, at.special)}.")


def of_another(their: Place, at: Place, changes: Changes) -> Changes:
    """What means the same there: changes of the image, those of all layers at once, and of tokens where these lie
    alike. Layers and heads of two models have nothing in common but their numbers."""
    alike = their.hides and (their.grid, their.special) == (at.grid, at.special)
    texts = [str(edit) for edit in changes.model if edit.layer == ALL and (alike or not edit.tokens)]
    return Changes(changes.pixels, followed(texts, their.heads).model)
