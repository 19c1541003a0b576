"""What accuracy against the number of training pictures shows. A difference is stated only where its interval leaves
zero out; where it holds zero, the runs do not tell the two apart, which is not to say that they are equal."""

from collections.abc import Mapping, Sequence

from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks.remark import begun, joined, percent


def points(gain: Estimate) -> str:
    """ "12.3 points (8.1 to 16.5)", below zero with a minus sign."""
    mean, low, high = (f"{100 * value:z.1f}".replace("-", "−") for value in (gain.mean, gain.low, gain.high))
    return f"{mean} points ({low} to {high})"


def signed(gain: Estimate | None) -> str:
    """ "+12.3 (+8.1 to +16.5)", in points, for tables; of one seed alone a star, a dash for None."""
    if gain is None:
        return "–"
    words = f"{100 * gain.mean:+z.1f} ({100 * gain.low:+z.1f} to {100 * gain.high:+z.1f})".replace("-", "−")
    return words if gain.seeds > 1 else f"{words} *"


def lead(images: int, best: str, second: str, reached: float, gain: Estimate) -> str:
    """The best method with so many pictures against the next; `reached`: its accuracy, 0 to 1."""
    runs = f"{gain.seeds} runs" if gain.seeds > 1 else "one run"
    if gain.differs:
        only = "" if gain.seeds > 1 else f", in {runs} of each"
        return (
            f"With {images:,} images the {best} leads: {percent(reached)} of the test pictures right, "
            f"{points(gain)} more than the {second}{only}."
        )
    return (
        f"With {images:,} images the {best} ({percent(reached)}) is not told apart from the {second} by "
        f"{runs} of each: {signed(gain).removesuffix(' *')} points."
    )


def hunger(hungry: str, images: int, reached: float, needed: Mapping[str, int]) -> str | None:
    """`needed`: of other methods the fewest pictures from which they are surely better than `hungry` is from `images`,
    where it reaches an accuracy of 0 to 1; None where there is no other, or it needs as many."""
    fewer = {name: count for name, count in needed.items() if count < images}
    if not fewer:
        return None
    first, *rest = fewer.items()
    others = [f"the {first[0]} reaches from {first[1]:,}", *(f"the {name} from {count:,}" for name, count in rest)]
    return f"What the {hungry} reaches from {images:,} images ({percent(reached)}) is less than what {joined(others)}."


def teacher(gains: Mapping[str, Mapping[int, Estimate]]) -> str | None:
    """Where the gain is surely largest, what has a larger mean whose interval holds zero, where a teacher costs
    accuracy, with how many pictures no interval leaves zero out.

    `gains`: kind of teacher ("hard teacher of all pictures") → number of pictures → accuracy above no teacher.
    """
    rows = [(gain, kind, images) for kind, of_kind in gains.items() for images, gain in of_kind.items()]
    if not rows:
        return None
    helps = [row for row in rows if row[0].low > 0]
    harms = [row for row in rows if row[0].high < 0]
    numbers: dict[str, float | int] = {"intervals": len(rows), "above zero": len(helps), "below zero": len(harms)}
    if not helps and not harms:
        return "No teacher is shown to help or to harm: all intervals hold zero."
    parts = []
    if helps:
        gain, kind, images = max(helps, key=lambda row: row[0].mean)
        numbers |= {"most": gain.mean}
        parts.append(
            f"of the gains whose interval leaves zero out the largest is {points(gain)}, of a {kind} with "
            f"{images:,} images"
        )
        more, kind, images = max(rows, key=lambda row: row[0].mean)
        if more.mean > gain.mean:
            parts.append(
                f"a {kind} with {images:,} images has a larger mean, {points(more)}, but its interval holds zero"
            )
    if harms:
        gain, kind, images = min(harms, key=lambda row: row[0].mean)
        numbers |= {"least": gain.mean}
        parts.append(f"with {images:,} images a {kind} harms the most, {points(gain)}")
    alike = _alike(gains)
    if alike:
        counts = joined([f"{images:,}" for images in alike])
        parts.append(f"with {counts} images all intervals hold zero")
    words = "; ".join(parts)
    return f"{words[0].upper()}{words[1:]}."


def _alike(gains: Mapping[str, Mapping[int, Estimate]]) -> Sequence[int]:
    """Numbers of pictures with which all intervals hold zero."""
    by_images: dict[int, list[Estimate]] = {}
    for of_kind in gains.values():
        for images, gain in of_kind.items():
            by_images.setdefault(images, []).append(gain)
    return [images for images, several in sorted(by_images.items()) if not any(gain.differs for gain in several)]


def worth(name: str, instead: str, cost: float, gain: Estimate) -> str:
    """A model against another: how many times its multiply–adds, above 0, and how much more accurate it is."""
    work = f"{percent(abs(cost - 1))} {'more' if cost > 1 else 'fewer'} multiply–adds than"
    begin = f"{begun(name)} takes {'as many multiply–adds as' if abs(cost - 1) < 0.005 else work} {instead}"
    runs = f"{gain.seeds} runs" if gain.seeds > 1 else "one run"
    if not gain.differs:
        difference = signed(gain).removesuffix(" *")
        return f"{begin}; no difference in accuracy is shown by {runs} of each: {difference} points."
    size = Estimate(abs(gain.mean), gain.half, gain.seeds)
    how = "more" if gain.mean > 0 else "less"
    return f"{begin} and is {how} accurate by {points(size)}, in {runs} of each."
