"""The ten steps of a walk through one head: their words, which the script of the browser fills in for any key, and
their images on paper."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.remarks.remark import counted
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import curves, heat_map
from vizkit.figure.scales import SHARES, robust
from vizkit.geometry import pixel_box
from vizkit.percent import in_percent
from vizkit.views.attention.walk_row import Row
from vizkit.views.blocks import Blocks, Chart, Columns, Heading, Line, Map, Picture, Said
from vizkit.views.subject import Subject

EXPERIMENT = "this is an experiment, and the rest of the layer was not trained for it"
COUNT = 10
MOST_SHOWN = 5  # keys whose values are drawn one by one
KEYS = "key, in the order of the tokens"


@dataclass(frozen=True)
class Step:
    """`words` are about a query and a key, with places for what depends on the key, such as {score}; `masked`: those
    about a key that is masked. `skip`: why nothing happens in it, "" where something does. `symbols`: its part of the
    line from q · k to the weight."""

    title: str
    formula: str
    words: str
    skip: str = ""
    masked: str = ""
    symbols: str = ""


def steps(row: Row) -> tuple[Step, ...]:
    """In this layer and head."""
    head, parts, after = row.head, row.parts, row.after_head
    channels, width, keys = head.query.shape[-1], head.value.shape[-1], len(head.key)
    begins = "The patch at {} has become a vector by embedding" if row.is_patch else "{} is a learned vector, no patch"
    begins += f", changed by {counted(row.layer, 'layer')}" if row.layer else ""
    if parts.arriving is None:
        enters = "this layer does not show it apart"
    else:
        normalised = "normalised, " if row.past == "h" else ""
        enters = f"{normalised}it enters this layer as x, {parts.arriving.shape[-1]} numbers"
    usual = abs(head.scale * channels**0.5 - 1) < 1e-3
    scaled = (
        f"All scores are divided by √{channels} = {number(1 / head.scale)}, or softmax would give nearly all to a "
        "single key: {score} becomes {scaled}."
        if usual
        else f"This head multiplies all scores by its own number, {number(head.scale)}: {{score}} becomes {{scaled}}."
    )
    hidden = sum(row.masked)
    others = f"{hidden} of {keys} keys are masked: they belong to another part of the image." if hidden else ""
    others = f" {others or 'No key is masked.'}"
    joined, out = (after.get(name, ()) for name in ("joined", "projected"))
    lengths = [number(float(after[name].norm()), 2) for name in ("before", "branch", "after") if name in after]
    scaling = f", {row.between} first," if row.between else ""
    went = "h, the vector before it was normalised" if row.past == "h" else "x, which went past the layer"
    missing = EXPERIMENT if head.experiment else "nothing goes past this layer: its output stands alone"
    gated = " The layer normalises or gates them before it projects." if "entering" in after else ""
    several = f"{counted(len(parts.weights), 'head')} stand side by side" if len(parts.weights) > 1 else "1 head alone"
    return (
        Step("Patch", f"{'patch' if row.is_patch else 'token'} → x", f"{begins.format(row.query_name)}; {enters}."),
        Step(
            "q and k",
            "q = W_Q x,  k = W_K x",
            f"The query asks with q, the key at {{key}} answers with k: {channels} channels each in this head.",
        ),
        Step(
            "Score",
            "s = q · k = Σ q_c k_c",
            "Channel by channel q and k are multiplied, and the products add up to the score {score}.",
            symbols="q · k = {score}",
        ),
        Step(
            "÷ √d",
            "s ÷ √d",
            scaled,
            "the scaling is left out" if head.experiment == "unscaled" else "",
            symbols=f"÷ √{channels} = {{scaled}}" if usual else f"× {number(head.scale)} = {{scaled}}",
        ),
        Step(
            "Bias, mask",
            "s + b",
            "For this pair the position adds {bias}: {scaled} becomes {biased}." + others,
            "this layer adds neither a bias for relative positions nor a mask" if head.bias is None else "",
            "This key is masked, so that its weight becomes 0." + others,
            "+ b = {biased}",
        ),
        Step(
            "Softmax",
            "w = exp(s) ÷ Σ exp(s)",
            f"Softmax makes weights of the scores of all {keys} keys, which sum to 1: this key gets {{weight}}, rank "
            "{rank}.",
            symbols="exp(s − max) = {power}, ÷ Σ {sum} = {weight}",
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
            f"The outputs of {several}: {len(joined)} numbers; head {head.index + 1} is framed.{gated}",
            "" if len(joined) else EXPERIMENT,
        ),
        Step(
            "Project",
            "y = W_O z + b",
            f"Each of the {len(out)} numbers of the layer's output y is made of the numbers of all heads.",
            "" if len(out) else EXPERIMENT,
        ),
        Step(
            "Residual",
            f"{row.past} + y",
            f"The output y{scaling} is added to {went}: lengths {' and '.join(lengths[:2])} give "
            f"{''.join(lengths[2:])}.",
            "" if lengths else missing,
        ),
    )


def number(value: float, digits: int = 3) -> str:
    """As the script writes it."""
    if not np.isfinite(value):
        return "−∞" if value < 0 else "∞"
    text = f"{value:.{1 if abs(value) >= 100 else digits}f}"
    return (text if float(text) else text.lstrip("-")).replace("-", "−")  # no −0.000


def facts(row: Row, place: int) -> Mapping[str, str]:
    """What the words of a step leave open, of the key at this place of the row."""
    all_of = row.computed
    score, scaled, biased = (float(each[0, 0, place]) for each in (all_of.scores, all_of.scaled, all_of.biased))
    share = float(row.weights[place])
    powers = (all_of.biased[0, 0] - all_of.biased[0, 0].max()).exp()
    written = {"score": score, "scaled": scaled, "biased": biased, "bias": biased - scaled}
    written |= {"power": float(powers[place]), "sum": float(powers.sum())}
    return {
        **{name: number(value) for name, value in written.items()},
        "key": row.key_name(place),
        "weight": in_percent(share),
        "rank": str(1 + int((row.weights > share).sum())),
    }


def sentence(row: Row, step: Step, place: int) -> str:
    if step.skip:
        return f"Nothing happens: {step.skip}."
    return filled(step.masked if row.masked[place] and step.masked else step.words, row, place)


def symbols(row: Row, place: int) -> str:
    """From the product of query and key to the weight, in one line."""
    return " → ".join(filled(step.symbols, row, place) for step in steps(row) if step.symbols and not step.skip)


def filled(words: str, row: Row, place: int) -> str:
    for name, text in facts(row, place).items():
        words = words.replace(f"{{{name}}}", text)
    return words


# ---- on paper --------------------------------------------------------------------------------------------------------
def on_paper(of: Subject, row: Row, number_of: int, place: int) -> Blocks:
    """One step, counted from 1, as a slide: the figure and its numbers beside one another."""
    step = steps(row)[number_of - 1]
    yield Heading(f"Step {number_of} of {COUNT}, {step.title}: {step.formula}")
    yield Said(sentence(row, step, place))
    yield Line(symbols(row, place))
    seen = tuple(over_picture(row, number_of))
    drawn = () if step.skip else tuple(drawn_numbers(of, row, place, number_of))
    yield from (Columns((seen, drawn)),) if seen and drawn else (*seen, *drawn)


def over_picture(row: Row, number_of: int) -> Iterator[Map]:
    """The query; from its scores on what every key has got so far."""
    query, key, computed = row.parts.tokens, row.parts.key_tokens, row.computed
    if query.grid is None or key.grid is None:
        return
    stage = {3: computed.scores, 4: computed.scaled, 5: computed.biased}.get(number_of)
    values = row.weights if stage is None else stage[0, 0]
    reached = values[~torch.tensor(row.masked)] if number_of == 5 else values
    low, top = (0.0, 1.0) if stage is None else (float(reached.min()), float(reached.max()))
    drawn = Rows(
        values.clamp(min=low).numpy()[None],
        key.grid,
        query.grid,
        np.array([row.query_id]),
        row.parts.key_ids.numpy(),
        query.special,
        key.special,
        bounds=None if stage is None else (low, top),
        scale=SHARES if stage is None else robust([reached.numpy()]),
        kind="pick" if number_of < 3 else "" if stage is None else "similarity",
    )
    quantity = "score of a key" if stage is not None else "weight of a key"
    yield Map(drawn, row.asked, "The walk of", quantity)


def drawn_numbers(of: Subject, row: Row, place: int, number_of: int) -> Blocks:
    """The vectors of a step."""
    head, after, computed = row.head, row.after_head, row.computed
    query, key = head.query[row.position], head.key[place]
    scores, scaled, biased = (each[0, 0] for each in (computed.scores, computed.scaled, computed.biased))
    match number_of:
        case 1:
            seen = of.seen_rgb
            if box := pixel_box(row.parts.tokens, row.query_id, (seen.shape[0], seen.shape[1])):
                x0, y0, x1, y1 = (round(side) for side in box)
                cut = np.ascontiguousarray(seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])
                yield Picture(cut, f"The patch at {row.query_name}", share=0.4)
            if row.parts.arriving is not None:
                yield strips({"x": row.parts.arriving[row.position]}, "x, the vector that enters the layer")
        case 2:
            yield strips({"q": query, "k": key}, f"Query {row.query_name}, key {row.key_name(place)}")
        case 3:
            yield strips({"q": query, "k": key, "q k": query * key}, "Products of q and k, channel by channel")
        case 4:
            yield strips({"q · k": scores, "scaled": scaled}, "Scores of all keys", KEYS)
        case 5:
            yield strips({"scaled": scaled, "+ b": biased}, "Scores of all keys", KEYS)
        case 6:
            points = np.stack([each.double().numpy() for each in (biased, row.weights)])[:, ~np.array(row.masked)]
            chosen = float(biased[place]), float(row.weights[place])
            dots = {"a key": (points[0], points[1]), row.key_name(place): tuple(map(np.atleast_1d, chosen))}
            yield Chart(
                curves(dots, "score", "weight", "Softmax", mode="markers"), "The weight of every key by its score"
            )
        case 7:
            given = row.weights[:, None] * head.value
            order = row.weights.argsort(descending=True).tolist()
            rows = {row.key_name(each): given[each] for each in order[:MOST_SHOWN]}
            rest = {f"{len(others)} more": given[others].sum(0)} if (others := order[MOST_SHOWN:]) else {}
            yield strips({**rows, **rest, "sum o": given.sum(0)}, "Values times weights, and their sum")
        case 8:
            joined = after["joined"].reshape(len(row.parts.weights), -1)
            yield strips({f"head {at}": each for at, each in enumerate(joined, 1)}, "The outputs of all heads")
        case 9:
            yield strips({"z": after.get("entering", after["joined"])}, "z, the heads side by side")
            yield strips({"y": after["projected"]}, "y, the output of the layer")
        case _:
            rows = {row.past: after["before"], "y": after["branch"], f"{row.past} + y": after["after"]}
            yield strips(rows, "What went past the layer, what it adds, and the sum")


def strips(rows: Mapping[str, Tensor], title: str, x: str = "channel") -> Chart:
    """Vectors of one length below one another, in one scale."""
    values = np.stack([each.double().numpy() for each in rows.values()])
    values[~np.isfinite(values)] = np.nan
    figure = heat_map(values, x, "", title, signed=True, y_names=[*rows], square=False, quantity="value")
    return Chart(figure, title)
