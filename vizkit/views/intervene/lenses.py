"""When does the answer appear? What the model would answer after every layer, and what each layer and head adds."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.logit_lens import frequent, runner_up
from vizkit.analysis.remarks.interventions import (
    of_contributions,
    of_lens,
    of_lens_value,
    of_likest,
    of_patches,
    of_strongest,
)
from vizkit.analysis.remarks.remark import begun
from vizkit.figure.contributions import appearing, contributions, heads_added
from vizkit.figure.overlay import under
from vizkit.figure.palette import OTHERS, class_colours
from vizkit.figure.patch_cells import class_cells, painted_cells, share_cells
from vizkit.figure.scales import between, robust
from vizkit.heads import EMBEDDING, ITSELF_IN_WORDS, LIKENESS
from vizkit.image import data_url
from vizkit.models import pixels_of
from vizkit.models.probes.lenses.direct_attribution import direct_attribution
from vizkit.models.probes.lenses.logit_lens import logit_lens, patch_outputs, readable
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Answered,
    Block,
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
    side_by_side,
)
from vizkit.views.controls import choice, layer
from vizkit.views.intervene.changed import Among, agreeing
from vizkit.views.relevance.decision import Decision, in_words
from vizkit.views.subject import Subject
from vizkit.views.view import How

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.probes.lenses.direct_attribution import Contributions
    from vizkit.models.probes.lenses.logit_lens import Lens

MOST_NAMED = 6
NEAREST = 4  # images, this one among them
CLASS, SHARE = "its class", "the probability"
FEATURE, LIKE = "its strongest feature", "the likeness"
OUTPUT, VALUE = "its largest output", "the value"
CARRIED = "what the heads carry from it"
KINDS = {"probability": (CLASS, SHARE), "likeness": (LIKE, FEATURE), "value": (OUTPUT, VALUE)}
"""What is shown of a patch, by what the model gives: what it says most, and how much it says of what is explained; of
an embedding that first, for a feature is only a number."""


def depth(of: Sequence[Subject]) -> int:
    counts = (len(each.seen.features) if reads(each) else len(layers(each.seen)) for each in of)
    return max(counts, default=1) or 1


def kinds(of: Sequence[Subject]) -> list[str]:
    """Of models whose head cannot read their earlier layers, what is carried alone."""
    read = [kind for each in of if reads(each) for kind in KINDS[each.loaded.head.quantity]]
    return [*dict.fromkeys((*read, CARRIED))]


def reads(of: Subject) -> bool:
    try:
        readable(of.loaded, of.seen)
    except NotApplicable:
        return False
    return True


class Lenses(Among, Decision):
    """When the answer appears: the model's head after every layer, and what each layer and head adds to it."""

    layer: int | None = layer(
        "After layer", "Which layer the patches are read after.", high=depth, plays=True, key="lens_layer"
    )
    kind: str | None = choice("Each patch shows", kinds, key="lens_map")

    alone = True
    overlays = False
    how = How(
        "Above, the model's last normalisation and its head are put after every layer, as if it ended there. Below, "
        "the logit as a sum: what the head reads is the embedding plus all that heads and MLPs add, with the scale of "
        "the last normalisation held still; a head's part goes through its rows of the output matrix. On the right "
        "the head reads every patch by itself, in its place; or each patch shows what the heads of this layer carry "
        "from it.",
        r"p_l = \mathrm{softmax}\left(W\,\mathrm{LN}(x_l)\right), \quad "
        r"z_c = b + w_c^\top \Big(e + \sum_{l,h} a_{l,h} + \sum_l m_l\Big), \quad w_c = W_c \cdot \mathrm{LN}_{\sigma}",
        "what the layer computes with: earlier layers may write in another code, which the last head does not read, "
        "and it was never trained to read a single patch. A part also acts through later layers, which read it too; "
        "what is added to all classes alike changes no answer: choose a class to compare with.",
        "nostalgebraist 2020; Elhage et al. 2021; Gandelsman et al. 2024",
    )

    def title(self, of: Subject) -> str:
        return f"When {self.name(of)} appears, layer by layer; patches after layer {self.after(of)}"

    def name(self, of: Subject) -> str:
        return ITSELF_IN_WORDS if of.loaded.head is LIKENESS else self.what(of)

    def after(self, of: Subject) -> int:
        count = depth([of])
        return min(self.layer or count, count)

    def shows(self, of: Subject) -> str:
        return self.kind or kinds([of])[0]

    def sum_of(self, of: Subject) -> "Contributions":
        asked = self.asked(of)
        return of.kept(
            ("direct attribution", *asked),
            lambda: direct_attribution(of.loaded, of.whole(), pixels_of(of.loaded, of.rgb), *asked),
        )

    def show(self, of: Subject) -> Blocks:
        """What one of both parts cannot say of a model is said in a line; without both there is nothing to show."""
        target, against = self.asked(of)
        lens = made = None
        refused: list[NotApplicable] = []
        try:
            lens = of.kept("logit lens", partial(logit_lens, of.loaded, of.whole()))
        except NotApplicable as sentence:
            refused.append(sentence)
        try:
            made = self.sum_of(of)
        except NotApplicable as sentence:
            refused.append(sentence)
        if len(refused) == 2:
            raise refused[0]
        head, number, compared = of.loaded.head, self.after(of), [target]
        rival = runner_up(head.values(of.seen.logits), target) if against is None and head.exclusive else against
        compared += [] if rival is None else [rival]
        compared += [label for label, _ in head.top(of.seen.logits, NEAREST)[1:]] if head is LIKENESS else []
        leading = frequent(lens.logits.argmax(-1)[None], MOST_NAMED) if lens is not None and head.exclusive else []
        compared += [label for label, _ in leading if label not in compared]  # whoever is first somewhere has a line
        added = (
            ""
            if made is None
            else of_contributions(self.name(of), made.heads, made.attention, made.mlp, made.logit, made.before)
        )
        first = added if lens is None else read_off(of, lens, target)
        yield Said(first)
        yield Answered(of.loaded)
        yield Line(in_words(of.loaded, of.seen.logits, target, against))
        left = [by_layer(of, lens, made, compared, number), Said(added if first != added else "")]
        right = self.mapped(of, lens is not None, made, compared, number)
        yield side_by_side(left, right)
        for sentence in refused:
            yield Line(str(sentence))
        if lens is not None:
            made_of = "The embedding is that of" if head is LIKENESS else "The head was trained on"
            yield Line(f"{made_of} {lens.read} alone; read off a patch it is no answer of the model.")
            yield Proof(of.seen, f"after the last layer it reads what the model itself gives, {agreeing(lens.error)}")
        if made is not None:
            yield Proof(of.seen, f"the parts add up to the model's own {head.number} {agreeing(made.error)}")
        yield Numbers(partial(self.numbers, of, lens, made, target, number))

    def mapped(
        self, of: Subject, readable: bool, made: "Contributions | None", compared: Sequence[int], number: int
    ) -> Blocks:
        if self.kind == CARRIED or not readable:
            yield Heading(f"From which patches the heads of layer {number} carry it")
            yield carried(of, made, number)
            return
        outputs, values = self.by_patch(of, number)
        yield Heading(f"Every patch after layer {number}")
        says = outputs if of.loaded.head is LIKENESS else values
        if of.loaded.head is LIKENESS and self.shows(of) == LIKE:
            yield Said(of_likest(of.loaded.label(compared[0]), values[..., compared[0]], number, of.loaded.head))
        else:
            yield Said(said(of, says, compared[0], number))
        yield self.patches(of, says, values, compared, number)

    def by_patch(self, of: Subject, number: int) -> "tuple[Tensor, Tensor]":
        """What the model returns of every patch alone, (row, column, output), after a layer, and the values of it."""
        outputs: Tensor = of.kept("patch lens", partial(by_patch, of))[number - 1]
        values = of.loaded.head.values(of.loaded.logits_of(outputs.flatten(0, 1), outputs[..., 0].numel()))
        return outputs, values.unflatten(0, outputs.shape[:2])

    def numbers(
        self, of: Subject, lens: "Lens | None", made: "Contributions | None", target: int, number: int
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if lens is not None:
            values = self.by_patch(of, number)[1]
            found = {"logits_by_layer": lens.logits, "patches": values[..., target]}
        if made is not None:
            names = ("embedding", "heads", "attention", "mlp", "bias", "logit")
            found |= {name: getattr(made, name) for name in names}
            found |= {} if made.places is None else {"places": made.places}
        return found

    def patches(self, of: Subject, says: "Tensor", values: "Tensor", compared: Sequence[int], number: int) -> Chart:
        """`says`: of each patch, (row, column, output), of which the largest is what it says most."""
        target, loaded = compared[0], of.loaded
        answers, shares, head = says.argmax(-1), values[..., target].numpy(), loaded.head
        picture = under(of.seen_rgb)
        over = data_url(picture), (picture.shape[0], picture.shape[1])
        if self.shows(of) not in (CLASS, FEATURE, OUTPUT):
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
            f"{'The likeliest class' if head.probable else begun(self.shows(of))} of every patch after layer {number}"
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


def read_off(of: Subject, lens: "Lens", target: int) -> str:
    head, name = of.loaded.head, of.loaded.label(target)
    shares = head.values(lens.logits)[:, target].tolist()
    if head.probable:
        return of_lens(name, lens.logits.argmax(-1).tolist(), target, shares, lens.read)
    return of_lens_value(name, shares, lens.read, head)


def carried(of: Subject, made: "Contributions | None", number: int) -> Block:
    """What the heads of a layer carry from each patch, all layers on one scale; a line where it is not known."""
    if made is None or made.places is None or not 0 <= (at := number - 1 - made.before) < len(made.places):
        return Line(f"What the heads of layer {number} carry from each patch is not known of this model.")
    places, picture = made.places.float().numpy(), under(of.seen_rgb)
    scale = robust(places, signed=True)
    words = f"What the heads of layer {number} carry from each patch to the {of.loaded.head.number}"
    seen = data_url(picture), (picture.shape[0], picture.shape[1])
    still = Tiles("", (Tile("", places[at], scale=scale),), words, tile_px=400)
    return Chart(share_cells(*seen, places[at], f"added to the {of.loaded.head.number}", scale), words, still=(still,))


def by_layer(
    of: Subject, lens: "Lens | None", made: "Contributions | None", compared: Sequence[int], number: int
) -> Chart:
    """What is explained and its rival read after each layer; and what each layer, and each head, adds."""
    head, loaded, added = of.loaded.head, of.loaded, []
    lines = {}
    if lens is not None:
        values = head.values(lens.logits)
        colours = class_colours(compared, values.shape[1])  # those of the map
        for at, (label, colour) in enumerate(zip(compared, colours, strict=True)):
            name = "this image" if head is LIKENESS and not label else loaded.label(label)
            # Two classes of one name are two lines.
            lines[f"{name}{' ' * at}"] = colour, values[:, label].numpy()
    if made is not None:
        parts = made.embedding, made.attention.numpy(), made.mlp.numpy(), made.bias
        added = [
            contributions(*parts, made.before, head.number),
            heads_added(made.heads.numpy(), made.before, head.number),
        ]
    form = ".0%" if head.probable else ""
    figure = appearing(lines, head.quantity, added, number, form=form)
    rows = [*([appearing(lines, head.quantity, (), number, form=form)] if lines else []), *added]
    read = "" if lens is None else f"{begun(head.quantity)} of the answer read off {lens.read} after every layer"
    sums = "" if made is None else f"what attention, MLP and head of every layer add to the {head.number}"
    words = "; ".join(filter(None, (read, sums)))
    return Chart(figure, words, still=tuple(Chart(row, words) for row in rows))  # on paper a plot has one axis


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
        for on, words in ((covered > 0, "on the insect"), (covered == 0, "beside it")):
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
