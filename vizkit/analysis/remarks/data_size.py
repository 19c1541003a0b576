"""What accuracy against the number of training images shows. A difference is stated only where its interval leaves
zero out; where it holds zero, the runs do not tell the two apart, which is not to say that they are equal."""

from collections.abc import Mapping

from vizkit.analysis.comparison.holm import holm
from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks.remark import begun, joined, percent

ALPHA = 0.05


def points(gain: Estimate, what: str = "") -> str:
    """ "12.3 points (8.1 to 16.5)", below zero with a minus sign. `what`: the words before the interval's ends."""
    mean, low, high = (f"{100 * value:z.1f}".replace("-", "−") for value in (gain.mean, gain.low, gain.high))
    return f"{mean} points ({what}{low} to {high})"


def signed(gain: Estimate | None) -> str:
    """ "+12.3 (+8.1 to +16.5)", in points, for tables; of one seed alone a star, a dash for None."""
    if gain is None:
        return "–"
    words = f"{100 * gain.mean:+z.1f} ({100 * gain.low:+z.1f} to {100 * gain.high:+z.1f})".replace("-", "−")
    return words if gain.seeds > 1 else f"{words} *"


def lead(images: int, best: str, second: str, reached: float, gain: Estimate) -> str:
    """The best method with so many images against the next; `reached`: its accuracy, 0 to 1."""
    runs = f"{gain.seeds} runs" if gain.seeds > 1 else "one run"
    if gain.differs:
        only = "" if gain.seeds > 1 else f", in {runs} of each"
        return (
            f"With {images:,} images the {best} leads: {percent(reached)} of the test images right, "
            f"{points(gain)} more than the {second}{only}."
        )
    return (
        f"With {images:,} images the {best} ({percent(reached)}) is not told apart from the {second} by "
        f"{runs} of each: {signed(gain).removesuffix(' *')} points."
    )


def shown(gains: Mapping[int, Estimate]) -> dict[int, Estimate]:
    """Those of several tries whose difference is more than chance: after Holm for all of them p is below 5 %."""
    corrected = holm([gain.p for gain in gains.values()])
    return {images: gain for (images, gain), p in zip(gains.items(), corrected, strict=True) if p < ALPHA}


def helps(kind: str, gains: Mapping[int, Estimate]) -> str:
    """Whether a `kind` of teacher ("hard teacher that saw all images") helps, by the number of images of its student;
    `gains`, of at least one: accuracy above no teacher."""
    sure, seeds = shown(gains), min(gain.seeds for gain in gains.values())
    runs = f"{seeds} runs" if seeds > 1 else "one run"
    test = f"after Holm for {len(gains)} comparisons, {runs} of each" if len(gains) > 1 else f"by {runs} of each"
    if not sure:
        images, gain = max(gains.items(), key=lambda row: abs(row[1].mean))
        many = len(gains) > 1
        size = points(_size(gain), f"95 % interval{', not corrected,' if many else ''} ")
        largest = f"The largest of {len(gains)} differences, with" if many else "With"
        verb = f"{'' if many else 'it '}{'costs' if gain.mean < 0 else 'adds'}"
        said = f"A {kind} is not shown to help: {test}, no difference is more than chance."
        return f"{said} {largest} {images:,} images{',' if many else ''} {verb} {size}."
    verbs = {
        verb: [
            f"{points(_size(gain), '95 % interval ')} with {images:,} images"
            for images, gain in sure.items()
            if (gain.mean > 0) == (verb == "adds")
        ]
        for verb in ("adds", "costs")
    }
    said = joined([f"{verb} {joined(parts)}" for verb, parts in verbs.items() if parts])
    rest = [f"{images:,}" for images in gains if images not in sure]
    unsure = f"; with {joined(rest)} no difference is shown" if rest else ""
    return f"A {kind} {said}{unsure} ({test})."


def _size(gain: Estimate) -> Estimate:
    return Estimate(abs(gain.mean), gain.half, gain.seeds)


def worth(name: str, instead: str, cost: float, gain: Estimate) -> str:
    """A model against another: how many times its multiply–adds, above 0, and how much more accurate it is."""
    work = f"{percent(abs(cost - 1))} {'more' if cost > 1 else 'fewer'} multiply–adds than"
    begin = f"{begun(name)} takes {'as many multiply–adds as' if abs(cost - 1) < 0.005 else work} {instead}"
    runs = f"{gain.seeds} runs" if gain.seeds > 1 else "one run"
    if not gain.differs:
        difference = signed(gain).removesuffix(" *")
        return f"{begin}; no difference in accuracy is shown by {runs} of each: {difference} points."
    how = "more" if gain.mean > 0 else "less"
    return f"{begin} and is {how} accurate by {points(_size(gain))}, in {runs} of each."
