"""Similarity: how alike the layers of one model, or of two, represent the same images."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from vizkit.analysis.remarks.interventions import of_alignment
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.charts import heat_map
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Chart, Hint, Job, Later, Line, Numbers, Said
from vizkit.views.compare.runs import compared
from vizkit.views.controls import choice, folder
from vizkit.views.data_set.recorded import allowed, run_at
from vizkit.views.distillation.labelled import subject_called
from vizkit.views.intervene.steer import set_for
from vizkit.views.measured_with import EXPERIMENTS, others
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How, View

RECORDS = ("similarity/digits.json", "similarity/insects.json")
IMAGES, FEW = 256, 64
LARGE = 10_000_000  # parameters; with a model that has more FEW images are measured, so that nobody waits a minute
MOST_NUMBERED = 12
IMAGES_OF = {name: f"test images of {name}" for name in ("digits", "insects")}
IMAGES_OF["photographs"] = "crops of the six photographs that come with vizkit"
ITSELF = "itself"
LAYERS, MAPS = "layers", "maps"


class Alike(NamedTuple):
    """CKA of every layer of one model (rows) with every layer of another one."""

    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    data: str
    images: int


def partners(of: Sequence[Subject]) -> list[str]:
    """The others that are shown, the model itself, and the bundled models that were measured with it."""
    own = called(of[0]) if of else ""
    names = [called(each) for each in (*of[1:], *(of[0].beside if of else ()))]
    return [name for name in dict.fromkeys([*names, ITSELF, *_measured_with(own)]) if name != own]


def kinds(of: Sequence[Subject]) -> list[str]:
    """Maps lie in folders: without any there are none to compare."""
    return [LAYERS, MAPS] if not of or of[0].folders else [LAYERS]


def of_maps(view: "LayerSimilarity") -> bool:
    return view.between == MAPS


class LayerSimilarity(View):
    """How alike layers represent the same images, in one model or in two."""

    between: Literal["layers", "maps"] = choice(
        "Similarity of",
        kinds,
        "Layers; or the maps of two folders that vizkit explain wrote, of the same images.",
        default=LAYERS,
        words={MAPS: "maps of two runs"},
        key="similarity_of",
        runs=True,
    )
    maps: str = folder("Maps", key="similarity_maps", when=of_maps, runs=True)
    less: str = folder(
        "Compared with those of", key="similarity_less", when=lambda view: view.between == MAPS, runs=True
    )
    other: str | None = choice(
        "Compared with",
        partners,
        "Of bundled models of the same data it is known; others are measured.",
        key="similarity_with",
        listed=True,
        runs=True,
        when=lambda view: view.between == LAYERS,
    )

    alone = True
    among = True
    overlays = False
    how = How(
        "Every layer says of each pair of images how alike they are; CKA says how far two layers agree in that: "
        "1 for a layer and itself, turned or scaled as one likes. Raghu et al. found large ViTs alike all through and "
        "large CNNs in two blocks; a small model may be otherwise.",
        r"\mathrm{CKA}(K, L) = \frac{\mathrm{HSIC}_1(K, L)}{\sqrt{\mathrm{HSIC}_1(K, K)\,\mathrm{HSIC}_1(L, L)}}, "
        r"\quad K = X X^\top",
        "what is alike: a few directions of large variance can decide it.",
        "Kornblith et al. 2019; Nguyen et al. 2021; Raghu et al. 2021",
    )

    def title(self, of: Subject) -> str:
        if self.between == MAPS:
            return f"How alike the maps are: {self.maps} and {self.less}"
        return f"How alike the layers are: {called(of)} and {self.of_other(of)}"

    def of_other(self, of: Subject) -> str:
        return self.other or partners([of])[0]

    def show(self, of: Subject) -> Blocks:
        if self.between == MAPS:
            if not {self.maps, self.less} <= of.folders.keys():
                raise NotApplicable("Choose two folders that vizkit explain wrote, of the same images.")
            one, other = (run_at(of.folders[name]) for name in (self.maps, self.less))
            yield from compared(one, other, partial(allowed, of))
            return
        name, other = self.names(of)
        if (alike := shipped(name, other)) is not None:
            yield from self.drawn(of, alike)
            return
        data = set_for(of.loaded)
        models = self.models(of)
        images = FEW if max(each.parameters for each in models) > LARGE else IMAGES
        key = OfModel(("cka", other, data))
        parts: list[Any] = of.kept(OfModel(("cka so far", other, data)), list)

        def show(found: Mapping[Hashable, Any]) -> Blocks:
            result = found.get(key) or (gathered(of, models, parts, data) if parts else None)
            yield from self.drawn(of, result, strange) if result else ()

        named = dict(zip(dict.fromkeys((name, other)), models, strict=True))
        strange = [name for name, each in named.items() if set_for(each) != data]
        words = f"{images} {IMAGES_OF[data]} go through {'the model' if other == name else 'both models'}, once"
        yield Later(of, (Job(key, words, partial(self.measured, of, data, images, parts)),), show)

    def names(self, of: Subject) -> tuple[str, str]:
        """Of the model, and of the one that it is compared with: perhaps itself."""
        other = self.of_other(of)
        return called(of), called(of) if other == ITSELF else other

    def models(self, of: Subject) -> list[Any]:
        name, other = self.names(of)
        return [of.loaded, *([] if other == name else [subject_called(other, [of, *of.beside]).loaded])]

    def measured(
        self, of: Subject, data: str, images: int, parts: list[Any], progress: Callable[[int, int], None]
    ) -> Alike:
        from vizkit.evaluation.inside.similarity import similarity

        models = self.models(of)
        similarity(models, data, images, tell=lambda share: progress(round(1000 * share), 1000), parts=parts)
        return gathered(of, models, parts, data)

    def drawn(self, of: Subject, alike: Alike, strange: Sequence[str] = ()) -> Blocks:
        """`strange`: models that did not learn such images."""
        name, other = self.names(of)
        measured = f" Measured on {alike.data}, which {joined(strange)} never learned." if strange else ""
        yield Said(of_alignment(alike.values, name, "" if name == other else other) + measured)
        yield Chart(map_of(alike, name, other), f"CKA of the layers of {name} with those of {other}")
        yield Line(f"{alike.images} {IMAGES_OF[alike.data]}.")
        yield Hint("Hover a cell for the names of its blocks.")
        names = {"rows": np.array(alike.rows), "columns": np.array(alike.columns)}
        yield Numbers(lambda: {"cka": alike.values, **names})


# ---- what is known ---------------------------------------------------------------------------------------------------
@cache
def _files() -> list[dict[str, Any]]:
    """With the models as people call them; of these weights alone."""
    own = [record for record in RECORDS if not others(record)]
    every = [json.loads((EXPERIMENTS / record).read_text(encoding="utf-8")) for record in own]
    return [content | {"models": [*map(bundled.title, content["models"])]} for content in every]


def called(of: Subject) -> str:
    """The model as people call it; a page names it so already."""
    return bundled.title(of.loaded.name)


def _measured_with(name: str) -> list[str]:
    return next((content["models"] for content in _files() if name in content["models"]), [])


def shipped(name: str, other: str) -> Alike | None:
    """Of two models that come with vizkit, as `python -m vizkit cka` measured them."""
    for content in _files():
        models: list[str] = content["models"]
        if name in models and other in models:
            values, places = np.array(content["cka"]), (models.index(name), models.index(other))
            return picked(content["layers"], values, *places, content["data"], content["images"])
    return None


def picked(layers: Sequence, values: np.ndarray, first: int, second: int, data: str, images: int) -> Alike:
    """The part of all pairs that belongs to two models by their numbers."""
    rows, columns = ([at for at, (model, _) in enumerate(layers) if model == own] for own in (first, second))
    names = [tuple(layers[at][1] for at in places) for places in (rows, columns)]
    return Alike(values[np.ix_(rows, columns)], names[0], names[1], data, images)


def gathered(of: Subject, models: Sequence[Any], parts: Sequence[Any], data: str) -> Alike:
    from vizkit.evaluation.inside.similarity import gathered as together

    result = together(models, parts)
    return picked([*result.layers], result.values.numpy(), 0, len(models) - 1, data, result.images)


def map_of(alike: Alike, name: str, other: str) -> "object":
    """Layers from below upwards and from left to right, as published."""
    digits = 2 if max(alike.values.shape) <= MOST_NUMBERED else None
    look: dict[str, Any] = {"limit": 1.0, "digits": digits, "bar": digits is None, "height": 480, "quantity": "CKA"}
    figure = heat_map(alike.values, f"layer of {other}", f"layer of {name}", **look)
    rows, columns = (list(range(1, len(names) + 1)) for names in (alike.rows, alike.columns))
    figure.update_traces(
        x=columns,
        y=rows,
        customdata=[[(r, c) for c in alike.columns] for r in alike.rows],
        hovertemplate="%{customdata[0]} and %{customdata[1]}: %{z:.2f}<extra></extra>",
    )
    figure.update_xaxes(dtick=1 if len(columns) <= MOST_NUMBERED else None)
    return figure.update_yaxes(autorange=True, dtick=1 if len(rows) <= MOST_NUMBERED else None)
