"""Memory: what a recurrent network forgets on the way, and what attention keeps in reach, up to the lengths learned."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from vizkit.analysis.remarks import sequences as remarks
from vizkit.datasets.sequences import dates, gaps
from vizkit.figure.charts import curves, heat_map
from vizkit.figure.sequences.repeated import Repeated, repeated_lines
from vizkit.traces import not_applicable
from vizkit.training.experiments import memory
from vizkit.training.runs.folder import RunFolder
from vizkit.views.blocks import Blocks, Chart, Line, Numbers, Said, first_said
from vizkit.views.controls import choice, number
from vizkit.views.controls import text as free_text
from vizkit.views.sequences import texts
from vizkit.views.sequences.known import BUNDLED, TRANSLATING
from vizkit.views.sequences.typed import Typed, opened
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.sequences import SequenceModel

PARTS = ("Right by length", "Gradient", "Gates")
TASKS = {"copy": "repeat the letters", "reverse": "say them backwards", "texts": "answer unseen texts"}
ALONG = {"length": "letters, after a gap of 8 dots", "gap": "dots between 5 letters and the question mark"}
"""By letters first, which shows what a network without attention forgets: gaps cost an LSTM nothing."""
UNITS, LEARNED = {"length": "letters", "gap": "dots"}, {"length": 8, "gap": 24}
SPELLED = ("c", "a", "f", "e")
READS = {"copy": "letters and a gap", "dates": "a date"}
TOGETHER, STATE = "Memory left", "State"
GATES = {
    TOGETHER: "how much of what was written into the cell at a word is left after the last one",
    "Forget gate": "what is kept of the cell (1) or cleared (0)",
    "Input gate": "what is let into the cell",
    "Output gate": "what of the cell is shown",
    "Cell": "what is remembered",
    STATE: "what the next step sees",
}
SIGNED = ("Cell", STATE)
FLOOR = 1e-4
"""Of the axis of gradients: what is smaller is as good as nothing, and not drawn."""


def shown(*parts: str) -> Any:
    """Whether one of these parts is."""
    return lambda view: view.part in parts


def of_texts(view: Any) -> bool:
    """Whether one model answers texts that it has not learned."""
    return view.part == "Right by length" and view.task == "texts"


class Memory(View):
    """What a recurrent network forgets on the way, and what attention keeps in reach, up to the lengths learned."""

    part: Literal["Right by length", "Gradient", "Gates"] = choice("Show", PARTS, key="memory")
    task: Literal["copy", "reverse", "texts"] = choice(
        "Task", tuple(TASKS), words=TASKS, key="memory_task", when=shown("Right by length")
    )
    by: Literal["length", "gap"] = choice(
        "By", tuple(ALONG), key="memory_by", when=lambda view: view.part == "Right by length" and not of_texts(view)
    )
    model: str = choice(
        "Model",
        texts.names,
        "One that comes with vizkit, or a finished run.",
        default="LSTM",
        listed=True,
        key="eval_sequence",
        when=of_texts,
        runs=True,
    )
    reads: Literal["copy", "dates"] = choice(
        "Reads", tuple(READS), words=READS, key="memory_text", when=shown("Gradient", "Gates")
    )
    gap: int = number(
        "Gap",
        0,
        40,
        16,
        "Learned were gaps up to 24.",
        key="gap",
        when=lambda view: view.part in ("Gradient", "Gates") and view.reads == "copy",
    )
    text: str = free_text(
        "Any date",
        "",
        key="sequence_text",
        examples=dates.EXAMPLES,
        when=lambda view: view.part in ("Gradient", "Gates") and view.reads == "dates",
    )
    reader: Literal["LSTM + attention", "LSTM", "RNN"] = choice(
        "Model", TRANSLATING[1:], key="gates_model", when=shown("Gates")
    )
    gates: Literal["Memory left", "Forget gate", "Input gate", "Output gate", "Cell", "State"] = choice(
        "Of the reader",
        tuple(GATES),
        words={},
        key="gates_of",
        when=lambda view: view.part == "Gates" and view.reader != "RNN",
    )

    overlays = False
    how = How(
        "Every network reads some letters, then dots, then a question mark, and has to give the letters back. Without "
        "attention all of them have to fit into one vector and to survive the gap. Gradient: how much the answer would "
        "change with a word; where a line falls to the left, the first words are as good as forgotten. Gates: a column "
        "is a word, a row one unit; what was written survives as long as the forget gate stays near 1.",
        r"\begin{gathered} c_t = f_t \odot c_{t-1} + i_t \odot \tanh(\dots), \quad h_t = o_t \odot \tanh(c_t) \\ "
        r"\left\lVert \frac{\partial \log p(\text{answer})}{\partial x_t} \right\rVert, \quad "
        r"\frac{\partial h_n}{\partial h_t} = \prod_{k=t+1}^{n} \frac{\partial h_k}{\partial h_{k-1}} \end{gathered}",
        "why answers fail beyond the lengths learned, what larger networks or longer training would reach, or what a "
        "unit stands for.",
        "Hochreiter & Schmidhuber 1997; Bengio et al. 1994; Gers et al. 2000; Graves et al. 2014; the runs: "
        "docs/memory.md",
    )

    def title(self, of: Subject) -> str:
        if of_texts(self):
            return f"{self.model} on {texts.TEXTS:,} unseen texts"
        if self.part == "Right by length":
            return f"Answers wholly right: {TASKS[self.task]}"
        words = " ".join(self.words())
        return f"Gradient of the answer to {words}" if self.part == "Gradient" else f"{self.reader} reads {words}"

    def show(self, of: Subject) -> Blocks:
        parts = {"Right by length": self.right, "Gradient": self.gradient, "Gates": self.gated}
        yield from texts.measured(of, self.model) if of_texts(self) else parts[self.part](of)

    def words(self) -> tuple[str, ...]:
        """What the networks read."""
        from vizkit.vocabulary import TextError

        if self.reads == "copy":
            return gaps.source(SPELLED, self.gap)
        with not_applicable(TextError):
            return tuple(dates.split(self.text or dates.EXAMPLES[0]))

    def read(self, of: Subject, title: str) -> Typed:
        """By one of the networks of this task."""
        model, key = opened(of, f"bundled:{BUNDLED[title].replace('dates', self.reads)}")
        return Typed(of, title, model, self.words(), key)

    # ---- the parts ---------------------------------------------------------------------------------------------------
    def right(self, of: Subject) -> Blocks:
        """How often an answer is wholly right, by the number of letters or by the length of the gap."""
        runs = [RunFolder(file.parent) for file in sorted(memory.SHIPPED.glob("*/recipe.json"))]
        lines = memory.curves(runs, self.task, self.by)
        drawn = [Repeated(line.method, line.at, line.runs) for line in lines]
        figure = repeated_lines(drawn, ALONG[self.by], "answers wholly right", LEARNED[self.by])
        every = {line.method: line.runs for line in lines}
        known = every, lines[0].at, LEARNED[self.by], UNITS[self.by]
        letters = SPELLED if self.by == "length" else (*SPELLED, "d")
        read, right = " ".join(gaps.source(letters, 8)), " ".join(gaps.answer(letters, self.task))
        yield Line(f"Read, for example: “{read}”; right is then “{right}”.")
        yield Said(remarks.of_ends(*known) + remarks.of_unlearned(every, lines[0].at, UNITS[self.by]))
        yield Chart(figure, f"Answers wholly right, {ALONG[self.by]}, for each network")
        yield Line(
            f"Thin: {len(lines[0].runs)} seeds, {memory.COUNT} texts at each point; thick: their means; about 45,000 "
            "parameters each. Right of the dotted line nothing like it was learned from."
        )
        yield numbers(list(every), np.array(lines[0].at), np.array(list(every.values())))

    def gradient(self, of: Subject) -> Blocks:
        """How much every word that was read matters for the answer."""
        words = self.words()
        strong = {title: self.read(of, title).made(strength_of) for title in reversed(TRANSLATING)}
        places = np.arange(1, len(words) + 1)
        seen = {title: each.where(each >= FLOOR, torch.nan).numpy() for title, each in strong.items()}
        below = {title: int(np.isnan(each).sum()) for title, each in seen.items()}
        lines = {title: (places, each) for title, each in seen.items()}
        figure = curves(lines, "word of the source", "gradient, of its largest", mode="lines+markers")
        figure.update_xaxes(tickvals=places.tolist(), ticktext=list(words))
        figure.update_yaxes(type="log", exponentformat="power", range=[float(np.log10(FLOOR)), 0.15], dtick=1)
        yield Said(first_said(remarks.of_gradients({title: each.tolist() for title, each in strong.items()}, words)))
        yield Chart(figure, "Gradient of the answer with respect to every word of the source, of each model")
        yield Line(remarks.of_undrawn(below, len(words), FLOOR))
        yield numbers(list(lines), places, np.stack([each.numpy() for each in strong.values()]))

    def gated(self, of: Subject) -> Blocks:
        """The gates of an LSTM, its cell and its state, or the states of an RNN, word after word."""
        from vizkit.analysis.sequences.gates import memory_left

        read, gates = self.read(of, self.reader), STATE if self.reader == "RNN" else self.gates
        every = read.made(inside)
        left = None if self.reader == "RNN" else memory_left(every)
        values = left if gates == TOGETHER and left is not None else getattr(every, ATTRIBUTES[gates])
        order = values.mean(0).argsort(descending=True)  # units have no order of their own
        shown, signed = values[:, order].T.numpy(), gates in SIGNED
        # Plotly takes equal names for one place: what makes them differ is not seen.
        names = [word + "\u200b" * place for place, word in enumerate(read.words)]
        figure = heat_map(
            shown,
            "word of the source",
            "unit, sorted by its mean",
            square=False,
            signed=signed,
            limit=None if signed else 1.0,
            height=420,
            x_names=names,
            quantity=gates,
        )
        figure.update_xaxes(type="category")  # plotly would take digits for numbers
        if left is not None:
            yield Said(remarks.of_forget_gates(left.mean(1).tolist(), read.words))
        else:
            yield Said(remarks.of_states(float(np.abs(shown).mean()), read.words))
        yield Chart(figure, f"{gates} of every unit after every word")
        yield Line(f"{gates}: {GATES[gates]}.")
        yield numbers(read.words, np.arange(1, len(read.words) + 1), shown)


ATTRIBUTES = {
    "Forget gate": "forget",
    "Input gate": "input",
    "Output gate": "output",
    "Cell": "cell",
    STATE: "hidden",
    TOGETHER: "forget",
}


def strength_of(model: "SequenceModel", words: tuple[str, ...]) -> "Tensor":
    """Of each word for the model's own answer, of the largest."""
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.influence import influence

    return influence(model, words, greedy(model, words).words).relative


def inside(model: "SequenceModel", words: tuple[str, ...]) -> Any:
    """The gates of the reader; of an RNN its states alone."""
    from types import SimpleNamespace

    from vizkit.analysis.sequences.gates import lstm_gates, rnn_states
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.recurrent import given_to_cells

    reader, _ = given_to_cells(model, words, greedy(model, words).words)
    network: Any = reader.network
    if isinstance(network, torch.nn.LSTM):
        return lstm_gates(network, reader.vectors)
    return SimpleNamespace(hidden=rnn_states(network, reader.vectors))


def numbers(names: Sequence[str], x: np.ndarray, values: np.ndarray) -> Numbers:
    given: Mapping[str, np.ndarray] = {"names": np.array(names), "x": x, "values": values}
    return Numbers(partial(dict, given))
