"""A guess beside the answer that this model gives on this picture: how much of it the guess holds, in a sentence.

A guess is kept as JSON has it: of a point (x, y) in shares of what the model sees, of a drawing several of them, a
number, of a choice the number of its option, of an order the numbers of its items; from 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from vizkit.lessons.expressions import LARGEST, LessonError, written
from vizkit.lessons.lesson import LIMITS, SHARE, Question, Step
from vizkit.lessons.no_effect import without_effect
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.rules import RefusedError, Rule, below, number, several, tuple_of

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.views.subject import Subject

Cell = tuple[int, int]
MOST_CELLS = 4096  # of a drawing
LEAST = 0.01  # off, of a share, is near enough
NEAR = 0.06  # of the picture's side: closer means the same place


@dataclass(frozen=True, eq=False)
class Judged:
    """`guess` and `answer`: as expressions have them. `score`: from 0, what chance would find, to 1. `values`: the map
    of which the patches `guessed` and `best` are; the best of a point is one, of a drawing as many as were painted."""

    guess: Any
    answer: Any
    sentence: str
    score: float
    right: bool
    values: "Tensor | None" = None
    guessed: tuple[Cell, ...] = ()
    best: tuple[Cell, ...] = ()


def rule_of(question: Question) -> Rule[Any]:
    """What a guess at it may be."""
    place, part = tuple_of(number(0.0, 1.0), number(0.0, 1.0)), below(len(question.parts))
    return {
        "point": place,
        "draw": _some(several(place, MOST_CELLS)),
        "number": number(*LIMITS.get(question.unit, (-LARGEST, LARGEST))),
        "choice": part,
        "order": tuple_of(*[part] * len(question.parts)),
    }[question.kind]


def _some(rule: Rule[tuple[Any, ...]]) -> Rule[tuple[Any, ...]]:
    def read(told: object) -> tuple[Any, ...]:
        if not (found := rule(told)):
            raise RefusedError
        return found

    return read


def judged(question: Question, of: "Subject", told: Any) -> Judged:
    """`told`: as `rule_of` leaves it. Raises LessonError where the answer cannot be worked out, NotApplicable where
    this model has none."""
    by_kind = {"point": _place, "draw": _place, "number": _number, "choice": _choice, "order": _order}
    return by_kind[question.kind](question, of, told)


def grid_of(question: Question, of: "Subject") -> "Tensor":
    """The map that the question is about: what speaks against has no share."""
    import torch

    assert question.answer is not None
    values = torch.as_tensor(question.answer.value(of)).float()
    if values.ndim != 2 or not values.numel() or not torch.isfinite(values).all():
        raise LessonError("The answer of a point or a drawing is a map of finite numbers.", question.line)
    values = values.clamp(min=0)
    if not values.sum() > 0:
        raise LessonError("Nothing in this map is above 0.", question.line)
    return values


def first_grid(of: "Subject") -> tuple[int, int]:
    """(rows, columns) of the patches of the first layer that has some; one place of a network without."""
    return next((each.query.grid for each in of.layers if each.query.grid), (1, 1))


def cell_at(point: Sequence[float], grid: Sequence[int]) -> Cell:
    rows, columns = grid
    x, y = (min(max(float(part), 0.0), 0.9999) for part in point)
    return int(y * rows), int(x * columns)


def marked(step: Step, of: "Subject", grid: Sequence[int]) -> Cell | None:
    """The place that a step frames, on a grid of (rows, columns). Raises LessonError, NotApplicable."""
    if step.mark is None:
        return None
    if step.mark.text == "patch":
        return cell_at(of.asked, grid)
    match step.mark.value(of):
        case (int() as row, int() as column) if 0 <= row < grid[0] and 0 <= column < grid[1]:
            return row, column
    raise LessonError("mark is a place (row, column) of the map.", step.mark.line)


def _place(question: Question, of: "Subject", told: Any) -> Judged:
    import torch

    values = grid_of(question, of)
    points = [told] if question.kind == "point" else list(told)[:MOST_CELLS]
    cells = tuple(dict.fromkeys(cell_at(point, values.shape) for point in points))
    flat, total, columns = values.flatten(), float(values.sum()), values.shape[1]
    order = flat.argsort(descending=True, stable=True)
    best = tuple(divmod(int(index), columns) for index in order[: len(cells)])
    whole = 1.0 if question.answer is not None and question.answer.says("attention") else total  # other tokens get some
    held, most = (sum(float(values[cell]) for cell in group) / whole for group in (cells, best))
    chance = len(cells) / flat.numel() * total / whole
    what = "map" if whole == total else "attention"
    score = min(1.0, max(0.0, (held - chance) / (most - chance))) if most > chance else 1.0
    if question.kind == "point":
        cell, rank = cells[0], 1 + int((flat > values[cells[0]]).sum())
        if question.unit:
            yours, largest = (written(float(values[each]), ".2f") for each in (cell, best[0]))
            sentence = f"{question.unit} of your patch: {yours}, rank {rank} of {flat.numel()}"
            sentence += "." if rank == 1 else f"; the largest, {written(best[0])}: {largest}."
        elif rank == 1:
            sentence = (
                f"Your patch is the model’s: it holds {_share(held)} of the {what}, the most of all {flat.numel()}."
            )
        else:
            sentence = f"Your patch holds {_share(held)} of the {what}, rank {rank} of {flat.numel()}; the largest, "
            sentence += f"{written(best[0])}, holds {_share(most)}."
        return Judged(cell, best[0], sentence, score, rank == 1, values, cells, best)
    painted, wanted = torch.zeros_like(flat, dtype=torch.bool), torch.zeros_like(flat, dtype=torch.bool)
    painted[[row * columns + column for row, column in cells]] = True
    wanted[order[: len(cells)]] = True
    if len(flat.unique()) == 2 and float(flat.min()) == 0:
        sentence, score, best = _of_set(cells, values)
        wanted = flat > 0
    else:
        which = "Your patch holds" if len(cells) == 1 else f"Your {len(cells)} patches hold"
        sentence = (
            f"{which} {_share(held)} of the {what}; the best that as many can hold is {_share(most)}, and any would "
            f"hold {_share(chance)}."
        )
    return Judged(painted.view_as(values), wanted.view_as(values), sentence, score, score > 0.8, values, cells, best)


def _of_set(cells: Sequence[Cell], values: "Tensor") -> tuple[str, float, tuple[Cell, ...]]:
    """Of a map of places that belong to a set or do not: what is said of a drawing, its score, and the set. The score
    is what both have in common, of what either has: neither one patch nor the whole picture is an answer."""
    truth = tuple((int(row), int(column)) for row, column in values.nonzero().tolist())
    hits, of = len({*cells} & {*truth}), len(truth)
    missing = f"{of - hits} of the {of} {'is' if of - hits == 1 else 'are'} missing" if hits < of else "none is missing"
    sentence = f"{hits} of your {len(cells)} {'is' if hits == 1 else 'are'} right; {missing}."
    return sentence, hits / len({*cells} | {*truth}), truth


def _number(question: Question, of: "Subject", told: Any) -> Judged:
    assert question.answer is not None
    answer, guess = question.answer.value(of), float(told)
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        raise LessonError("The answer of a number is a number.", question.line)
    said, is_ = quantity(guess, question.unit), quantity(answer, question.unit)
    off, most = abs(guess - answer), max(abs(guess), abs(answer))
    within = question.within * (abs(answer) if question.relative else 1) + 1e-9 * abs(answer)
    if question.unit == SHARE and 0 <= answer <= 1:  # beside a share of next to nothing, or all, 10 % is much
        within = min(within, max(answer, LEAST)) if answer < 0.5 else min(within, max(1 - answer, LEAST))
    none = expected_of_none(question, of)
    if none is not None:  # what is asked is the effect: a guess that there is none is not near
        most, within = abs(answer - none), min(within, 0.45 * abs(answer - none))
    right = said == is_ or off <= within
    score = 1.0 if right else max(0.0, 1 - off / most)
    if right:
        sentence = f"It is {is_}" + ("." if said == is_ else f"; you said {said}, near enough.")
    elif none is not None and abs(guess - none) < 0.2 * abs(answer - none):
        sentence = f"It is {is_}; you said {said}, as if there were no difference."
    else:
        times = max(abs(guess), abs(answer)) / (min(abs(guess), abs(answer)) or 1)
        factor = written(times, ",.0f" if times >= 10 else ".1f")
        far = f", too {'high' if guess > answer else 'low'} by a factor of {factor}"
        far = far if guess * answer > 0 and times >= 1.5 and question.unit not in (SHARE, *LIMITS) else ""
        sentence = f"It is {is_}; you said {said}{far}."
    return Judged(guess, answer, sentence, score, right)


def expected_of_none(question: Question, of: "Subject") -> float | None:
    """The number of somebody who expects no effect; None where no effect is asked, or this model has no such number."""
    assert question.answer is not None
    if (same := without_effect(question.answer)) is None:
        return None
    try:
        return float(same.value(of))
    except (LessonError, NotApplicable):
        return None


def _choice(question: Question, of: "Subject", told: Any) -> Judged:
    texts = options(question, of)
    true = [number for number, (_, holds) in enumerate(question.parts) if _holds(holds.value(of), question.line)]
    guess = texts[int(told)]
    if not true:
        return Judged(guess, "none of these", "None of these holds for this model and image.", 0.0, False)
    right = true[0] == int(told)
    sentence = f"Yes: {texts[true[0]]}" if right else f"Measured on this model: {texts[true[0]]}"
    return Judged(guess, texts[true[0]], f"{sentence.rstrip('.')}.", float(right), right)


def _order(question: Question, of: "Subject", told: Any) -> Judged:
    texts = options(question, of)
    numbers = [float(expression.value(of)) for _, expression in question.parts]
    guess = list(dict.fromkeys([*told, *range(len(texts))]))  # every item once
    right = sorted(range(len(texts)), key=lambda number: -numbers[number])
    pairs = list(combinations(guess, 2))
    same = sum(numbers[one] >= numbers[other] for one, other in pairs)
    answer = tuple(texts[number] for number in right)
    sentence = f"{same} of {len(pairs)} pairs stand as this model has them: {', '.join(answer)}."
    given = tuple(texts[number] for number in guess)
    return Judged(given, answer, sentence, same / len(pairs), same == len(pairs))


def options(question: Question, of: "Subject") -> list[str]:
    """Of a choice or an order, in words."""
    return [text.words(text.filled(of)) for text, _ in question.parts]


def quantity(value: int | float, unit: str) -> str:
    if unit == SHARE:
        return in_percent(value) if 0 < abs(value) < 0.001 else written(float(value), ".1%")
    value = round(value) if float(value).is_integer() else value
    shown = "" if unit in LIMITS else unit
    return " ".join(filter(None, [written(value, ",d" if isinstance(value, int) else ""), shown]))


def in_words(found: Judged, question: Question | None) -> tuple[str, str]:
    """The guess and the answer."""
    if found.values is not None:
        guess, best = (
            "; ".join([*map(written, each[:3]), *["…"][: len(each) // 4]]) for each in (found.guessed, found.best)
        )
        return guess, best
    if question is not None and question.kind == "number":
        return quantity(found.guess, question.unit), quantity(found.answer, question.unit)
    return written(found.guess), written(found.answer)


def _share(share: float) -> str:
    return written(share, ".0%" if share >= 0.1 or share == 0 else ".1%")


def _holds(value: Any, line: int) -> bool:
    if not isinstance(value, bool):
        raise LessonError("An option stands with a condition, which is true or false.", line)
    return value


# ---- over a whole lesson ---------------------------------------------------------------------------------------------
def calibration(found: Sequence[tuple[Step, Judged]], of: "Subject") -> list[str]:
    """Where the reader and the model look differently, in sentences."""
    said = []
    places = [each for _, each in found if each.values is not None]
    if places:
        mean = sum(each.score for each in places) / len(places)
        said.append(f"Beyond chance your places held {_share(mean)} of what the best ones hold, on average.")
        said += [*_side(places), *_on_insect(places, of)] if len(places) > 1 else []
    numbers = [each for step, each in found if step.question is not None and step.question.kind == "number"]
    high = sum(each.guess > each.answer for each in numbers if not each.right)
    low = sum(each.guess < each.answer for each in numbers if not each.right)
    if high + low >= 2 and min(high, low) == 0:
        said.append(f"Your numbers are too {'high' if high else 'low'}, {high + low} of {len(numbers)} times.")
    rest = [each for each in found if each[1].values is None]
    if rest:
        right = sum(each.right for _, each in rest)
        said.append(f"Right for this model: {right} of {len(rest)} other answer{'s' if len(rest) > 1 else ''}.")
    return said


def _side(places: Sequence[Judged]) -> list[str]:
    """In which direction the model's places lie from the reader's."""
    shifts = (
        [_middle(each.best, each.values) for each in places],
        [_middle(each.guessed, each.values) for each in places],
    )
    away = [sum(one[axis] - other[axis] for one, other in zip(*shifts, strict=True)) / len(places) for axis in (0, 1)]
    names = (("above", "below"), ("left of", "right of"))
    far = [(abs(part), names[axis][part > 0]) for axis, part in enumerate(away)]
    share, side = max(far)
    if share < NEAR:
        return []
    return [f"The model’s places lie {side} yours, by {_share(share)} of the image on average."]


def _middle(cells: Sequence[Cell], values: Any) -> tuple[float, float]:
    rows, columns = values.shape
    down, across = (sum(cell[axis] + 0.5 for cell in cells) / len(cells) for axis in (0, 1))
    return down / rows, across / columns


def _on_insect(places: Sequence[Judged], of: "Subject") -> list[str]:
    """Of a drawn insect, how often each of both chose a patch of it."""
    counts = [0, 0]
    for each in places:
        assert each.values is not None
        covered = of.covered(tuple(each.values.shape))
        if covered is None:
            return []
        for who, cells in enumerate((each.guessed, each.best)):
            counts[who] += sum(float(covered[cell]) > 0.1 for cell in cells)
    total = sum(len(each.guessed) for each in places)
    return [f"On the insect: {counts[0]} of your {total} patches, {counts[1]} of the model’s."]
