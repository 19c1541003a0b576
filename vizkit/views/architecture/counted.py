"""Blocks of a model as they are counted, and how counts are written."""

from math import prod

from vizkit.models import Loaded
from vizkit.models.probes.flow import Group, Shape, Step, changed_between, flow, tokens_in
from vizkit.percent import in_percent
from vizkit.views.subject import Subject


def steps_of(of: Subject, loaded: Loaded | None = None) -> tuple[Step, ...]:
    """At the model's input size for this picture; of another model, `loaded`, on the same one."""
    loaded = loaded or of.loaded
    return of.kept(("flow", loaded.name), lambda: flow(loaded))


def total(steps: tuple[Step, ...]) -> tuple[int, int]:
    """(multiply–adds, those in products of attention)."""
    return sum(step.multiply_adds for step in steps), sum(step.attention_multiply_adds for step in steps)


def between(before: Group | None, after: Group | None, image: Shape) -> tuple[str, bool]:
    """What goes from one block to the next, and whether something happened to it outside of both."""
    if before is None or after is None:
        if after is not None:
            return f"image {shape(image)}", False
        last = next(iter(before.first.shapes_out[-1:]), ()) if before else ()
        return f"{prod(last):,} logits" if len(last) == 1 else shape(last), False
    left, enters = before.steps[-1], after.first
    if image in enters.shapes_in:
        return f"once more the image {shape(image)}", False
    if changed := changed_between(left, enters):
        return f"{shape(changed[0])} becomes {shape(changed[1])}", True
    return shape(next(iter((left.shapes_out or enters.shapes_in)[-1:]), ())), False


def tokens(step: Step, image: Shape) -> str:
    """How many go in and come out, where the shapes say so."""
    if not step.shapes_out:
        return "one number"
    into = tokens_in(step.shapes_in[-1], image) if step.shapes_in and image not in step.shapes_in else None
    out = tokens_in(step.shapes_out[-1], image)
    if out is None:
        return ""
    return f"{out[0]:,} {out[1]}" if into is None or into == out else f"{into[0]:,} → {out[0]:,} {out[1]}"


def shape(numbers: Shape) -> str:
    return " × ".join(f"{n:,}" for n in numbers)


def share(part: int, whole: int) -> str:
    return in_percent(part / whole) if whole else "none"


def amount(count: int) -> str:
    for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.3g} {name}" if count < 999.5 * size else f"{count / size:,.0f} {name}"
    return str(count)
