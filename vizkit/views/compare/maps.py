"""Maps: one map of every model on several images, on one scale, and its average over many."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import attention_map, head_map
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.comparison.average_map import average, strongest, times_equal
from vizkit.analysis.remarks.maps import of_models
from vizkit.analysis.remarks.remark import joined, percent
from vizkit.figure.scales import SHARES, SIGNED_SHARES, Scale
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Blocks,
    Grid,
    Heading,
    Line,
    Link,
    Numbers,
    Said,
    Tile,
    side_by_side,
)
from vizkit.views.compare.images import OfImages, every_model, first_answer, known
from vizkit.views.controls import again, choice, head, layer
from vizkit.views.relevance.decision import Decision
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How

if TYPE_CHECKING:
    from vizkit.datasets.image_set import ImageSet

LAYER, THESE, MANY = "layer", "these images", "48 others"
FAST = tuple(name for name, method in METHODS.items() if not method.slow)
TITLES = {LAYER: "Attention of a layer"} | {name: METHODS[name].title for name in FAST}
OTHERS = 48  # pictures
BLANK = 128  # grey, under the average
QUANTITY = "times an equal share; every doubling is one step of colour"


@dataclass(frozen=True)
class Found:
    """One map, in times an equal share. `on_insect`: (share, area), of drawn ones."""

    heat: Tensor
    signed: bool
    on_insect: tuple[float, float] | None


def of_layer(view: "Maps") -> bool:
    return view.method == LAYER


def of_class(view: "Maps") -> bool:
    return view.method != LAYER and METHODS[view.method].needs != "trace"


class Maps(Decision, OfImages):
    """A map of every model on several images, all on one scale."""

    target: str = again(Decision, "target", when=of_class)
    against: str = again(Decision, "against", when=of_class)

    method: str = choice("Map", (LAYER, *FAST), "Slower methods are on the Relevance page.", words=TITLES, runs=True)
    layer: int | None = layer("Layer", "A model with fewer layers shows its last.", key="layer", when=of_layer)
    head: int | None = head("Head", key="head", more=True, when=of_layer)
    asks: Literal["class token", "patch"] = choice(
        "Whose attention",
        ("class token", "patch"),
        "Of a model without a class token the mean of all its tokens; or the patch at the cursor, in every image.",
        key="compare_asks",
        more=True,
        when=of_layer,
    )
    over: Literal["these images", "48 others"] = choice(
        "Average over",
        (THESE, MANY),
        "The others are newly drawn insects, or digits of the test split, by what a model knows.",
        key="compare_average",
        more=True,
        runs=True,
    )

    together = True
    how = How(
        "A row is an image, a column a model, and beside them each model's average map. All have one scale: a value is "
        "how many times the mean of its own map a place has, so that grids of any size and methods of any unit can be "
        "compared, and a colour counts doublings, so that a flat map can be seen beside a pointed one; red is evidence "
        "for the class, blue against it. A click on a map makes its image the sidebar's.",
        r"\hat h_i = \frac{h_i}{\frac1N \sum_j |h_j|}, \qquad \text{colour} \propto \log_2 \hat h_i",
        "how strong a map is as a whole, for each is divided by its own mean; nor whether it is right: the Trust view "
        "of the Relevance page says which maps the models confirm. An average shows habits of a model, such as the "
        "middle of the image, and nothing of a single one.",
        "Vaswani et al. 2017, eq. 1; the papers of the methods are on the Relevance page",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"{TITLES[self.method]}{'' if self.method == LAYER else f' for {self.target}'}"

    def show(self, of: Sequence[Subject]) -> Blocks:
        rows = self.rows(of)
        found = [[each.kept(self.key(each), partial(self.found, each)) for each in row] for row in rows]
        maps = [[each for each in row if isinstance(each, Found)] for row in found]
        if not any(maps):
            raise NotApplicable(next(each for row in found for each in row if isinstance(each, str)))
        yield Said(self.said(of, found))
        if unlike := [each.name for each in of if self.responds(each)]:
            has, maps_are = ("has", "its map is") if len(unlike) == 1 else ("have", "their maps are")
            yield Line(f"{joined(unlike)} {has} no attention: {maps_are} how strongly each place responds.")
        scale = scale_of([each for row in maps for each in row])
        names = [row[0].image or "the image" for row in rows]
        grid = Grid(
            tuple(self.named(each) for each in of),
            tuple(Tile(name, None) for name in names),
            tuple(
                tuple(
                    (tile_of(one, first_answer(each, column), scale), each)
                    for one, each, column in zip(line, row, zip(*rows, strict=True), strict=True)
                )
                for line, row in zip(found, rows, strict=True)
            ),
            QUANTITY,
            f"{self.title(of)}, one scale for all maps",
            "image",
            tuple(names),
            of[0].image,
        )
        yield side_by_side(
            (Heading("Each image"), grid), tuple(self.averaged(of, found, scale)), widths=(2 + 3 * len(of), 5)
        )
        yield from known(of)
        yield Numbers(partial(numbers, list(zip(*found, strict=True))))

    # ---- one map -----------------------------------------------------------------------------------------------------
    def key(self, of: Subject) -> Hashable:
        settings = (self.target, self.against) if self.method != LAYER else (self.layer, self.head, self.place(of))
        return "compared map", self.method, *settings

    def place(self, of: Subject) -> Any:
        return of.asked if self.asks == "patch" else None

    def found(self, of: Subject) -> Found | str:
        """The map, or the sentence why there is none."""
        try:
            heat, signed = self.of_layer(of) if self.method == LAYER else self.of_class(of)
        except NotApplicable as sentence:
            return str(sentence)
        covered = of.covered((heat.shape[0], heat.shape[1]))
        weights = heat.clamp(min=0)
        total, heat = float(weights.sum()), times_equal(heat)
        on = None if covered is None or not total else (float((weights * covered).sum()) / total, float(covered.mean()))
        return Found(heat, signed, on)

    def responds(self, of: Subject) -> bool:
        """Whether its map of a layer is no attention, for it has none."""
        return self.method == LAYER and not of.layers

    def named(self, of: Subject) -> str:
        """A model with what its maps are."""
        kind = "responses" if self.responds(of) else "attention" if self.method == LAYER else TITLES[self.method]
        return f"{of.name} ({kind})"

    def of_class(self, of: Subject) -> tuple[Tensor, bool]:
        made = of.explanation(self.method, *self.asked(of))
        return made.heat, made.signed

    def of_layer(self, of: Subject) -> tuple[Tensor, bool]:
        """Attention; of a network without it how strongly each place responds."""
        if self.responds(of):
            stages = of.seen.features
            if not stages:
                raise NotApplicable(f"{of.name} has no layer with places in the image.")
            return feature_strength(stages[min(self.layer or len(stages), len(stages)) - 1]), False
        whole = [each for each in of.whole().attention if each.learned]
        shown = whole[min(self.layer or len(whole), len(whole)) - 1]
        if self.asks == "patch":
            return attention_map(shown, of.asked, None if self.head is None else self.head - 1).places, False
        heads = range(shown.weights.shape[1]) if self.head is None else [self.head - 1]
        maps = [each for each in (head_map(shown, number) for number in heads) if each is not None]
        if not maps:
            raise NotApplicable(f"Where the tokens of this layer of {of.name} lie in the image is not known.")
        return torch.stack(maps).mean(0), False

    # ---- all of them -------------------------------------------------------------------------------------------------
    def said(self, of: Sequence[Subject], found: Sequence[Sequence[Found | str]]) -> str:
        """On drawn insects which model has most of its map on them, else whose maps have most on few places; of two
        kinds each is named."""
        mixed = len({*map(self.responds, of)}) > 1
        every = {
            self.named(each) if mixed else each.name: [one for one in column if isinstance(one, Found)]
            for each, column in zip(of, zip(*found, strict=True), strict=True)
        }
        pairs = {name: [each.on_insect for each in maps if each.on_insect] for name, maps in every.items()}
        if all(len(pairs[name]) == len(maps) for name, maps in every.items()):
            areas = [area for each in pairs.values() for _, area in each]
            where = f"on the insect, which covers {percent(sum(areas) / len(areas))} of the image"
            shares = {name: sum(share for share, _ in each) / len(each) for name, each in pairs.items() if each}
        else:
            where = "on the strongest tenth of the places"
            few = {name: [strongest(each.heat) for each in maps] for name, maps in every.items() if maps}
            shares = {name: sum(each) / len(each) for name, each in few.items()}
        remark = of_models(shares, where, len(found))
        return remark or ""

    def averaged(self, of: Sequence[Subject], found: Sequence[Sequence[Found | str]], scale: Scale) -> Blocks:
        count = len(found) if self.over == THESE else OTHERS
        yield Heading(f"Average over {count} {'image' if count == 1 else 'images'}")
        if self.over == THESE:
            columns = zip(of, zip(*found, strict=True), strict=True)
            means = {each.name: [one for one in column if isinstance(one, Found)] for each, column in columns}
            yield from means_on(of, {name: mean_of(maps) for name, maps in means.items()}, scale)
            yield Link(f"Over {MANY}", replace(self, over=MANY))
            return
        yield every_model(of, self.key_of_many, self.over_many, lambda found: means_on(of, found, scale))

    def key_of_many(self, of: Subject) -> Hashable:
        return OfModel(("average", of.weights, self.key(of)))

    def over_many(self, of: Subject, progress: Callable[[int, int], None]) -> Tensor:
        """The mean map over pictures of what the model knows."""
        found = []
        for index, (rgb, _) in enumerate(others(of)):
            one = self.found(Subject(of.open, rgb, model=of.model, point=of.point))
            found += [one] if isinstance(one, Found) else []
            progress(index + 1, OTHERS)
        return mean_of(found)


def others(of: Subject) -> "ImageSet":
    from vizkit.scoring import pictures

    digits = sorted(of.loaded.labels) == [str(digit) for digit in range(10)]
    return pictures(of.loaded, "digits" if digits else "insects", OTHERS)


def mean_of(maps: Sequence[Found]) -> Tensor:
    """Without places of no map."""
    return average([each.heat for each in maps]) if maps else torch.zeros(0, 0)


def means_on(of: Sequence[Subject], found: Mapping[str, Tensor], scale: Scale) -> Blocks:
    """The average of every model that has one."""
    shown = [(each, found[each.name]) for each in of if each.name in found and found[each.name].numel()]
    cells = tuple(((Tile("", heat.numpy(), scale=scale), blank(each)),) for each, heat in shown)
    if shown:
        rows = tuple(Tile(each.name, None) for each, _ in shown)
        yield Grid(("",), rows, cells, QUANTITY, "Average maps, on the scale of all others")


def scale_of(maps: Sequence[Found]) -> Scale:
    """One for all of them, whose values are in times an equal share already."""
    return replace(SIGNED_SHARES if any(each.signed for each in maps) else SHARES, unit="", equal=1.0)


def blank(of: Subject) -> Subject:
    """What an average lies over: no picture."""
    return Subject(of.open, np.full((*of.loaded.preprocessing.size_hw, 3), BLANK, np.uint8), model=of.model)


def tile_of(found: Found | str, answer: str, scale: Scale) -> Tile:
    return Tile("", None, found) if isinstance(found, str) else Tile("", found.heat.numpy(), answer, scale=scale)


def numbers(columns: Sequence[Sequence[Found | str]]) -> dict[str, np.ndarray]:
    """Of every model the values of all its maps in a row, image by image, and their grids (image, 2)."""
    every: dict[str, np.ndarray] = {}
    for index, column in enumerate(columns, 1):
        maps = [each.heat.numpy() for each in column if isinstance(each, Found)]
        every[f"values_{index}"] = np.concatenate([each.ravel() for each in maps]) if maps else np.zeros(0)
        every[f"grids_{index}"] = np.array([each.shape for each in maps]).reshape(-1, 2)
    return every
