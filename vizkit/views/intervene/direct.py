"""Direct attribution: the logit of a class, or the difference of two, as a sum of what layers add."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vizkit.analysis.remarks.interventions import of_contributions
from vizkit.figure.charts import heat_map
from vizkit.figure.contributions import contributions
from vizkit.figure.scales import SIGNED_SHARES
from vizkit.heads import ITSELF_IN_WORDS, LIKENESS
from vizkit.models import pixels_of
from vizkit.models.probes.lenses.direct_attribution import direct_attribution
from vizkit.views.blocks import Answered, Blocks, Chart, Columns, Heading, Line, Numbers, Proof, Said, Tile, Tiles
from vizkit.views.intervene.changed import agreeing
from vizkit.views.relevance.decision import Decision, in_words
from vizkit.views.subject import Subject
from vizkit.views.view import How

if TYPE_CHECKING:
    from vizkit.models.probes.lenses.direct_attribution import Contributions


class Direct(Decision):
    """The logit as a sum: what each head and each MLP adds to it."""

    alone = True
    how = How(
        "What the head reads is the embedding plus all that heads and MLPs have added to it. With the scale of the "
        "last normalisation held still, the logit is the sum of what each part gives; the line is the sum so far. A "
        "head's part goes through its rows of $W_O$.",
        r"z_c = b + w_c^\top \Big(e + \sum_{l,h} a_{l,h} + \sum_l m_l\Big), \quad w_c = W_c \cdot \mathrm{LN}_{\sigma}",
        "what a part does through later layers, which read it too. What is added to all classes alike changes no "
        "answer: choose a class to compare with.",
        "Elhage et al. 2021; Gandelsman et al. 2024",
    )

    def title(self, of: Subject) -> str:
        return f"The {of.loaded.head.number} of {self.name(of)} as a sum"

    def name(self, of: Subject) -> str:
        target, against = self.asked(of)
        if of.loaded.head is LIKENESS:
            return ITSELF_IN_WORDS
        return f"{of.loaded.label(target)}{'' if against is None else f' against {of.loaded.label(against)}'}"

    def made(self, of: Subject) -> "Contributions":
        asked = self.asked(of)

        def make() -> "Contributions":
            return direct_attribution(of.loaded, of.whole(), pixels_of(of.loaded, of.rgb), *asked)

        return of.kept(("direct attribution", *asked), make)

    def show(self, of: Subject) -> Blocks:
        target, against = self.asked(of)
        made, number = self.made(of), of.loaded.head.number
        yield Line(in_words(of.loaded, of.seen.logits, target, against))
        layers = contributions(
            made.embedding, made.attention.numpy(), made.mlp.numpy(), made.bias, made.logit, made.before, number
        )
        heads = heat_map(
            made.heads.numpy(),
            "head",
            "layer",
            "What each head adds",
            signed=True,
            square=False,
            x_names=numbered(made.heads.shape[1]),
            y_names=numbered(len(made.heads), made.before),
            quantity=f"added to the {number}",
        )
        heads.update_yaxes(type="category")  # two layers of a Swin are no numbers with halves between them
        heads.update_xaxes(type="category")
        charts = (
            Chart(layers, f"What embedding, attention and MLP of every layer add to the {number}"),
            Chart(heads, f"What each head of each layer adds to the {number}"),
        )
        yield Columns(tuple((chart,) for chart in charts))
        yield Said(of_contributions(self.name(of), made.heads, made.mlp, made.logit, made.before))
        yield Answered(of.loaded)
        yield Proof(of.seen, f"the parts add up to the model's own {number} {agreeing(made.error)}")
        if made.places is not None:
            yield from carried(of, made)
        yield Numbers(partial(numbers, made))


def carried(of: Subject, made: "Contributions") -> Blocks:
    """From which patches the heads carry what they add: of all layers together, and of each, in times its own mean."""
    assert made.places is not None
    places = [made.places.sum(0), *made.places]
    names = ["all layers", *(f"layer {number}" for number in numbered(len(made.places), made.before))]
    every = [
        Tile(name, each.numpy(), f"together {_signed(float(each.sum()))}", scale=SIGNED_SHARES)
        for name, each in zip(names, places, strict=True)
    ]
    yield Heading("From which patches heads carry it, in times an equal share of each layer")
    yield Line("Red speaks for the class, blue against it. What the class token itself holds is not drawn.")
    yield Tiles("", tuple(every), "What heads carry from each patch", tile_px=230)


def _signed(value: float) -> str:
    return f"{value:+z.2f}".replace("-", "−")


def numbered(count: int, before: int = 0) -> list[str]:
    return [str(number) for number in range(before + 1, before + count + 1)]


def numbers(made: "Contributions") -> dict[str, np.ndarray]:
    parts = {"heads": made.heads, "attention": made.attention, "mlp": made.mlp}
    parts |= {} if made.places is None else {"places": made.places}
    alone = {"embedding": made.embedding, "bias": made.bias, "logit": made.logit}
    return {name: each.numpy() for name, each in parts.items()} | {name: np.array(each) for name, each in alone.items()}
