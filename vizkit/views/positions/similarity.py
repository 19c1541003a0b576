"""What positions know: how near two patches are for the model's own positions, or for others on the same grid."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.positions import ByDistance, by_distance, cosine_grid, sinusoidal, sinusoidal_2d
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import curves
from vizkit.figure.palette import CLASSES
from vizkit.figure.scales import Scale, robust
from vizkit.figure.tiles import tiles
from vizkit.models.probes.positions import biased_layers, kind, learned_table, relative_bias, resampled, rope_waves
from vizkit.traces import Attention, NotApplicable, Tokens
from vizkit.views.blocks import Blocks, Chart, Folded, Line, Map, Numbers, Picture, Said, first_said, side_by_side
from vizkit.views.controls import choice
from vizkit.views.rows_of import of_others, similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

WORDS = {
    "learned": "learned",
    "sinusoids": "sinusoidal",
    "one row": "sinusoidal, in one row",
    "rotary": "rotary",
    "relative": "relative, of layer 1",
}
COLOURS = dict(zip(WORDS, CLASSES, strict=False))
COSINES = tuple(name for name in WORDS if name != "relative")
MOST_AT_ONCE = 400  # places whose maps can be told apart on one picture
TIMES = {"own": 1.0, "half": 0.5, "double": 2.0}


@dataclass(frozen=True)
class Kind:
    """How near every place is to every other, as `rows`: cosines of the vectors of `table`, or, without one, shares of
    the weight that a `bias` (head, down, right) would give by itself. `near`: their mean by distance."""

    rows: Rows
    near: ByDistance
    table: Tensor | None = None
    bias: Tensor | None = None

    def said(self) -> str:
        """What is true of all places."""
        table = self.table if self.rows.query_ids is None else None  # of very many places not every pair is compared
        fading = positions.fading(self.near, shares=self.bias is not None)
        return first_said(table if table is None else positions.cross(table), fading)


def offered(of: Sequence[Subject]) -> list[str]:
    """The own ones, and those that one of the models has, or that are computed for it."""
    return ["own", *(name for name in WORDS if any(name in kinds_of(each) for each in of))]


class PositionSimilarity(View):
    """How near two patches are for the model's own positions, and for learned, sinusoidal, relative and rotary ones."""

    kind: str = choice(
        "Positions",
        offered,
        "Those of the model, or others for comparison.",
        default="own",
        words={"own": "the model's own"} | WORDS,
        key="positions_kind",
    )
    grid: Literal["own", "half", "double"] = choice(
        "Grid",
        ("own", "half", "double"),
        "For an image of another size a learned table is resampled, as timm does it: bicubic, antialiased; sinusoids "
        "are computed for it. The model's own rotations and biases have their own grid.",
        words={"own": "the model's", "half": "half as many a side", "double": "twice as many"},
        key="learned_grid",
        when=lambda view: view.kind not in ("rotary", "relative"),
    )

    how = How(
        "The map is of the patch under the cursor: the cosine of its position with that of every other place, or, of a "
        "relative bias, the share of the weight that it would give by itself, as the mean of the heads. Click a patch "
        "to keep it. A trained model has learned rows and columns by itself: a bright cross and a bright spot. A table "
        "and a bias are the model's own; sinusoids, and rotations where the model has none, are computed for its grid "
        "and its number of channels. The curves are means over all pairs of places.",
        r"\begin{gathered} \cos(e_i, e_j), \qquad \tfrac{2}{d}\sum_k \cos\!\big((p_i - p_j)\,\omega_k\big), \qquad "
        r"\mathrm{softmax}(B)_{ij} \\ PE_{(p,2i)} = \sin(p / 10000^{2i/d}), \quad PE_{(p,2i+1)} = "
        r"\cos(p / 10000^{2i/d}) \end{gathered}",
        "what attention makes of it: the product of query and key comes first.",
        "Dosovitskiy et al. 2020, fig. 7 centre; Vaswani et al. 2017, § 3.5; Liu et al. 2021; Su et al. 2021",
    )

    def title(self, of: Subject) -> str:
        return f"Similarity of positions: {WORDS[self.chosen(of)]}"

    def chosen(self, of: Subject) -> str:
        """The name of the kind: of several own ones the first, of a model without any sinusoids."""
        kinds = kinds_of(of, self.grid)
        if not kinds:
            raise NotApplicable(f"{of.name} has no layer whose tokens lie on a grid.")
        own = own_of(of, kinds)
        name = (own or ["sinusoids"])[0] if self.kind == "own" else self.kind
        if name not in kinds:
            raise NotApplicable(f"{of.name} has no {name} positions. Its own: {named(own)}.")
        return name

    def show(self, of: Subject) -> Blocks:
        name, kinds = self.chosen(of), kinds_of(of, self.grid)
        chosen, said_by = kinds[name], sentences(kinds[name].rows)
        yield Said(chosen.said())
        over = Map(
            replace(chosen.rows, scale=self.scale(of)) if chosen.table is not None else chosen.rows,
            of.asked,
            f"Similarity of positions, {WORDS[name]}, in",
            "cosine with the position of the chosen patch" if chosen.table is not None else "share of the weight",
            said=said_by.get(chosen.rows.query_id(of.asked), ""),
            said_by=said_by,
        )
        yield side_by_side(over, curve(name, kinds))
        down, right = chosen.rows.query_grid or (0, 0)
        yield Line(f"{down} × {right} places · its own positions: {named(own_of(of, kinds))}")
        if (table := chosen.table) is not None and down * right <= MOST_AT_ONCE:
            everything = f"All {down * right} positions at once"
            yield Folded(everything, lambda: [Picture(tiles(cosine_grid(table).numpy()), everything, "", 0.6)])
        row = chosen.rows.row_of(chosen.rows.query_id(of.asked))[0]
        arrays = {"near": row, "distance": chosen.near.distance, "mean": chosen.near.mean}
        yield Numbers(lambda: arrays | {"table": chosen.bias if table is None else table})

    def scale(self, of: Subject) -> Scale:
        """One for this model and those beside it, without what each place has with itself."""
        rows = []
        for each in (of, *of.beside):
            with suppress(NotApplicable):
                rows.append(kinds_of(each, self.grid)[self.chosen(each)].rows)
        return robust([of_others(each.values, each.query_ids) for each in rows if each.bounds])


def named(own: Sequence[str]) -> str:
    return joined([WORDS[name] for name in own]) if own else "none of these"


def own_of(of: Subject, kinds: Iterable[str]) -> list[str]:
    """Of these kinds those that the model has."""
    return [name for name in kinds if any(name in each for each in kind(of.loaded))]


def kinds_of(of: Subject, grid: str = "own") -> dict[str, Kind]:
    """What there is for this model, on the grid of its first layer; the learned ones resampled to another `grid`."""
    return of.kept(("position kinds", grid, of.asked), lambda: dict(every(of, grid)))


def every(of: Subject, grid: str) -> Iterator[tuple[str, Kind]]:
    first = next((layer for layer in of.layers if layer.query.grid and layer.key.grid), None)
    if first is None:
        return
    for name, table in tables(of, first, TIMES[grid]):
        places = Tokens("positions", (), (table.shape[0], table.shape[1]), stride=1.0)
        rows = similarity_for_browser(table.flatten(0, 1), places, of.asked)
        ids = None if rows.query_ids is None else torch.from_numpy(rows.query_ids)
        near = by_distance(torch.from_numpy(rows.values), (table.shape[0], table.shape[1]), ids)
        yield name, Kind(rows, near, table=table)
    if biased_layers(of.loaded.model):
        bias = relative_bias(of.loaded, 0)
        share = bias.bias.softmax(-1).mean(0)
        near = by_distance(share[bias.prefix :, bias.prefix :], bias.window)
        yield "relative", Kind(by_bias(share, first), near, bias=bias.by_offset)


def tables(of: Subject, first: Attention, times: float) -> Iterator[tuple[str, Tensor]]:
    """Vectors (row, column, channel) whose cosine says how near two places are, on a grid of so many `times` the
    model's rows and columns; rotations of the model itself on its own alone."""
    own = first.query.grid or (0, 0)
    down, right = (max(1, int(side * times)) for side in own)
    learned = learned_table(of.loaded)
    channels = 4 * max(1, (learned.shape[-1] if learned is not None else 64 * first.heads) // 4)
    if learned is not None and learned.shape[:2] == own:
        yield "learned", learned if (down, right) == own else resampled(of.loaded, (down, right))
    yield "sinusoids", sinusoidal_2d((down, right), channels)
    yield "one row", sinusoidal(down * right, channels).unflatten(0, (down, right))
    if "rotary" in kind(of.loaded):
        yield "rotary", rope_waves(of.loaded).permute(1, 2, 0, 3).flatten(2)  # all heads: the mean of their cosines
    else:
        yield "rotary", sinusoidal_2d((down, right), 4 * max(1, channels // first.heads // 4))


def by_bias(share: Tensor, first: Attention) -> Rows:
    """The weights that the bias alone gives, in every window the same; the window of the query is outlined."""
    groups = np.broadcast_to(share.numpy(), (len(first.query_ids), *share.shape))
    own, ids = (first.query.special, first.key.special), (first.query_ids.numpy(), first.key_ids.numpy())
    rows = Rows(groups, first.key.grid, first.query.grid, *ids, *own)
    if len(groups) == 1:
        return rows
    return replace(rows, query_regions=np.zeros_like(ids[0]), key_regions=np.zeros_like(ids[1]))


def sentences(rows: Rows) -> dict[int, str]:
    """What is said of every patch that can ask, by its id."""
    asking = np.arange(rows.values.shape[-2]) if rows.query_ids is None else rows.query_ids.ravel()
    first, (_, across) = len(rows.query_special), rows.query_grid or (0, 1)
    near = {query: torch.from_numpy(rows.row_of(query)[0]) for query in asking.tolist() if query >= first}
    shares = rows.bounds is None
    return {
        query: first_said(positions.told_apart(row, divmod(query - first, across), shares=shares))
        for query, row in near.items()
    }


def curve(name: str, kinds: dict[str, Kind]) -> Chart:
    """By distance the chosen kind, and of cosines those of the others on the same grid too, each in its own colour."""
    if name == "relative":
        near = kinds[name].near
        lines = {WORDS[name]: (near.distance.numpy(), 100 * near.mean.numpy())}
        figure = curves(lines, "distance in patches", "share of the weight, %", "By distance", mode="lines+markers")
        figure.update_traces(line_color=COLOURS[name])
        return Chart(figure, "Weight that the relative bias gives by itself, by distance")
    here = kinds[name].rows.query_grid
    every = [each for each in COSINES if each in kinds and kinds[each].rows.query_grid == here]
    means = {each: kinds[each].near for each in every}
    lines = {WORDS[each]: (near.distance.numpy(), near.mean.numpy()) for each, near in means.items()}
    figure = curves(lines, "distance in patches", "mean cosine", "By distance", mode="lines+markers")
    figure.update_yaxes(range=[min(0.0, *(float(line.min()) for _, line in lines.values())) - 0.03, 1.03])
    for each in every:
        opacity = 1 if each == name else 0.45
        figure.update_traces(line_color=COLOURS[each], opacity=opacity, selector={"name": WORDS[each]})
    return Chart(figure, "Cosine of positions by distance")
