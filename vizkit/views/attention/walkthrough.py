"""Head by head: one query in one head as a map and as a row of its matrix, among all heads, and followed step by step
with the numbers that the model computed."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import numpy as np

from vizkit.analysis.attention.attention_map import Query, find_query, layers, most_attended
from vizkit.analysis.attention.contrast import Start, attended, clearest
from vizkit.analysis.attention.walkthrough import saturation
from vizkit.analysis.remarks import attention
from vizkit.analysis.remarks.remark import counted, percent
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import SHARES
from vizkit.geometry import id_of, middle_of
from vizkit.models.probes.parts import Parts
from vizkit.percent import in_percent
from vizkit.traces import Attention, NotApplicable, Tokens, Trace, tolerance
from vizkit.views.all_heads import heads_of
from vizkit.views.attention.head_matrix import head_matrix, rows_of
from vizkit.views.attention.walk_row import Row, differences, for_browser, head_of, parts_of
from vizkit.views.attention.walk_steps import COUNT, on_paper, steps
from vizkit.views.blocks import Blocks, Canvas, Columns, Heading, Line, Numbers, Proof, Said, first_said
from vizkit.views.controls import choice, layer, number, query, switch, tokens_that_ask
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

CLEAREST, MOST, STRONGEST = "clearest map", "most attended", "strongest"
SOFTMAX = 6  # the step that says what attention is
EXPERIMENT = "An experiment: these are not the model's numbers."


def heads(of: Sequence[Subject]) -> list[str]:
    return [CLEAREST, STRONGEST, *(str(at) for at in range(1, 1 + max((each.heads for each in of), default=0)))]


def queries(of: Sequence[Subject]) -> list[str]:
    return [CLEAREST, MOST, *tokens_that_ask(of)]


def last_key(of: Sequence[Subject]) -> int:
    return max((len(step.key) for each in of for step in each.layers), default=0)


class WalkThrough(View):
    """One query in one head: its map, its row of the matrix, all heads beside it, and every step with its numbers."""

    layer: int | None = layer("Layer", "By default that of the clearest map.", key="layer", inside=True, runs=True)
    head: str = choice(
        "Head",
        heads,
        "“clearest map”: that whose map has the highest contrast and lies most on the object, at first of all layers; "
        "“strongest”: that with the largest weight of this query on a patch.",
        default=CLEAREST,
        key="walk_head",
        inside=True,
        runs=True,
    )
    query: str | tuple[int, int] = query(
        "Query",
        "“clearest map”: the patch on the object whose map in this head has the highest contrast; “most attended”: the "
        "patch that the last layer attends to most, from the class token where there is one.",
        default=CLEAREST,
        options=queries,
        words={CLEAREST: CLEAREST, MOST: MOST},
        key="walk_query",
        runs=True,
    )
    by_values: bool = switch(
        "Matrix weighted by values",
        "‖α f(x)‖: a large weight on a short vector contributes little.",
        key="value_weighted",
        more=True,
    )
    unscaled: bool = switch("Leave out ÷ √d", "An experiment.", key="unscaled", more=True)
    single: bool = switch("One head instead of many", "An experiment.", key="single_head", more=True)
    step: int = number(
        "Step",
        1,
        COUNT,
        SOFTMAX,
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
        "Whose numbers are shown, by the number of its token; 0: the largest weight on another one.",
        key="walk_key",
        inside=True,
    )

    overlays = False
    alone = True
    slides = "step"
    how = How(
        "Left, the image with the weights of one query, white, in one head; orange is the key whose numbers stand "
        "below it. A click on the image chooses another key or another query, a click on a small map another layer and "
        "head, a click on a row of the matrix another query. The steps lead from the patch to what the layer adds; "
        "pointing at a number says where it comes from.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + B\right) V, \quad "
        r"\mathrm{MHA} = [\mathrm{head}_1; \dots; \mathrm{head}_h]\,W_O",
        "anything after this layer. With an experiment switched on, the numbers are not the model's.",
        "Vaswani et al. 2017, eq. 1 and § 3.2.2; weighted by values: Kobayashi et al. 2020, eq. 5",
    )

    def title(self, of: Subject) -> str:
        _, row = self.row(of)
        return f"Attention step by step: {whose(row)}, query {row.query_name}"

    def show(self, of: Subject) -> Blocks:
        trace, row = self.row(of)
        recorded, experiment = layers(trace)[row.layer], row.head.experiment
        rows = rows_of(row, self.by_values)
        yield Said(sentence(of, recorded, row))
        framed = None if experiment == "single" else row.head.index + 1
        yield Line(f"{of.name} · {called(trace, row)}")
        yield self.walk(of, row)
        heads = heads_of(trace, row.asked, row.layer + 1, framed, SHARES, ("layer", "head", ""))
        yield Columns(((Heading("All layers and heads"), heads), tuple(head_matrix(of, row, rows))), (4, 3))
        yield proof(of, trace, recorded, row) if not experiment else Line(EXPERIMENT)
        yield Line(f"{size_of(row.parts)} · {sharpness(row)}")
        yield Numbers(partial(numbers, row, rows))

    def walk(self, of: Subject, row: Row) -> Canvas:
        data = for_browser(row) | {"at": (self.step, self.key), "steps": [asdict(each) for each in steps(row)]}
        if self.staged:  # not what is to come
            data |= {"steps": data["steps"][: self.step], "staged": True}
        return Canvas(
            "vizkit_walk",
            data,
            f"The walk of {row.query_name} through layer {row.layer + 1} of {of.name}",
            {"step": (whole(1, COUNT), "step"), "token": (whole(0, last_key([of])), "key")},
            tuple(on_paper(of, row, self.step, row.place_of(self.key))),
            of,
            "query",
        )

    # ---- what is asked -----------------------------------------------------------------------------------------------
    def row(self, of: Subject) -> tuple[Trace, Row]:
        """The trace with the row of the query in a layer, and that row taken apart."""
        if not of.layers:
            raise NotApplicable(of.seen.no_attention + ".")
        if of.changes.model:
            raise NotApplicable("A layer is taken apart in the model as it is, without changes of its attention.")
        start = self.start(of)
        index = min(start.layer, of.depth) - 1
        asked = self.asked(of, of.layers[index].query, start)
        trace = of.trace(asked)
        token, _ = find_query(layers(trace)[index], asked)
        parts = parts_of(of, index, token)
        position = parts.query_ids.tolist().index(token)
        head = strongest(parts, position) if self.head == STRONGEST else start.head - 1
        experiment = "single" if self.single else "unscaled" if self.unscaled else ""
        return trace, Row(parts, head_of(parts, min(head, len(parts.weights) - 1), experiment), position, index)

    def start(self, of: Subject) -> Start:
        """The layer and the head, and where nobody has chosen them those of the clearest map, of whichever query; the
        last layer where a head was chosen without one."""
        head = int(self.head) if self.head.isdigit() else None
        layer = self.layer if self.layer or self.head == CLEAREST else of.depth
        layer = layer and min(layer, of.depth)
        usual = Start(layer or of.depth, head or 1, of.asked)
        if CLEAREST not in (self.head, self.query):
            return usual

        def best() -> Start | None:
            trace, grid = of.whole(), next((each.key.grid for each in of.layers if each.key.grid), None)
            drawn = of.covered(grid) if grid else None
            on = attended(trace) if drawn is None else drawn
            return None if on is None else clearest(trace, on, layer, head)

        return of.kept(("clearest map", layer, head), best) or usual

    def asked(self, of: Subject, tokens: Tokens, start: Start) -> Query:
        if isinstance(self.query, tuple):
            return middle_of(tokens, id_of(tokens, of.cell(tokens, self.query) or (0, 0)))
        if self.query == CLEAREST:
            return start.query
        if self.query == MOST:
            return of.made(most_attended, of.whole()) or of.asked
        return of.asked if self.query == "patch" else self.query


def strongest(parts: Parts, position: int) -> int:
    """The head, from 0, with the largest weight of this query on a patch, as the maps of all heads show it."""
    patches = parts.key_ids >= len(parts.key_tokens.special)
    return int((parts.weights[:, position] * patches).amax(-1).argmax())


def called(trace: Trace, row: Row) -> str:
    window = f" · window {row.parts.window + 1} of {row.parts.windows}" if row.parts.windows > 1 else ""
    single = row.head.experiment == "single"
    head = "all heads as one" if single else f"head {row.head.index + 1} of {len(row.parts.weights)}"
    return f"layer {row.layer + 1} of {len(layers(trace))} · {head} · query {row.query_name}{window}"


def whose(row: Row) -> str:
    kinds = {"": f"head {row.head.index + 1}", "unscaled": f"head {row.head.index + 1} without ÷ √d"}
    return f"{kinds.get(row.head.experiment, 'all heads as one')} of layer {row.layer + 1}"


def sentence(of: Subject, recorded: Attention, row: Row) -> str:
    """What stands out in the row, else in all rows of the head, else how widely it attends, else its largest weight."""
    covered = of.covered(recorded.key.grid) if recorded.key.grid else None
    number, head = row.layer + 1, row.head.index
    most = int(row.weights.argmax())
    largest = f"The largest weight of this row, {percent(float(row.weights[most]))}, goes to {row.key_name(most)}."
    if row.head.experiment:  # the trace has the model's own weights
        return largest
    return first_said(
        attention.of_map(recorded, row.asked, number, head, covered),
        attention.of_head(recorded, number, head),
        attention.how_widely(recorded, number, head).get(row.query_id),
        largest,
    )


def proof(of: Subject, trace: Trace, recorded: Attention, row: Row) -> Proof:
    """What the script is sent, computed once more, against the trace's row and the layer's own output."""
    weights, output = differences(recorded, row)
    words = f"Computed from these numbers, the weights are those of the trace to within {weights:.0e}"
    words += "" if output is None else f" and the layer's output its own to within {output:.0e} of its largest number"
    return Proof(
        trace, f"{words}.", max(weights, output or 0.0) <= tolerance(row.parts.weights.dtype, of.loaded.device)
    )


def size_of(parts: Parts) -> str:
    return f"{counted(parts.weights.shape[0], 'head')} of {parts.query.shape[-1]} channels"


def sharpness(row: Row) -> str:
    """How sharp this row is, beside all rows of the head and of the model's own heads."""
    rows, own = saturation(row.head.weights[None]), saturation(row.parts.weights)
    entropies = (rows.entropy[0, row.position], rows.entropy.mean(), own.entropy.mean())
    of_row, of_head, of_layer = (in_percent(float(each)) for each in entropies)
    return (
        f"largest weight {in_percent(float(rows.largest[0, row.position]))} · entropy of this row: {of_row} of that of "
        f"equal weights; the mean of all rows of this head is {of_head}, of all heads of the layer {of_layer}"
    )


def numbers(row: Row, rows: Rows) -> dict[str, np.ndarray]:
    """Of the query's row: its vectors, every step up to the output of the head, and its map; of all queries the
    matrix."""
    all_of, head = row.computed, row.head
    names = ("scores", "scaled", "biased", "weights", "mixed")
    return {
        **({"places": rows.row_of(row.query_id)[0].astype(np.float32)} if rows.key_grid else {}),
        "matrix": rows.values,
        "query_ids": row.parts.query_ids.numpy(),
        "query": head.query[row.position].numpy(),
        "keys": head.key.numpy(),
        "values": head.value.numpy(),
        "key_ids": row.parts.key_ids.numpy(),
        **{name: getattr(all_of, name)[0, 0].numpy() for name in names},
    }
