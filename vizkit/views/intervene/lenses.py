"""Lenses: the model's own head after every layer, on what it reads, and on every patch."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.analysis.attribution.logit_lens import frequent, runner_up
from vizkit.analysis.remarks.interventions import of_lens, of_lens_value, of_patches, of_strongest
from vizkit.analysis.remarks.remark import begun
from vizkit.figure.charts import MOST_MARKED, curves
from vizkit.figure.palette import OTHERS, class_colours
from vizkit.figure.patch_cells import class_cells, painted_cells, share_cells
from vizkit.figure.scales import between, robust
from vizkit.heads import EMBEDDING, LIKENESS
from vizkit.image import data_url
from vizkit.models.probes.lenses.logit_lens import logit_lens, patch_outputs
from vizkit.views.blocks import (
    Answered,
    Blocks,
    Chart,
    Columns,
    Heading,
    Line,
    Numbers,
    Picture,
    Proof,
    Said,
    Tile,
    Tiles,
)
from vizkit.views.controls import choice, layer
from vizkit.views.intervene.changed import agreeing
from vizkit.views.relevance.decision import Decision, in_words
from vizkit.views.subject import Subject
from vizkit.views.view import How

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.probes.lenses.logit_lens import Lens

MOST_NAMED = 6
CLASS, SHARE = "its class", "the probability"
FEATURE, LIKE = "its strongest feature", "the likeness"
OUTPUT, VALUE = "its largest output", "the value"
KINDS = {"probability": (CLASS, SHARE), "likeness": (FEATURE, LIKE), "value": (OUTPUT, VALUE)}
"""What is shown of a patch, by what the model gives: what it says most, and how much it says of what is explained."""


def depth(of: Sequence[Subject]) -> int:
    return max((len(each.seen.features) for each in of), default=1) or 1


def kinds(of: Sequence[Subject]) -> list[str]:
    return [*dict.fromkeys(kind for each in of for kind in KINDS[each.loaded.head.quantity])]


class Lenses(Decision):
    """What the model would answer if it ended earlier: its head after every layer."""

    layer: int | None = layer(
        "After layer", "Which layer the patches are read after.", high=depth, plays=True, key="lens_layer"
    )
    kind: str | None = choice("Each patch shows", kinds, key="lens_map")

    alone = True
    overlays = False
    how = How(
        "The model's last normalisation and its head are put after every layer, as if it ended there. On the left they "
        "read what they always do; on the right every patch by itself, in its place. Hover a patch for its class and "
        "probability.",
        r"p_l = \mathrm{softmax}\left(W\,\mathrm{LN}(x_l)\right)",
        "what the layer computes with: earlier layers may write in another code, which the last head does not read. "
        "Nor was the head ever trained to read a single patch.",
        "nostalgebraist 2020",
    )

    def title(self, of: Subject) -> str:
        return f"{of.loaded.label(self.asked(of)[0])} read off every layer, patches after layer {self.after(of)}"

    def after(self, of: Subject) -> int:
        count = len(of.seen.features)
        return min(self.layer or count, count)

    def show(self, of: Subject) -> Blocks:
        target, against = self.asked(of)
        trace = of.whole()
        lens: Lens = of.kept("logit lens", partial(logit_lens, of.loaded, trace))
        number = self.after(of)
        head, every = of.loaded.head, of.kept("patch lens", partial(by_patch, of))
        outputs: Tensor = every[number - 1]
        values = head.values(of.loaded.logits_of(outputs.flatten(0, 1), outputs[..., 0].numel()))
        values = values.unflatten(0, outputs.shape[:2])
        rival = runner_up(head.values(of.seen.logits), target) if against is None and head.exclusive else against
        compared = [target] if rival is None else [target, rival]
        yield Line(in_words(of.loaded, of.seen.logits, target, against))
        answers, shares = lens.logits.argmax(-1).tolist(), head.values(lens.logits)[:, target].tolist()
        name = of.loaded.label(target)
        first = Said(
            of_lens(name, answers, target, shares, lens.read)
            if head.probable
            else of_lens_value(name, shares, lens.read, head)
        )
        says = outputs if head is LIKENESS else values
        curve, then = by_layer(of, lens, compared, number), Said(said(of, says, target, number))
        right = Heading(f"Every patch after layer {number}"), self.patches(of, says, values, compared, number)
        yield Columns(((Heading(f"Read off {lens.read}, after every layer"), curve, first, then), right))
        yield Line(f"The head was trained on {lens.read} alone; what it reads off a patch is no answer of the model.")
        yield Answered(of.loaded)
        yield Proof(of.seen, f"after the last layer its logits are the model's own {agreeing(lens.error)}")
        arrays = {"logits_by_layer": lens.logits.numpy(), "patches": values[..., target].numpy()}
        yield Numbers(lambda: arrays)

    def patches(self, of: Subject, says: "Tensor", values: "Tensor", compared: Sequence[int], number: int) -> Chart:
        """`says`: of each patch, (row, column, output), of which the largest is what it says most."""
        target, loaded = compared[0], of.loaded
        answers, shares, head = says.argmax(-1), values[..., target].numpy(), loaded.head
        picture = of.seen_rgb
        over = data_url(picture), (picture.shape[0], picture.shape[1])
        if self.kind not in (None, CLASS, FEATURE, OUTPUT):
            name = loaded.label(target)
            what = f"{head.quantity} of {name}" if head.probable else name
            words = f"{begun(what)} at every patch after layer {number}"
            scale = between(0, 1, "%") if head.probable else robust([shares])
            still = Tiles("", (Tile(name, shares, scale=scale),), words, tile_px=400)
            return Chart(share_cells(*over, shares, what, scale), words, still=(still,))
        order = [label for label, _ in frequent(answers, MOST_NAMED)]
        named = list(dict.fromkeys([*(compared if says is values else ()), *order]))
        colours = class_colours(named, says.shape[-1])
        legend = [(label, called(of, label), colour) for label, colour in zip(named, colours, strict=True)]
        legend = [each for each in legend if each[0] in order]
        names = [[called(of, label) for label in row] for row in answers.tolist()]
        form = ".1%" if head.probable else ".2f"
        figure = class_cells(*over, answers.numpy(), names, says.amax(-1).numpy(), legend, form, rest_of(of))
        words = (
            f"{'The likeliest class' if head.probable else begun(kinds([of])[0])} of every patch after layer {number}"
        )
        return Chart(figure, words, still=tuple(on_paper(picture, answers.numpy(), legend, words)))


def called(of: Subject, output: int) -> str:
    """What a patch says most: of an embedding a feature, which has a number alone."""
    return f"{EMBEDDING.output} {output}" if of.loaded.head is LIKENESS else of.loaded.label(output)


def rest_of(of: Subject) -> str:
    return "other classes" if of.loaded.head.probable else "other features"


def by_patch(of: Subject) -> "list[Tensor]":
    """What the model returns of every patch alone, (row, column, output), after each layer."""
    trace = of.whole()
    return [patch_outputs(of.loaded, trace, at) for at in range(len(trace.features))]


def by_layer(of: Subject, lens: "Lens", compared: Sequence[int], number: int) -> Chart:
    """The value of what is explained and of its rival after each layer."""
    head = of.loaded.head
    values = head.values(lens.logits)
    steps = np.arange(1, len(values) + 1)
    # Two classes of one name are two lines.
    lines = {
        f"{of.loaded.label(label)}{' ' * at}": (steps, values[:, label].numpy()) for at, label in enumerate(compared)
    }
    figure: Any = curves(lines, "layer", head.quantity, mode="lines+markers", marked={float(number): "dot"})
    for at, colour in enumerate(class_colours(compared, values.shape[1])):  # those of the map
        figure.update_traces(line_color=colour, selector=at)
    figure.update_xaxes(dtick=1 if len(steps) <= MOST_MARKED else None, range=[0.6, len(steps) + 0.4])
    if head.bounded:
        figure.update_yaxes(
            range=[min(0.0, float(values.min())) - 0.03, 1.03], tickformat=".0%" if head.probable else None
        )
    return Chart(figure, f"{begun(head.quantity)} of the answer read off {lens.read} after every layer")


def said(of: Subject, values: "Tensor", target: int, number: int) -> str:
    """What the patches say, and of a drawn insect how those on it differ from the others."""
    answers, loaded = values.argmax(-1), of.loaded
    if not loaded.head.probable:
        return of_strongest([(called(of, label), count) for label, count in frequent(answers, answers.numel())], number)
    others = [(loaded.label(label), count) for label, count in frequent(answers, 2) if label != target]
    saying = int((answers == target).sum())
    covered = of.covered((answers.shape[0], answers.shape[1]))
    parts = []
    if covered is not None:
        for on, words in ((covered >= 0.5, "on the insect"), (covered == 0, "beside it")):
            if int(on.sum()):
                ((label, count), *_) = frequent(answers[on][None], 1)
                parts.append((words, loaded.label(label), count, int(on.sum())))
    return of_patches(loaded.label(target), saying, answers.numel(), number, others[:1], parts)


def on_paper(picture: np.ndarray, answers: np.ndarray, legend: Sequence[tuple[int, str, str]], words: str) -> Blocks:
    """The same cells in their colours, and which class has which."""
    colours = {label: colour for label, _, colour in legend}
    yield Picture(
        painted_cells(picture, [[colours.get(int(label), OTHERS) for label in row] for row in answers]), words
    )
    yield Columns(
        tuple(
            (Picture(painted_cells(np.full((12, 48, 3), 255, np.uint8), [[colour]], 1.0), name, name),)
            for _, name, colour in legend
        )
    )
