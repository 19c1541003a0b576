"""Walk-through: one query in one head, followed step by step with the numbers that the model computed."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import numpy as np

from vizkit.analysis.attention.attention_map import Query, attention_map, find_query, layers, most_attended
from vizkit.analysis.attention.walkthrough import saturation
from vizkit.analysis.remarks import attention
from vizkit.analysis.remarks.remark import counted, percent
from vizkit.figure.canvas.tile_maps import Tile
from vizkit.geometry import id_at, id_of, middle_of
from vizkit.models.probes.parts import Parts, attention_parts
from vizkit.percent import in_percent
from vizkit.traces import Attention, NotApplicable, Tokens, tolerance
from vizkit.views.attention.walk_row import Row, differences, for_browser, head_of
from vizkit.views.attention.walk_steps import COUNT, on_paper, steps
from vizkit.views.blocks import Blocks, Canvas, Line, Numbers, Proof, Said, Tiles, first_said
from vizkit.views.controls import choice, layer, number, query, switch, tokens_that_ask
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MOST, STRONGEST = "most attended", "strongest"


def heads(of: Sequence[Subject]) -> list[str]:
    return [STRONGEST, *(str(at) for at in range(1, 1 + max((each.heads for each in of), default=0)))]


def queries(of: Sequence[Subject]) -> list[str]:
    return [MOST, *tokens_that_ask(of)]


def last_key(of: Sequence[Subject]) -> int:
    return max((len(step.key) for each in of for step in each.layers), default=0)


class WalkThrough(View):
    """One query in one head, step by step, in the model's own numbers."""

    layer: int | None = layer("Layer", "Which one is taken apart.", key="layer", runs=True)
    head: str = choice(
        "Head",
        heads,
        "“strongest”: that with the largest weight of this query on a patch.",
        default=STRONGEST,
        key="walk_head",
    )
    query: str | tuple[int, int] = query(
        "Query",
        "“most attended”: the patch that the last layer attends to most, from the class token where there is one.",
        default=MOST,
        options=queries,
        words={MOST: MOST},
        key="walk_query",
        runs=True,
    )
    unscaled: bool = switch("Leave out ÷ √d", "An experiment.", key="unscaled", more=True)
    single: bool = switch("One head instead of many", "An experiment.", key="single_head", more=True)
    step: int = number(
        "Step",
        1,
        COUNT,
        1,
        "From the patch to what the next part of the block gets.",
        key="walk_step",
        plays=True,
        inside=True,
    )
    key: int = number(
        "Key",
        0,
        last_key,
        0,
        "Whose numbers are shown, by the number of its token; 0: the largest weight.",
        key="walk_key",
        inside=True,
    )

    overlays = False
    alone = True
    slides = "step"
    how = How(
        "White is the query, orange the key whose numbers are shown; a click on the photograph or on the row of scores "
        "chooses another key. Play, or go step by step with the arrow keys; pointing at a number says where it comes "
        "from.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + B\right) V, \quad "
        r"\mathrm{MHA} = [\mathrm{head}_1; \dots; \mathrm{head}_h]\,W_O",
        "anything after this layer. With a switch on, the numbers are an experiment, not the model's.",
        "Vaswani et al. 2017, eq. 1 and § 3.2.2",
    )

    def title(self, of: Subject) -> str:
        _, row = self.row(of)
        return f"Attention step by step: {whose(row)}, query {row.query_name}"

    def show(self, of: Subject) -> Blocks:
        recorded, row = self.row(of)
        place = row.place_of(self.key)
        data = for_browser(row) | {"at": (self.step, self.key), "steps": [asdict(each) for each in steps(row)]}
        if self.staged:  # not what is to come
            data |= {"steps": data["steps"][: self.step], "staged": True}
        yield Canvas(
            "vizkit_walk",
            data,
            f"The walk of {row.query_name} through layer {row.layer + 1} of {of.name}",
            {"step": (whole(1, COUNT), "step"), "token": (whole(0, last_key([of])), "key")},
            tuple(on_paper(of, row, self.step, place)),
            of,
            "query",
        )
        yield Said(sentence(of, recorded, row))
        if row.head.experiment:
            yield Line("An experiment: these are not the model's numbers.")
        else:
            yield proof(of, recorded, row)
        if recorded.key.grid and len(row.parts.weights) > 1:
            yield beside(recorded, row)
        yield Line(f"{size_of(row.parts)} · {sharpness(row)}")
        yield Numbers(partial(numbers, row))

    def row(self, of: Subject) -> tuple[Attention, Row]:
        """The layer with its recorded weights, and the row of the query in it, taken apart."""
        if not of.layers:
            raise NotApplicable(of.seen.no_attention + ".")
        if of.changes.model:
            raise NotApplicable("A layer is taken apart in the model as it is, without changes of its attention.")
        index = min(self.layer or of.depth, of.depth) - 1
        recorded = of.layers[index]
        asked = self.asked(of, recorded.query)
        wanted = None if isinstance(asked, str) else id_at(recorded.query, asked)
        if wanted is not None and wanted not in recorded.query_ids:  # of many tokens few rows are recorded
            recorded = layers(of.kept(("walk", asked), partial(of.trace, asked)))[index]
        token, _ = find_query(recorded, asked)
        parts = of.kept(("parts", index, token), lambda: attention_parts(of.loaded, of.pixels, index, token_id=token))
        position = parts.query_ids.tolist().index(token)
        chosen = strongest(parts, position) if self.head == STRONGEST else int(self.head) - 1
        experiment = "single" if self.single else "unscaled" if self.unscaled else ""
        return recorded, Row(parts, head_of(parts, min(chosen, len(parts.weights) - 1), experiment), position, index)

    def asked(self, of: Subject, tokens: Tokens) -> Query:
        if isinstance(self.query, tuple):
            return middle_of(tokens, id_of(tokens, of.cell(tokens, self.query) or (0, 0)))
        if self.query == MOST:
            return of.made(most_attended, of.whole()) or of.asked
        return of.asked if self.query == "patch" else self.query


def strongest(parts: Parts, position: int) -> int:
    """The head, from 0, with the largest weight of this query on a patch, as the maps of all heads show it."""
    patches = parts.key_ids >= len(parts.key_tokens.special)
    return int((parts.weights[:, position] * patches).amax(-1).argmax())


def whose(row: Row) -> str:
    kinds = {"": f"head {row.head.index + 1}", "unscaled": f"head {row.head.index + 1} without ÷ √d"}
    return f"{kinds.get(row.head.experiment, 'all heads as one')} of layer {row.layer + 1}"


def sentence(of: Subject, recorded: Attention, row: Row) -> str:
    """What stands out in the row, else in all rows of the head, else its largest weight."""
    covered = of.covered(recorded.key.grid) if recorded.key.grid else None
    number, head = row.layer + 1, row.head.index
    most = int(row.weights.argmax())
    largest = f"The largest weight of this row, {percent(float(row.weights[most]))}, goes to {row.key_name(most)}."
    if row.head.experiment:  # the trace has the model's own weights
        return largest
    return (
        first_said(
            attention.of_map(recorded, row.asked, number, head, covered), attention.of_head(recorded, number, head)
        )
        or largest
    )


def proof(of: Subject, recorded: Attention, row: Row) -> Proof:
    """What the script is sent, computed once more, against the trace's row and the layer's own output."""
    weights, output = differences(recorded, row)
    words = f"Computed from these numbers, the weights are those of the trace to within {weights:.0e}"
    words += "" if output is None else f" and the layer's output its own to within {output:.0e} of its largest number"
    return Proof(
        of.seen, f"{words}.", max(weights, output or 0.0) <= tolerance(row.parts.weights.dtype, of.loaded.device)
    )


def beside(recorded: Attention, row: Row) -> Tiles:
    """The same query in every head of the layer."""
    count = recorded.weights.shape[1]
    maps = [attention_map(recorded, row.asked, head).places.numpy() for head in range(count)]
    return Tiles(
        "This query in every head of the layer, in times an equal share",
        tuple(Tile(f"head {head}", each) for head, each in enumerate(maps, 1)),
        "What the query attends to in a head. Click to walk through it.",
        "head",
        tuple(str(head) for head in range(1, count + 1)),
        None if row.head.experiment == "single" else str(row.head.index + 1),
        96,
    )


def size_of(parts: Parts) -> str:
    window = f" · window {parts.window + 1} of {parts.windows}" if parts.windows > 1 else ""
    heads = counted(parts.weights.shape[0], "head")
    return f"{heads} of {parts.query.shape[-1]} channels{window}"


def sharpness(row: Row) -> str:
    """How sharp this row is, beside all rows of the head and of the model's own heads."""
    rows, own = saturation(row.head.weights[None]), saturation(row.parts.weights)
    largest, entropy = float(rows.largest[0, row.position]), float(rows.entropy[0, row.position])
    return (
        f"largest weight {in_percent(largest)} · entropy {entropy:.2f} of 1 (mean of this head "
        f"{float(rows.entropy.mean()):.2f}, of the model's own {float(own.entropy.mean()):.2f})"
    )


def numbers(row: Row) -> dict[str, np.ndarray]:
    """Of the query's row: its vectors, and every step up to the output of the head."""
    all_of, head = row.computed, row.head
    names = ("scores", "scaled", "biased", "weights", "mixed")
    return {
        "query": head.query[row.position].numpy(),
        "keys": head.key.numpy(),
        "values": head.value.numpy(),
        "key_ids": row.parts.key_ids.numpy(),
        **{name: getattr(all_of, name)[0, 0].numpy() for name in names},
    }
