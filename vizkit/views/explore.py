"""Explore: which patches are alike after a block, where one query attends in every layer and head, and the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from vizkit.analysis.attention.attention_map import all_heads, attention_map, find_query, layers
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.analysis.remarks import attention, places
from vizkit.figure.scales import of_shares
from vizkit.geometry import along, cell_of, in_shares, name_of
from vizkit.heads import LIKENESS
from vizkit.traces import NotApplicable
from vizkit.views import ALIKE, alike
from vizkit.views.all_heads import chosen, heads_of
from vizkit.views.blocks import (
    Answered,
    Blocks,
    Columns,
    Download,
    Heading,
    Line,
    Map,
    Numbers,
    Proof,
    Said,
    Table,
    first_said,
)
from vizkit.views.controls import choice, head, layer, query, scale
from vizkit.views.licences import licence_words
from vizkit.views.rows_of import layer_for_browser, stage_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.analysis.attention.attention_map import Query
    from vizkit.geometry import Box
    from vizkit.models import Loaded
    from vizkit.traces import Attention, Trace

TOUR_GRID, TOUR_STEPS = (56, 56), 16
ATTENTION, FEATURES = "attention", "strength of features"
NO_PLACES = "No layer of this model has places in the image: it gives an answer and no map."


def maps(of: Sequence[Subject]) -> list[str]:
    """What there is to be seen: networks without attention have features alone."""
    return [ATTENTION if not of or any(each.layers for each in of) else FEATURES, ALIKE]


def meant(of: Sequence[Subject], text: str) -> str:
    """A link to the attention of one network opens the features of another."""
    return text if text == ALIKE else maps(of)[0]


class Explore(View):
    """Where one query attends in a layer, or which patches have vectors like its own after a block: of a network
    without attention, how strongly each place responds."""

    shows: Literal["attention", "strength of features", "alike patches"] = choice(
        "Map",
        maps,
        "“Attention” shows what the query weighs in a layer; a network without attention has the “strength of "
        "features” at each place instead. “Alike patches” shows which patches have similar vectors after that layer's "
        "block: the cosine of their vectors with that of the query.",
        default=ATTENTION,
        meant=meant,
        runs=True,
        key="shows",
    )
    layer: int | None = layer("Layer", "A model with fewer layers shows its last.", plays=True, key="layer")
    head: int | None = head("Head", key="head", when=lambda view: view.shows != ALIKE)
    query: str | tuple[int, int] = query(
        "Query",
        "Whose attention, or whose vector, is shown: that of the patch under the cursor or of a special token.",
        key="query",
    )
    scale: Literal["doublings", "linear"] = scale(key="scale")

    how = How(
        "A bright place has a large weight: the marked query attends strongly to it in this layer. The weights of all "
        "places, special tokens and padding sum to one. With “alike patches” a bright place has a vector like that of "
        "the marked patch after the block: after the first of what lies near, after the last of one object. Hover to "
        "preview, click or use the arrow keys to choose a patch; every model has a grid of its own. The dark border "
        "was cut off before the model saw the image. For a network without attention, or whose attention has no "
        "softmax, the length of the feature vector at each place is drawn instead.",
        r"\text{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + \text{mask}\right)",
        "why the model predicts a class. A weight says how a layer mixes its tokens; the values that it mixes, and "
        "everything after, are not in the map (Jain & Wallace 2019).",
        "Vaswani et al. 2017, eq. 1; Dosovitskiy et al. 2020; windows: Liu et al. 2021",
    )

    def title(self, of: Subject) -> str:
        trace, number = self.traced(of)
        if self.shows == ALIKE and of.depth:
            return f"Patches alike after {self.block(of)[1]}"
        if not layers(trace):
            count = len(trace.features)
            return f"Strength of features: stage {number} of {count}" if count else "The answer"
        shown = layers(trace)[number - 1]
        who = name_of(shown.query, find_query(shown, self.asked(of))[0])
        return f"Attention of {who}: {self.called(trace, number).replace(' · ', ', ')}"

    def show(self, of: Subject) -> Blocks:
        trace, number = self.traced(of)
        if not layers(trace) and not trace.features:
            yield from answer_alone(of, trace)
        elif of.beside or not layers(trace):
            yield from (*self.mapped(of, trace, number), *self.every_head(of, trace, number))
        else:  # one model has room for all heads beside the large map
            yield Columns((tuple(self.mapped(of, trace, number)), tuple(self.every_head(of, trace, number))), (3, 4))
        yield Answered(of.loaded)
        if self.shows != ALIKE and layers(trace) and (grown := self.grown(of, trace)):
            yield Said(grown)
        yield Proof(trace)
        yield Line(about(of.loaded))
        yield Numbers(partial(self.numbers, of))
        yield Download("Numbers of all layers (NPZ)", partial(self.whole, of))

    # ---- what is asked -----------------------------------------------------------------------------------------------
    def asked(self, of: Subject) -> "Query":
        return asked_of(of, self.query)

    def traced(self, of: Subject) -> "tuple[Trace, int]":
        """The trace with this query's rows, and the layer, or the stage, that is shown, from 1."""
        trace = of.trace(self.asked(of))
        depth = len(layers(trace)) or len(trace.features)
        return trace, min(self.layer or depth, depth)

    def index(self, trace: "Trace", number: int) -> int | None:
        """The head that is shown, from 1; of very many weights the mean alone is recorded."""
        shown = layers(trace)[number - 1]
        return None if self.head is None or shown.shape[1] < shown.heads else min(self.head, shown.heads)

    def block(self, of: Subject) -> tuple[int, str]:
        """(the block of the layer that is shown, its name)."""
        return alike.after(of, min(self.layer or of.depth, of.depth) / of.depth)

    # ---- the picture -------------------------------------------------------------------------------------------------
    def likeness(self, of: Subject, trace: "Trace") -> Blocks:
        (block, which), asked = self.block(of), self.asked(of)
        rows, said_by = alike.rows_after(of, block, asked), alike.sentences(of, block, which, asked)
        yield Line(f"which patches are alike after {which}{self.instead(of)}")
        yield Map(
            replace(rows, scale=alike.scale_of(of, asked)),
            asked,
            "Patches like the chosen one in",
            "cosine with the query, one scale for all blocks",
            tuple(answers(of.loaded, trace)),
            said_by.get(rows.query_id(asked, of.asked), ""),
            "query",
            said_by=said_by,
        )

    def instead(self, of: Subject) -> str:
        """That another token asks than was chosen for the models beside this one."""
        lacks = isinstance(self.query, str) and self.query not in ("patch", *of.special) and of.layers
        return f" · no [{self.query}] here: the patch at the cursor asks" if lacks else ""

    def every_head(self, of: Subject, trace: "Trace", number: int) -> Blocks:
        """The attention of this query in all of them; a click shows one large."""
        if layers(trace):
            asked, index = self.asked(of), None if self.shows == ALIKE else self.index(trace, number)
            what = "For comparison, attention" if self.shows == ALIKE else "Attention"
            yield Heading(f"{what} of {chosen(trace, asked)} in all layers and heads")
            yield heads_of(trace, asked, number, index, of_shares(self.scale), ("layer", "head", "shows"))

    def mapped(self, of: Subject, trace: "Trace", number: int) -> Blocks:
        if self.shows == ALIKE:
            yield from self.likeness(of, trace)
            return
        recorded, bars = layers(trace), tuple(answers(of.loaded, trace))
        if not recorded:
            stage, count = trace.features[number - 1], len(trace.features)
            why = "its attention has no softmax" if trace.linear else "a network without attention"
            yield Line(f"stage {number} of {count} · strength of features · {why}")
            strength = feature_strength(stage)
            covered = of.covered((strength.shape[0], strength.shape[1]))
            what = "the strength of the features"
            said = first_said(places.where(strength, covered, what), places.spread(strength, what))
            yield Map(stage_for_browser(stage), of.asked, "Features of", "length of the feature vector", bars, said)
            return
        shown, index = recorded[number - 1], self.index(trace, number)
        grid = shown.key.grid
        size = f" · {grid[0]} × {grid[1]} patches" if grid else ""
        yield Line(f"{self.called(trace, number)}{size}{self.instead(of)}")
        if grid is None:
            yield Line(why_no_map(shown))
        asked, among = self.asked(of), None if index is None else index - 1
        clearer = self.clearer(of, trace, number) if grid and among is None else None
        rows = layer_for_browser(shown, among, asked, of_shares(self.scale))
        every = shown.query_ids.numel() >= len(shown.query)
        key = "said", number, index, None if every else asked
        otherwise, said_by = of.kept(key, partial(sentences, of, shown, number, among))
        yield Map(
            rows,
            asked,
            "Attention of",
            "share of the query's attention",
            bars,
            " ".join(filter(None, (said_by.get(find_query(shown, asked)[0], otherwise), clearer))),
            "query",
            said_by=said_by,
            guide="Hover over another patch, or play the layers above.",
            elsewhere=tuple(self.elsewhere(of)),
            tour=tuple(tour(of)),
        )

    def clearer(self, of: Subject, trace: "Trace", number: int) -> str | None:
        """Of a mean that is nearly even, which head is not."""
        shown, asked = layers(trace)[number - 1], self.asked(of)
        cell = None if isinstance(asked, str) else cell_of(shown.query, find_query(shown, asked)[0])
        return attention.clearest(attention_map(shown, asked).places, all_heads(trace, asked), cell)

    def elsewhere(self, of: Subject) -> Iterator[tuple[str, tuple[int, int], "Box"]]:
        """The grids of the other models at this layer."""
        for other in of.beside:
            recorded = other.layers
            grid = recorded[min(self.layer or len(recorded), len(recorded)) - 1].query.grid if recorded else None
            if grid is not None:
                yield other.name, grid, in_shares(other.box_xyxy, other.rgb.shape[:2])

    def grown(self, of: Subject, trace: "Trace") -> str:
        """What changes with depth."""
        asked = self.asked(of)
        return of.kept(("with depth", asked), partial(with_depth, of, trace, asked))

    def called(self, trace: "Trace", number: int) -> str:
        recorded, index = layers(trace), self.index(trace, number)
        heads = recorded[number - 1].heads
        which = f"mean of {heads} heads" if index is None else f"head {index} of {heads}"
        return f"layer {number} of {len(recorded)} · {which}"

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def numbers(self, of: Subject) -> dict[str, np.ndarray]:
        """The map and what special tokens get, and of every layer the maps of all heads."""
        trace, number = self.traced(of)
        recorded = layers(trace)
        if self.shows == ALIKE:
            others = all_numbers(trace, self.asked(of), number, None) if recorded else {}
            asked = self.asked(of)
            rows = alike.rows_after(of, self.block(of)[0], asked)
            return others | alike.numbers(rows, asked, of.asked, with_special=bool(recorded))
        if not recorded:
            return {"places": feature_strength(trace.features[number - 1]).numpy()} if trace.features else {}
        return all_numbers(trace, self.asked(of), number, self.index(trace, number))

    def whole(self, of: Subject) -> bytes:
        from vizkit.saving import npz_bytes

        return npz_bytes(self.traced(of)[0])


def asked_of(of: Subject, query: str | tuple[int, int]) -> "Query":
    """A special token, or a point in fractions of what the model sees; NotApplicable where there is no such cell."""
    if isinstance(query, str):
        return query if query in of.special else of.asked
    tokens = next((each.query for each in of.layers if each.query.grid), None)
    if tokens is None or tokens.grid is None:
        raise NotApplicable(f"{of.name} has no patches that ask.")
    row, column = of.cell(tokens, query) or (0, 0)
    return (column + 0.5) / tokens.grid[1], (row + 0.5) / tokens.grid[0]


def tour(of: Subject) -> Iterator[tuple[float, float]]:
    """Along a drawn insect, in shares of the image."""
    covered, (x0, y0, x1, y1) = of.covered(TOUR_GRID), in_shares(of.box_xyxy, of.rgb.shape[:2])
    for x, y in [] if covered is None else along(covered, TOUR_STEPS):
        yield round(x0 + x * (x1 - x0), 4), round(y0 + y * (y1 - y0), 4)


def sentences(of: Subject, shown: "Attention", number: int, head: int | None) -> tuple[str, dict[int, str]]:
    """(what stands out over all queries; by the id of each recorded query what stands out in its row, else that, else
    how widely it attends)."""
    covered = of.covered(shown.key.grid) if shown.key.grid else None
    otherwise = first_said(attention.of_head(shown, number, head))
    own = attention.of_rows(shown, number, head, covered)
    widely = attention.how_widely(shown, number, head)
    return otherwise, {query: first_said(own.get(query)) or otherwise or said for query, said in widely.items()}


def with_depth(of: Subject, trace: "Trace", asked: "Query") -> str:
    """How a special token's share of the drawn insect grows from layer to layer, or how far attention goes."""
    recorded = layers(trace)
    shares, area = list[float](), 0.0
    for each in recorded if isinstance(asked, str) else ():
        covered = of.covered(each.key.grid) if each.key.grid else None
        if covered is not None:
            area = float(covered.mean())
            shares.append(float((attention_map(each, asked).places * covered).sum()))
    by_layer = None
    if isinstance(asked, str) and recorded and len(shares) == len(recorded):
        by_layer = places.from_layer_on(shares, area, attention.called(asked))
    return first_said(by_layer, attention.with_depth(trace, asked))


def answers(loaded: "Loaded", trace: "Trace") -> Iterator[tuple[str, float | str]]:
    if loaded.head is not LIKENESS:  # to itself, which is 1
        yield from ((loaded.label(index), loaded.head.bar(value)) for index, value in loaded.head.top(trace.logits))


def answer_alone(of: Subject, trace: "Trace") -> Blocks:
    """Of a model without places, such as an MLP on pixels."""
    yield Said(NO_PLACES)
    rows = tuple({"answer": name, "": value} for name, value in of.loaded.head.lines(trace.logits, of.loaded.label))
    yield Table(rows, "What the model answers")


def why_no_map(shown: "Attention") -> str:
    if shown.key.name == "channels":
        return "This layer mixes channels, not places: it attends to no place in the image."
    return "Where the tokens of this layer lie in the image is not known, so no map is drawn."


def about(loaded: "Loaded") -> str:
    """A model in one line: its size, its input, where it is from."""
    height, width = loaded.preprocessing.size_hw
    count = loaded.parameters
    return " · ".join(
        [
            *([] if loaded.trained else ["untrained: its predictions mean nothing"]),
            *([] if loaded.head.exclusive else [loaded.head.title]),
            f"{count / 1e6:.1f} M parameters" if count >= 1e6 else f"{count / 1e3:.0f} k parameters",
            f"input {height} × {width} pixels",
            loaded.source,
            licence_words(loaded.licence),
        ]
    )


def all_numbers(trace: "Trace", asked: "Query", number: int, index: int | None) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    shown = layers(trace)[number - 1]
    if shown.key.grid:
        seen = attention_map(shown, asked, None if index is None else index - 1)
        found = {
            "places": seen.places.numpy(),
            "special": np.array(list(seen.special.values())),
            "special_names": np.array(list(seen.special), dtype=str),
        }
    every = enumerate(all_heads(trace, asked), 1)
    return found | {f"layer{layer}": maps.numpy() for layer, maps in every if maps is not None}
