"""Blocks of a model as they are counted, and how counts are written."""

from vizkit.models import Loaded
from vizkit.models.probes.flow import Shape, Step, flow
from vizkit.percent import in_percent
from vizkit.views.subject import Subject


def steps_of(of: Subject, loaded: Loaded | None = None) -> tuple[Step, ...]:
    """At the model's input size for this image; of another model, `loaded`, on the same one."""
    loaded = loaded or of.loaded
    return of.kept(("flow", loaded.name), lambda: flow(loaded))


def total(steps: tuple[Step, ...]) -> tuple[int, int]:
    """(multiply–adds, those in products of attention)."""
    return sum(step.multiply_adds for step in steps), sum(step.attention_multiply_adds for step in steps)


def shapes(several: tuple[Shape, ...]) -> str:
    return " and ".join(" × ".join(f"{n:,}" for n in each) for each in several) or "one number"


def share(part: int, whole: int) -> str:
    return in_percent(part / whole) if whole else "none"


def amount(count: int) -> str:
    for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.3g} {name}" if count < 999.5 * size else f"{count / size:,.0f} {name}"
    return str(count)
