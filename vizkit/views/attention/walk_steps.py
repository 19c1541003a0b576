"""The ten steps of a walk through one head: their words, which the script of the browser fills in for any key, and
their pictures on paper."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8
from torch import Tensor

from vizkit.analysis.remarks.remark import counted
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import heat_map
from vizkit.geometry import pixel_box
from vizkit.views.attention.walk_row import Row
from vizkit.views.blocks import Block, Chart, Heading, Map, Picture, Said
from vizkit.views.subject import Subject

EXPERIMENT = "this is an experiment, and the rest of the layer was not trained for it"
COUNT = 10
MOST_SHOWN = 5  # keys whose values are drawn one by one


@dataclass(frozen=True)
class Step:
    """`words` are about a query and a key, with places for what depends on the key, such as {score}; `masked`: those
    about a key that is masked. `skip`: why nothing happens in it, "" where something does."""

    title: str
    formula: str
    words: str
    skip: str = ""
    masked: str = ""


def steps(row: Row) -> tuple[Step, ...]:
    """In this layer and head."""
    head, parts, after = row.head, row.parts, row.after_head
    channels, width, keys = head.query.shape[-1], head.value.shape[-1], len(head.key)
    special = row.query_id < len(parts.tokens.special)
    begins = f"{row.query_name} is no patch but a learned vector" if special else f"The patch at {row.query_name}"
    begins += "" if special else " has become a vector by embedding"
    begins += f", changed by {counted(row.layer, 'layer')}" if row.layer else ""
    arriving = parts.arriving
    begins += "; this layer does not show it apart." if arriving is None else ""
    begins += "" if arriving is None else f"; it enters this layer as x, {arriving.shape[-1]} numbers."
    usual = abs(head.scale * channels**0.5 - 1) < 1e-3
    scaled = (
        f"All scores are divided by √{channels} = {number(1 / head.scale)}, or softmax would give nearly all to a "
        "single key: {score} becomes {scaled}."
        if usual
        else f"This head multiplies all scores by its own number, {number(head.scale)}: {{score}} becomes {{scaled}}."
    )
    hidden = sum(row.masked)
    others = f" {hidden} of {keys} keys are masked: they belong to another part of the image."
    others = others if hidden else " No key is masked."
    joined, out = after.get("joined"), after.get("projected")
    lengths = [number(float(after[name].norm()), 2) for name in ("before", "branch", "after") if name in after]
    scaling = ", scaled or normalised first," if row.between else ""
    missing = EXPERIMENT if head.experiment else "nothing goes past this layer: its output stands alone"
    gated = " The layer normalises or gates them before it projects." if "entering" in after else ""
    several = f"{counted(len(parts.weights), 'head')} stand side by side" if len(parts.weights) > 1 else "1 head alone"
    return (
        Step("Patch", "patch → x", begins),
        Step(
            "q and k",
            "q = W_Q x,  k = W_K x",
            f"The query asks with q, the key at {{key}} answers with k: {channels} channels each in this head.",
        ),
        Step(
            "Score",
            "s = q · k = Σ q_c k_c",
            "Channel by channel q and k are multiplied, and the products add up to the score {score}.",
        ),
        Step("÷ √d", "s ÷ √d", scaled, "the scaling is left out" if head.experiment == "unscaled" else ""),
        Step(
            "Bias, mask",
            "s + b",
            "For this pair the position adds {bias}: {scaled} becomes {biased}." + others,
            "this layer adds neither a bias for relative positions nor a mask" if head.bias is None else "",
            "This key is masked, so that its weight becomes 0." + others,
        ),
        Step(
            "Softmax",
            "w = exp(s) ÷ Σ exp(s)",
            f"Softmax makes weights of the scores of all {keys} keys, which sum to 1: this key gets {{weight}}, rank "
            "{rank}.",
        ),
        Step(
            "Values",
            "o = Σ w v",
            "Every key hands over its value v times its weight, here {weight}; the sum o, "
            f"{width} numbers, is the output of this head.",
        ),
        Step(
            "Heads",
            "z = [o₁ … o_h]",
            f"The outputs of {several}: {0 if joined is None else len(joined)} numbers; head {head.index + 1} is "
            f"framed.{gated}",
            EXPERIMENT if joined is None else "",
        ),
        Step(
            "Project",
            "y = W_O z + b",
            f"Each of the {0 if out is None else len(out)} numbers of the layer's output y is made of the numbers of "
            "all heads.",
            EXPERIMENT if out is None else "",
        ),
        Step(
            "Residual",
            "x + y",
            f"The output{scaling} is added to what went past the layer: length {' and '.join(lengths[:2])} give "
            f"{''.join(lengths[2:])}.",
            "" if lengths else missing,
        ),
    )


def number(value: float, digits: int = 3) -> str:
    """As the script writes it."""
    if not np.isfinite(value):
        return "−∞" if value < 0 else "∞"
    text = f"{value:.{1 if abs(value) >= 100 else digits}f}"
    return text if float(text) else text.lstrip("-")  # no −0.000


def facts(row: Row, place: int) -> Mapping[str, str]:
    """What the words of a step leave open, of the key at this place of the row."""
    all_of = row.computed
    score, scaled, biased = (float(each[0, 0, place]) for each in (all_of.scores, all_of.scaled, all_of.biased))
    share = float(row.weights[place])
    written = {"score": score, "scaled": scaled, "biased": biased, "bias": biased - scaled}
    return {
        **{name: number(value).replace("-", "−") for name, value in written.items()},
        "key": row.key_name(place),
        "weight": f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %",
        "rank": str(1 + int((row.weights > share).sum())),
    }


def sentence(row: Row, step: Step, place: int) -> str:
    if step.skip:
        return f"Nothing happens: {step.skip}."
    words = step.masked if row.masked[place] and step.masked else step.words
    for name, text in facts(row, place).items():
        words = words.replace(f"{{{name}}}", text)
    return words


# ---- on paper --------------------------------------------------------------------------------------------------------
def on_paper(of: Subject, row: Row, number_of: int, place: int) -> Iterator[Block]:
    """One step, counted from 1, as a slide."""
    step = steps(row)[number_of - 1]
    yield Heading(f"Step {number_of} of {COUNT}, {step.title}: {step.formula}")
    yield Said(sentence(row, step, place))
    yield from _over_picture(of, row, weighted=number_of > 5)
    if not step.skip:
        yield from DRAWN[number_of - 1](of, row, place)


def _over_picture(of: Subject, row: Row, *, weighted: bool) -> Iterator[Block]:
    """The query, and from the softmax on what it attends to."""
    query, key = row.parts.tokens, row.parts.key_tokens
    if query.grid is None or key.grid is None:
        return
    values = row.head.weights[row.position] if weighted else 0 * row.head.weights[row.position]
    drawn = Rows(
        values.numpy()[None],
        key.grid,
        query.grid,
        np.array([row.query_id]),
        row.parts.key_ids.numpy(),
        query.special,
        key.special,
        kind="" if weighted else "pick",
    )
    asked = query.special[row.query_id] if row.query_id < len(query.special) else of.asked
    yield Map(drawn, asked, "The walk of", "weight of a key" if weighted else "the query is framed")


def _strips(rows: Mapping[str, Tensor], x: str, title: str, *, signed: bool = True) -> Chart:
    """Vectors of one length below one another, in one scale."""
    values = np.stack([each.double().numpy() for each in rows.values()])
    values[~np.isfinite(values)] = np.nan
    figure = heat_map(values, x, "", title, signed=signed, y_names=[*rows], square=False, quantity="value")
    return Chart(figure, title)


def _patch(of: Subject, row: Row, place: int) -> Iterator[Block]:
    seen = of.seen_rgb
    box = pixel_box(row.parts.tokens, row.query_id, (seen.shape[0], seen.shape[1]))
    if box is not None:
        yield Picture(crop(seen, box), f"The patch at {row.query_name}", share=0.3)
    if row.parts.arriving is not None:
        yield _strips({"x": row.parts.arriving[row.position]}, "channel", "x, the vector that enters the layer")


def crop(rgb: UInt8[np.ndarray, "height width 3"], box: tuple[float, float, float, float]) -> np.ndarray:
    x0, y0, x1, y1 = (round(side) for side in box)
    return np.ascontiguousarray(rgb[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])


def _vectors(of: Subject, row: Row, place: int) -> Iterator[Block]:
    vectors = {"q": row.head.query[row.position], "k": row.head.key[place]}
    yield _strips(vectors, "channel", f"Query {row.query_name}, key {row.key_name(place)}")


def _score(of: Subject, row: Row, place: int) -> Iterator[Block]:
    query, key = row.head.query[row.position], row.head.key[place]
    yield _strips({"q": query, "k": key, "q k": query * key}, "channel", "Products of q and k, channel by channel")


def _scaled(of: Subject, row: Row, place: int) -> Iterator[Block]:
    rows = {"q · k": row.computed.scores[0, 0], "scaled": row.computed.scaled[0, 0]}
    yield _strips(rows, "key, in the order of the tokens", "Scores of all keys")


def _biased(of: Subject, row: Row, place: int) -> Iterator[Block]:
    rows = {"scaled": row.computed.scaled[0, 0], "+ b": row.computed.biased[0, 0]}
    yield _strips(rows, "key, in the order of the tokens", "Scores of all keys")


def _softmax(of: Subject, row: Row, place: int) -> Iterator[Block]:
    yield _strips({"s": row.computed.biased[0, 0]}, "key, in the order of the tokens", "What the softmax gets")
    yield _strips({"w": row.weights}, "key, in the order of the tokens", "Weights of all keys", signed=False)


def _values(of: Subject, row: Row, place: int) -> Iterator[Block]:
    given = row.weights[:, None] * row.head.value
    order = row.weights.argsort(descending=True).tolist()
    rows = {row.key_name(each): given[each] for each in order[:MOST_SHOWN]}
    if rest := order[MOST_SHOWN:]:
        rows[f"{len(rest)} more"] = given[rest].sum(0)
    yield _strips({**rows, "sum o": given.sum(0)}, "channel", "Values times weights, and their sum")


def _heads(of: Subject, row: Row, place: int) -> Iterator[Block]:
    joined = row.after_head["joined"].reshape(len(row.parts.weights), -1)
    yield _strips({f"head {at}": each for at, each in enumerate(joined, 1)}, "channel", "The outputs of all heads")


def _project(of: Subject, row: Row, place: int) -> Iterator[Block]:
    after = row.after_head
    yield _strips({"z": after.get("entering", after["joined"])}, "channel", "z, the heads side by side")
    yield _strips({"y": after["projected"]}, "channel", "y, the output of the layer")


def _residual(of: Subject, row: Row, place: int) -> Iterator[Block]:
    after = row.after_head
    rows = {"x": after["before"], "y": after["branch"], "x + y": after["after"]}
    yield _strips(rows, "channel", "What went past the layer, what it adds, and the sum")


DRAWN = (_patch, _vectors, _score, _scaled, _biased, _softmax, _values, _heads, _project, _residual)
