"""Masked: the causal mask of a decoder, on the words of a sentence."""

from functools import partial

from vizkit.analysis.attention.walkthrough import SENTENCE, causal, of_words
from vizkit.analysis.remarks.attention import masked
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.charts import heat_map, literal
from vizkit.views.blocks import Blocks, Chart, Columns, Line, Numbers, Said, first_said
from vizkit.views.controls import switch, text
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

EXAMPLE = " ".join(SENTENCE).capitalize()
MOST, LONGEST = 10, 12  # words; characters of one
RULE = "a rule, by which equal words attend to one another and near words more than far ones"
DECODER = "A decoder: no word attends to later words"
EXACT = 6  # words of which three digits have room


class Masked(View):
    """The causal mask of a decoder, beside an encoder that has none."""

    decoder: bool = switch("With the mask", "Off, the decoder's matrix is the encoder's.", default=True)
    sentence: str = text("Sentence", EXAMPLE, f"Your own words; the first {MOST} are shown.", longest=100)

    overlays = False
    how = How(
        "Left, the words of a sentence attend to each other; every row sums to one. Right, a mask of −∞ above the "
        "diagonal is added before softmax: those weights become exactly 0 and the rest of each row is shared out anew. "
        "A ViT is an encoder: patches have no before and after.",
        r"\mathrm{softmax}(S + M), \quad M_{ij} = \begin{cases} 0 & j \le i \\ -\infty & j > i \end{cases}",
        "a trained model: these are the numbers of a teaching example, or of a rule.",
        "Vaswani et al. 2017, § 3.2.3",
    )

    def title(self, of: Subject) -> str:
        return "The causal mask of a decoder"

    def show(self, of: Subject) -> Blocks:
        words = self.sentence.split()[:MOST] or EXAMPLE.split()
        weights = of_words(words)
        seen = causal(weights) if self.decoder else weights
        later = f"Without the mask {percent(float(weights.triu(1).sum(-1).mean()))} of the weight lies on later words"
        yield Said(first_said(masked(weights) if self.decoder else None) or f"{later}, as in an encoder.")
        whose = "a teaching example" if words == EXAMPLE.split() else RULE
        yield Line(f"No model's numbers: those of {whose}. Sequences shows the masks of models.")
        names = [literal(f"{at} {word[:LONGEST]}") for at, word in enumerate(words, 1)]
        titles = (
            "An encoder: every word attends to every word",
            DECODER if self.decoder else "A decoder without its mask",
        )
        digits = 3 if len(words) <= EXACT else 2
        draw = partial(heat_map, x_names=names, y_names=names, digits=digits, height=470, limit=1.0, bar=False)
        figures = [
            draw(each.numpy(), "key", "query", title) for each, title in zip((weights, seen), titles, strict=True)
        ]
        yield Columns(tuple((Chart(figure, title),) for figure, title in zip(figures, titles, strict=True)))
        yield Numbers(partial(dict, {"encoder": weights.numpy(), "decoder": seen.numpy()}))
