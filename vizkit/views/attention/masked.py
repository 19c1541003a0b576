"""Masked: the causal mask of a decoder, on the numbers of a teaching example."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch

from vizkit.analysis.attention.walkthrough import SENTENCE, SENTENCE_WEIGHTS, causal
from vizkit.analysis.remarks.attention import masked
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.charts import heat_map
from vizkit.views.blocks import Block, Chart, Columns, Line, Numbers, Said, first_said
from vizkit.views.controls import switch
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


@dataclass(frozen=True)
class Masked(View):
    """The causal mask of a decoder, beside an encoder that has none."""

    decoder: bool = switch("With the mask", "Off, the decoder's matrix is the encoder's.", default=True)

    overlays: ClassVar = False
    how: ClassVar = How(
        "Left, the six words of a sentence attend to each other; every row sums to one. Right, a mask of −∞ above the "
        "diagonal is added before softmax: those weights become exactly 0 and the rest of each row is shared out anew. "
        "A ViT is an encoder: patches have no before and after.",
        r"\mathrm{softmax}(S + M), \quad M_{ij} = \begin{cases} 0 & j \le i \\ -\infty & j > i \end{cases}",
        "a trained model: these are the numbers of a teaching example.",
        "Vaswani et al. 2017, § 3.2.3",
    )

    def title(self, of: Subject) -> str:
        return "The causal mask of a decoder"

    def show(self, of: Subject) -> Iterator[Block]:
        weights = torch.tensor(SENTENCE_WEIGHTS)
        seen = causal(weights) if self.decoder else weights
        names = [f"{number} {word}" for number, word in enumerate(SENTENCE, 1)]
        later = float(weights.triu(1).sum(-1).mean())
        open_to_all = f"Without the mask {percent(later)} of the weight lies on later words, as in an encoder."
        yield Said(first_said(masked(weights)) if self.decoder else open_to_all)
        yield Line("The numbers are a teaching example, no model's; Sequences shows the masks of models.")
        charts = []
        for values, title in (
            (weights, "An encoder: every word attends to every word"),
            (seen, "A decoder: no word attends to later words" if self.decoder else "A decoder without its mask"),
        ):
            figure = heat_map(
                values.numpy(),
                "key",
                "query",
                title,
                x_names=names,
                y_names=names,
                digits=3,
                height=420,
                limit=1.0,
                quantity="attention weight",
            )
            charts.append((Chart(figure, f"Weights of six words. {title}"),))
        yield Columns(tuple(charts))
        yield Numbers(partial(dict, {"encoder": weights.numpy(), "decoder": seen.numpy()}))
