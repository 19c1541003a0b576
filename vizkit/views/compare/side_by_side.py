"""Side by side: a map and the answers of every model on several images, on one scale, and where the models differ."""

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
from vizkit.analysis.comparison.average_map import average, laid, strongest, times_equal
from vizkit.analysis.remarks.maps import of_models
from vizkit.analysis.remarks.places import cover
from vizkit.analysis.remarks.remark import joined, percent
from vizkit.datasets import samples
from vizkit.figure.scales import SHARES, SIGNED_SHARES, Scale
from vizkit.heads import TINY
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Download, Grid, Hint, Line, Link, Numbers, Said, Table, Tile
from vizkit.views.compare.answers import REFUSALS, Answers, Row
from vizkit.views.compare.images import OfImages, all_photographs, every_model, images_beside, known
from vizkit.views.controls import again, choice, head, layer, switch
from vizkit.views.relevance.decision import Decision
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How
from vizkit.writing import csv_rows

if TYPE_CHECKING:
    from vizkit.datasets.image_set import ImageSet

CHOSEN, DISAGREEING = "as chosen", "where they disagree first"
LAYER, THESE, MANY = "layer", "these images", "48 others"
FAST = tuple(name for name, method in METHODS.items() if not method.slow)
TITLES = {LAYER: "Attention of a layer"} | {name: METHODS[name].title for name in FAST}
OTHERS = 48  # pictures
BLANK = 128  # grey, under the average
QUANTITY = "times an equal share; every doubling is one step of colour"


@dataclass(frozen=True)
class Found:
    """One map, in times an equal share. `covered`: how much of each place the insect covers, of drawn ones."""

    heat: Tensor
    signed: bool
    covered: Tensor | None


def of_layer(view: "SideBySide") -> bool:
    return view.method == LAYER


def of_class(view: "SideBySide") -> bool:
    return view.method != LAYER and METHODS[view.method].needs != "trace"


class SideBySide(Decision, OfImages):
    """A map and the answers of every model on several images, and where the models differ."""

    images: tuple[str, ...] = images_beside(all_photographs)
    usual = staticmethod(all_photographs)
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

    order: Literal["as chosen", "where they disagree first"] = choice("Order", (CHOSEN, DISAGREEING), more=True)
    differ: bool = switch("Only where they differ", more=True)

    together = True
    how = How(
        "A row is an image, a column a model: its map and its likeliest classes. All maps have one scale: a value is "
        "how many times the mean of its own map a place has, and a colour counts doublings, so that grids of any size "
        "and methods of any unit can be compared; red is evidence for the class, blue against it. Bars of one colour "
        "are one class in all rows; ✓ and ✗ say whether the first class is what the image shows, where that is known. "
        "A click on an image or a map makes that image the sidebar's.",
        r"\hat h_i = \frac{h_i}{\frac1N \sum_j |h_j|}, \quad \text{colour} \propto \log_2 \hat h_i; \qquad "
        r"\mathrm{JSD}(P, Q) = \tfrac12 \sum_c P_c \log_2 \tfrac{2P_c}{P_c + Q_c} + "
        r"\tfrac12 \sum_c Q_c \log_2 \tfrac{2Q_c}{P_c + Q_c}",
        "how strong a map is as a whole, for each is divided by its own mean; nor why a model is right or wrong: the "
        "Trust view of the Relevance page says which maps the models confirm. An average shows habits of a model, such "
        "as the middle of the image. The divergence counts only the classes that both models of a pair know by name, "
        "renormalised to sum to 1; pairs that give most of their probability to other classes have none.",
        "Vaswani et al. 2017, eq. 1; the papers of the methods are on the Relevance page; Lin 1991, Divergence "
        "measures based on the Shannon entropy, IEEE Trans. Inf. Theory 37: 0 bits: the same probabilities, 1 bit: "
        "no class in common",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"{TITLES[self.method]}{'' if self.method == LAYER else f' for {self.target}'}, and answers"

    def show(self, of: Sequence[Subject]) -> Blocks:
        images = self.rows(of)
        answers = Answers(images)
        found = [[each.kept(self.key(each), partial(self.found, each)) for each in row] for row in images]
        rows = list(zip(answers.rows, found, strict=True))
        if self.order == DISAGREEING:
            rows.sort(key=lambda row: (row[0].differ, row[0].apart or 0.0), reverse=True)
        if self.differ:
            rows = [row for row in rows if row[0].differ]
        maps = {each.name: those(column) for each, column in zip(of, zip(*found, strict=True), strict=True)}
        here = "" if rows and self.over == MANY else self.said(of, maps, len(found))
        yield Said(" ".join(filter(None, (answers.said, here))))
        if alone := len(of) == 1:
            yield Hint("The page compares models: choose a second one, and it stands beside this one.")
            yield Link("See two models on a drawn insect", replace(self, images=()), image=samples.INSECTS[0])
            yield from known(of)  # offers another one
        if unlike := [each.name for each in of if self.responds(each)]:
            has, maps_are = ("has", "its map is") if len(unlike) == 1 else ("have", "their maps are")
            yield Line(f"{joined(unlike)} {has} no attention: {maps_are} how strongly each place responds.")
        if not rows:
            yield Line("All models that can be compared give the same first class for every image.")
        elif self.over == THESE:
            yield self.grid(of, answers, rows, maps, len(found))
            if any(each.loaded.classifies for each in of):  # the others are insects or digits
                yield Link(f"Average over {MANY}", replace(self, over=MANY))
        else:
            words = f"The average over {OTHERS} images"
            yield every_model(of, words, self.key_of_many, self.over_many, partial(self.of_many, of, answers, rows))
            yield Link(f"Average over {THESE}", replace(self, over=THESE))
        yield from map(Line, answers.unmatched())
        yield from () if alone else known(of)
        if len(images) > 1 and answers.comparable:
            yield Table(tuple(answers.pairs()), "How often each pair of models agrees, and how far it is apart")
        yield Numbers(lambda: numbers(list(zip(*found, strict=True))) | answers.arrays())
        yield Download("All answers (CSV)", lambda: csv_rows(answers.listed()).encode())

    def grid(
        self,
        of: Sequence[Subject],
        answers: Answers,
        rows: Sequence[tuple[Row, Sequence[Found | str]]],
        maps: Mapping[str, Sequence[Found]],
        images: int,
    ) -> Grid:
        """Every image of `rows` in every model, and last the mean of each model's `maps`, of so many `images`."""
        means = {name: mean_of(each) for name, each in maps.items()}
        scale = scale_of([one for _, found in rows for one in those(found)])
        shown = [
            tuple((tile_of(one, answers, row, place, scale), row.of[place]) for place, one in enumerate(found))
            for row, found in rows
        ]
        heads = [Tile(row.name, None, " · ".join(answers.who(row))) for row, _ in rows]
        if any(each.numel() for each in means.values()):
            heads.append(Tile(f"Average over {images} {'image' if images == 1 else 'images'}", None))
            shown.append(tuple((average_tile(means.get(each.name), scale), blank(each)) for each in of))
        return Grid(
            tuple(self.named(each) for each in of),
            tuple(heads),
            tuple(shown),
            QUANTITY,
            f"{self.title(of)}, one scale for all maps",
            "image",
            tuple(row.name for row, _ in rows),
            of[0].image,
            len(rows),
        )

    def of_many(
        self,
        of: Sequence[Subject],
        answers: Answers,
        rows: Sequence[tuple[Row, Sequence[Found | str]]],
        maps: Mapping[str, Sequence[Found]],
    ) -> Blocks:
        if len(maps) == len(of):
            yield Said(self.said(of, maps, OTHERS))
        yield self.grid(of, answers, rows, maps, OTHERS)

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
        except REFUSALS as sentence:
            return str(sentence)
        return Found(times_equal(heat), signed, of.covered(heat.shape))

    def responds(self, of: Subject) -> bool:
        """Whether its map of a layer is no attention, for it has none."""
        return self.method == LAYER and not of.layers

    def named(self, of: Subject) -> str:
        """A model with what its maps are."""
        return f"{of.name} ({self.quantity(of)})"

    def quantity(self, of: Subject) -> str:
        return "responses" if self.responds(of) else "attention" if self.method == LAYER else TITLES[self.method]

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
        heads = range(shown.shape[1]) if self.head is None else [self.head - 1]
        maps = [each for each in (head_map(shown, number) for number in heads) if each is not None]
        if not maps:
            raise NotApplicable(f"Where the tokens of this layer of {of.name} lie in the image is not known.")
        return torch.stack(maps).mean(0), False

    # ---- all of them -------------------------------------------------------------------------------------------------
    def said(self, of: Sequence[Subject], maps: Mapping[str, Sequence[Found]], images: int) -> str:
        """On drawn insects which model has most of its map on them, else whose maps have most on few places, all on
        the coarsest grid among them, for large places hold more. Attention and responses are not ranked together."""
        every = [each for found in maps.values() for each in found]
        grids = {each.heat.shape for each in every}
        grid = tuple(min(sides) for sides in zip(*grids, strict=True))
        covered = [float(each.covered.mean()) for each in every if each.covered is not None]
        drawn = bool(covered) and len(covered) == len(every)
        where = "on the insect" if drawn else "on the strongest tenth of the places"
        more = f", which covers {percent(sum(covered) / len(covered))} of the image" if drawn else ""
        more += f", on one grid of {grid[0]} × {grid[1]}" if len(grids) > 1 else ""
        shares = {
            name: sum(share(each, grid, drawn) for each in found) / len(found) for name, found in maps.items() if found
        }
        kinds = [*dict.fromkeys(map(self.quantity, of))]
        words = []
        for kind in kinds:
            alike = {each.name: shares[each.name] for each in of if each.name in shares and self.quantity(each) == kind}
            its = "map" if len(kinds) == 1 else kind
            words.append(of_models(alike, f"{where}{', another quantity' if words else more}", images, its))
        return " ".join(filter(None, words))

    def key_of_many(self, of: Subject) -> Hashable:
        return OfModel(("average", of.weights, self.key(of)))

    def over_many(self, of: Subject, progress: Callable[[int, int], None]) -> list[Found]:
        """The maps of images of what the model knows."""
        found, images = list[Found](), others(of)
        for index, (rgb, _) in enumerate(images):
            one = Subject(of.open, rgb, model=of.model, point=of.point)
            insect = images.source.insect(index)
            for each in those([self.found(one)]):
                mask = None if insect is None else torch.from_numpy(insect.insect).float()
                covered = None if mask is None else cover(mask, one.box_xyxy, (each.heat.shape[0], each.heat.shape[1]))
                found.append(replace(each, covered=covered))
            progress(index + 1, OTHERS)
        return found


def others(of: Subject) -> "ImageSet":
    from vizkit.scoring import pictures

    digits = sorted(of.loaded.labels) == [str(digit) for digit in range(10)]
    return pictures(of.loaded, "digits" if digits else "insects", OTHERS)


def those(found: Sequence[Found | str]) -> list[Found]:
    """Where there is a map."""
    return [each for each in found if isinstance(each, Found)]


def share(found: Found, grid: Sequence[int], drawn: bool) -> float:
    """Of a map on this grid, what is above 0: how much lies on the insect, or on the strongest tenth of the places."""
    heat = laid(found.heat.clamp(min=0), grid)
    if not drawn or found.covered is None:
        return strongest(heat)
    return float((heat * laid(found.covered, grid)).sum() / heat.sum().clamp(min=TINY))


def mean_of(maps: Sequence[Found]) -> Tensor:
    """Without places of no map."""
    return average([each.heat for each in maps]) if maps else torch.zeros(0, 0)


def scale_of(maps: Sequence[Found]) -> Scale:
    """One for all of them, whose values are in times an equal share already."""
    return replace(SIGNED_SHARES if any(each.signed for each in maps) else SHARES, unit="", equal=1.0)


def blank(of: Subject) -> Subject:
    """What an average lies over: no image."""
    return Subject(of.open, np.full((*of.loaded.preprocessing.size_hw, 3), BLANK, np.uint8), model=of.model)


def tile_of(found: Found | str, answers: Answers, row: Row, place: int, scale: Scale) -> Tile:
    """A map with what the model answers; a sentence for each that there is not."""
    refused = dict.fromkeys(each for each in (found, row.answers[place]) if isinstance(each, str))
    places = None if isinstance(found, str) else found.heat.numpy()
    return Tile("", places, " ".join(refused), scale=scale, answers=answers.shown(row, place))


def average_tile(mean: Tensor | None, scale: Scale) -> Tile:
    return Tile("", None, "–") if mean is None or not mean.numel() else Tile("", mean.numpy(), scale=scale)


def numbers(columns: Sequence[Sequence[Found | str]]) -> dict[str, np.ndarray]:
    """Of every model the values of all its maps in a row, image by image, and their grids (image, 2)."""
    every: dict[str, np.ndarray] = {}
    for index, column in enumerate(columns, 1):
        maps = [each.heat.numpy() for each in those(column)]
        every[f"values_{index}"] = np.concatenate([each.ravel() for each in maps]) if maps else np.zeros(0)
        every[f"grids_{index}"] = np.array([each.shape for each in maps]).reshape(-1, 2)
    return every
