"""The smallest set of patches or heads that keeps or flips the answer of a model to a picture, by greedy search."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.attribution.smallest_set import Answers, Goal, Search, search
from vizkit.analysis.attribution.subject import Fill, cell_of_pixel, filled
from vizkit.image import RGB
from vizkit.models import Loaded, attention_places, pixels_of
from vizkit.models.probes.model_functions import batch_within, logits_of_batch
from vizkit.models.recording.editing import Editing, Plan
from vizkit.traces import NotApplicable

if TYPE_CHECKING:
    Tell = Callable[[Search], None]
    Tried = Callable[[int, int], None]


def nothing(*heard: object) -> None:
    del heard


def patches(
    loaded: Loaded,
    image: RGB,
    grid: tuple[int, int],
    goal: Goal,
    *,
    fill: Fill = "mean",
    most: int | None = None,
    tell: "Tell" = nothing,
    tried: "Tried" = nothing,
) -> Search:
    """Patches of `grid` (rows, columns) over the model's input, row by row from 0; where they are not there stands
    `fill`.

    `tell` hears the search after every patch, `tried` (cases of this step, all of them) after every pass; both may
    raise to stop. NotApplicable for a model that gives no classes.
    """
    pixels = pixels_of(loaded, image).to(loaded.device)
    instead = filled(pixels, fill)
    cell = cell_of_pixel((pixels.shape[2], pixels.shape[3]), grid).to(loaded.device)
    logits = logits_of_batch(loaded)

    def run(there: Bool[Tensor, "case part"]) -> Float[Tensor, "case label"]:
        return logits(torch.where(there.to(loaded.device)[:, cell][:, None], pixels, instead))

    answers = _answers(loaded, logits(pixels)[0], run, grid[0] * grid[1], goal, tried)
    return search(answers, grid[0] * grid[1], goal, most, tell)


def heads(
    loaded: Loaded,
    image: RGB,
    goal: Goal,
    *,
    most: int | None = None,
    tell: "Tell" = nothing,
    tried: "Tried" = nothing,
) -> tuple[Search, tuple[tuple[int, int], ...]]:
    """Heads, where they are not there adding nothing; and the (layer, head) of every part, from 0.

    As `patches`. NotApplicable also for a model without attention, EditError where it cannot be edited."""
    pixels = pixels_of(loaded, image).to(loaded.device)
    places = attention_places(loaded, pixels)
    if not places:
        raise NotApplicable(f"{loaded.name} has no attention layers.")
    logits, counts = logits_of_batch(loaded), [place.heads for place in places]

    def run(there: Bool[Tensor, "case part"]) -> Float[Tensor, "case label"]:
        with Editing(Plan((), places, tuple(there.float().to(loaded.device).split(counts, 1)))):
            return logits(pixels.expand(len(there), -1, -1, -1))

    answers = _answers(loaded, logits(pixels)[0], run, sum(counts), goal, tried)
    names = tuple((layer, head) for layer, count in enumerate(counts) for head in range(count))
    return search(answers, len(names), goal, most, tell), names


def _answers(
    loaded: Loaded,
    plain: Float[Tensor, " label"],
    run: Callable[[Tensor], Tensor],
    count: int,
    goal: Goal,
    tried: "Tried",
) -> Answers:
    """Of the model's own answer, in batches that fit. The next answer is the class with the next logit; where classes
    do not exclude one another, 0. A likeness is lost below half of what all `count` parts give it, and there where it
    is above that and above every other one."""
    head = loaded.head
    if not head.bounded:
        raise NotApplicable(f"{loaded.name} gives {head.gives}: there is no answer to keep or flip.")
    target, size, half = head.target(plain), batch_within(loaded), 0.0
    if not head.probable:
        with torch.no_grad():
            none = head.values(run(torch.zeros(1, count, dtype=torch.bool)))[0, target]
        half = (float(none) + float(head.values(plain)[target])) / 2

    def of_batch(there: Tensor) -> Tensor:
        with torch.no_grad():
            logits = run(there)
        every = head.values(logits)
        values = every[:, target]
        if not head.probable:
            needed = torch.nn.functional.pad(every[:, 1 : -1 if goal == "keep" else 1], (0, 1), value=half).amax(1)
            return torch.cat([torch.stack([values - needed, values], 1), every[:, :-1]], 1).cpu()
        others = logits.clone()
        others[:, target] = float("-inf")
        rival = others.amax(1) if head.exclusive and logits.shape[1] > 1 else 0.0
        return torch.cat([torch.stack([logits[:, target] - rival, values], 1), every], 1).cpu()

    def answers(there: Bool[Tensor, "case part"]) -> Float[Tensor, "case value"]:
        parts = []
        for start in range(0, len(there), size):
            parts.append(of_batch(there[start : start + size]))
            tried(min(start + size, len(there)), len(there))
        return torch.cat(parts)

    return answers
