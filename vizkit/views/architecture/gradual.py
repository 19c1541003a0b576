"""A gradual-reduction ViT: which areas its tokens stand for after each averaging, and what that saves."""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import torch

from vizkit.analysis.remarks.compute import lost, saved
from vizkit.analysis.remarks.places import cover
from vizkit.datasets import insects, samples
from vizkit.figure.charts import curves
from vizkit.figure.token_colours import means, token_colours
from vizkit.geometry import id_of, name_of, pixel_box
from vizkit.image import zoomed
from vizkit.models.families.gradual_reduction import token_sets
from vizkit.models.probes.flow import Step
from vizkit.models.probes.unreduced import unreduced
from vizkit.percent import in_percent
from vizkit.traces import Tokens
from vizkit.views.architecture.counted import amount, share, steps_of, total
from vizkit.views.blocks import Block, Chart, Heading, Map, Metrics, Numbers, Picture, Said, first_said, side_by_side
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import Subject

CHARTS = {
    "Tokens by block": ("tokens", lambda step: step.tokens_in),
    "Multiply–adds by block": ("multiply–adds", lambda step: step.multiply_adds),
    "Products of attention by block": ("multiply–adds", lambda step: step.attention_multiply_adds),
}


def fewer_tokens(of: Subject) -> Iterator[Block]:
    plain, seen = unreduced(of.loaded), of.seen_rgb
    sets = token_sets(of.loaded.model, of.loaded.preprocessing.size_hw)  # of every block, and of the head
    stages = list(dict.fromkeys(sets))
    kept = {tokens: contrast(seen, tokens) for tokens in stages}
    first, *_, last = ((prod(tokens.grid or ()), left) for tokens, left in kept.items())
    yield Said(lost(first, last, thinnest(of, sets)))
    asked = Map(grid_for_browser(sets[0]), of.asked, "Patches of", "", room=False)
    columns = (stage(of, tokens, sets, kept[tokens]) for tokens in stages)
    yield side_by_side((Heading("The image: click a patch"), asked), *columns)
    counted = {"this model": steps_of(of), "nothing averaged: a plain ViT": steps_of(of, plain)}
    own, other = map(total, counted.values())
    yield Said(first_said(saved(own[0], other[0], "multiply–adds", "the plain ViT of the same weights")))
    names = "Multiply–adds", "Products of attention, QKᵀ and weights · V"
    shares = zip(names, own, other, strict=True)
    parameters = ("Parameters", amount(of.loaded.parameters), "in both: none depends on the number of tokens")
    yield Metrics((*((name, amount(a), f"{share(a, b)} of {amount(b)}") for name, a, b in shares), parameters))
    blocks = {name: [step for step in each if step.path.startswith("blocks.")] for name, each in counted.items()}
    yield side_by_side(*(by_block(blocks, title) for title in CHARTS))
    yield Numbers(
        lambda: (
            {
                f"{model}, {title}": [*map(pick, steps)]
                for model, steps in blocks.items()
                for title, (_, pick) in CHARTS.items()
            }
            | {"contrast": [*kept.values()]}
        )
    )


def contrast(rgb: np.ndarray, tokens: Tokens) -> float:
    """The share of the variance of its colours that the means of the tokens keep."""
    every = rgb.reshape(-1, 3).var(0).sum()
    return float(means(rgb, tokens.grid or (1, 1)).reshape(-1, 3).var(0).sum() / every) if every else 1.0


def thinnest(of: Subject, sets: Sequence[Tokens]) -> tuple[str, float, float] | None:
    """Of what tells a drawn insect's class the part of which least is left: its name, and how much of a token it fills
    at most in the first grid and in the last."""
    grids = [tokens.grid or (1, 1) for tokens in (sets[0], sets[-1])]
    if of.covered(grids[0]) is None:
        return None
    sample, found = samples.insect(of.image), []
    for part in insects.DECIDING[of.image]:
        mask = torch.from_numpy(sample.mask(part)).float()
        first, last = (float(cover(mask, of.box_xyxy, grid).max()) for grid in grids)
        found.append((last, part, first))
    last, part, first = min(found)
    return part, first, last


def stage(of: Subject, tokens: Tokens, sets: Sequence[Tokens], left: float) -> Iterator[Block]:
    """The image as these tokens see it, and the pixels of the one under the cursor, all at one scale."""
    seen, before, depth = of.seen_rgb, sets.index(tokens), len(sets) - 1
    rows, columns = grid = tokens.grid or (1, 1)
    cell = of.cell(tokens) or (0, 0)
    special = "".join(f" + [{name}]" for name in tokens.special)
    yield Heading(f"{f'After block {before}' if before else 'At first'}: {rows * columns}{special}")
    size = f"{tokens.stride * tokens.aspect:g} × {tokens.stride:g}"
    seen_by = who(before, sets.count(tokens), depth)
    words = (
        f"{rows} × {columns} tokens of {size} pixels · {seen_by} · mean colours keep {in_percent(left)} of the contrast"
    )
    alt = f"{rows} × {columns} tokens, each in the mean colour of its pixels"
    yield Picture(token_colours(seen, grid, cell), alt, words)
    box = pixel_box(tokens, id_of(tokens, cell), (seen.shape[0], seen.shape[1])) or (0, 0, 1, 1)
    x0, y0, x1, y1 = (round(edge) for edge in box)
    own = np.ascontiguousarray(seen[y0:y1, x0:x1])
    zoom = max(1, 96 * (sets[-1].grid or (1, 1))[0] // seen.shape[0])
    drawn, words = zoomed(own, zoom), f"its token, {name_of(tokens, id_of(tokens, cell))}"
    yield Picture(drawn, f"The pixels of {words}", words, share=drawn.shape[1] / 1000)


def who(before: int, count: int, depth: int) -> str:
    """Which blocks see the tokens of a stage; the last set may be for the head alone."""
    last = min(before + count, depth)
    if before == depth:
        return "seen by the head"
    return f"seen by block {last}" if last == before + 1 else f"seen by blocks {before + 1} to {last}"


def by_block(models: dict[str, list[Step]], title: str) -> Chart:
    """As steps: nothing lies between two blocks. What is of one unit is on one scale."""
    y, pick = CHARTS[title]
    top = max(other(step) for unit, other in CHARTS.values() if unit == y for each in models.values() for step in each)
    lines = {
        name: (np.repeat(np.arange(1, len(each) + 1), 2) + [-0.5, 0.5] * len(each), np.repeat([*map(pick, each)], 2))
        for name, each in models.items()
    }
    figure = curves(lines, "block", y).update_yaxes(range=[0, 1.05 * top]).update_layout(height=280)
    return Chart(figure, f"{title}: this model and a plain ViT", title)
