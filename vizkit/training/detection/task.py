"""The task of finding things behind the loop's protocol: matching, the set loss, the best epoch by AP50."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn
from torch.utils.data import Dataset

from vizkit.datasets.image_set import SPLITS
from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.datasets.scenes.opening import ABOUT, open_boxes
from vizkit.image import Preprocessing
from vizkit.models.detection.building import Backbone, backbone_of, build
from vizkit.models.detection.matching import Things, Weights, around, losses, matched
from vizkit.models.detection.opening import config_of
from vizkit.models.detection.precision import all_right, found, precision
from vizkit.models.networks.detr import DETR, Answers, Learning
from vizkit.models.networks.positions import cell_middles
from vizkit.models.sources.loading import load
from vizkit.training.detection.batches import Scenes, things_of
from vizkit.training.detection.card import CARD, DRAWN
from vizkit.training.evaluating import Score
from vizkit.training.pictures.batches import in_order, loader, normalised
from vizkit.training.pictures.picture_cache import MEMORY_BYTES
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.task import CHANGES, Task, made, refuse_idle

BACKBONE = "bundled:insects_cnn"
SIDE_PX = 160
BATCH = 50
WEIGHTS = Weights()


@dataclass(frozen=True)
class DetectingTask(Task):
    """Finding things. `backbone`: how its CNN is made again."""

    model: DETR
    sets: dict[str, BoxSet]
    backbone: Backbone
    needs: Preprocessing
    examples, template = "scenes", CARD

    @property
    def labels(self) -> tuple[str, ...]:
        return self.sets["train"].labels

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        if split != "train":
            return Scenes(self.sets[split], self.needs, tell)
        return Scenes(
            self.sets[split],
            self.needs,
            tell,
            self.recipe.flip,
            quarters=self.recipe.data in ABOUT,
            crop=self.recipe.crop,
        )

    def shown(
        self, inputs: UInt8[Tensor, "_p _h _w 3"], labels: Float[Tensor, "_p _thing 5"], *draw: Any
    ) -> tuple[tuple[Tensor], list[Things]]:
        """Pictures normalised, and what is in them; how they are turned was drawn when they were read."""
        return (normalised(inputs, self.needs, labels.device),), things_of(labels)

    def loss(self, learned: Learning, truth: list[Things]) -> tuple[Tensor, Int[Tensor, ""], int]:
        """The losses of all layers and groups, each group of queries matched for itself, and of the cells; how many
        things the last layer's matched queries name rightly, and how many there are."""
        groups = int(self.model.sizes["groups"])
        things = [each for each in truth for _ in range(groups)]
        layers = [_by_group(layer, groups) for layer in learned.layers]
        pairs = [matched(layer, things, WEIGHTS) for layer in layers]
        parts = [losses(layer, things, own, WEIGHTS) for layer, own in zip(layers, pairs, strict=True)]
        if learned.cells:
            middles = cell_middles(learned.grid).to(learned.cells.logits.device)
            spoken = _by_group(learned.cells, 1)
            parts.append(losses(spoken, truth, [around(each, middles) for each in truth], WEIGHTS))
        named = layers[-1].logits.argmax(-1)
        right = torch.stack(
            [
                (named[place, queries] == things[place].labels[which]).sum()
                for place, (queries, which) in enumerate(pairs[-1])
            ]
        ).sum()
        total = torch.stack([part.total(WEIGHTS) for part in parts]).sum()
        return total, right, max(1, sum(len(each.labels) for each in things))

    @torch.inference_mode()
    def score(self, model: nn.Module, data: Dataset, accelerator: Accelerator, workers: int, *sampled: Any) -> Score:
        """Every process looks at all scenes: average precision is not a mean of parts. Accuracy here is the share of
        scenes all of whose things are found and in which nothing else is said."""
        model.eval()
        total = len(data)  # type: ignore[arg-type]
        detections, truth, error = [], [], 0.0
        for inputs, labels in loader(data, in_order(total, BATCH), workers):
            things = things_of(labels.to(accelerator.device))
            with accelerator.autocast():
                answers = model(normalised(inputs, self.needs, accelerator.device))
            answers = Answers(*(each.float() for each in answers))
            pairs = matched(answers, things, WEIGHTS)
            error += float(losses(answers, things, pairs, WEIGHTS).total(WEIGHTS)) * len(things)
            detections += found(answers)
            truth += things
        measured = precision(detections, truth, len(self.labels))
        right = sum(all_right(one, things) for one, things in zip(detections, truth, strict=True))
        return Score(error / total, right / total, total, [], ap50=measured.ap50, ap=measured.ap)

    def config(self) -> dict[str, Any]:
        return config_of(self.recipe.model, self.model, self.backbone, self.labels, self.needs, self.recipe.licence)

    def told(self, run: RunFolder, tested: Score) -> dict[str, Any]:
        val_ap50 = max(line["val_ap50"] for line in run.metrics())
        origin = DRAWN if run.recipe.data == "scenes" else ""
        return {"ap50": tested.ap50, "ap": tested.ap, "val_ap50": val_ap50, "origin": origin}


def detecting_task(recipe: Recipe) -> DetectingTask:
    """Raises RecipeError, DatasetError or ModelError with one sentence where something is not to be had.

    The backbone is `model_args["backbone"]`: "bundled:NAME", whose weights it starts from, or a timm name.
    """
    refuse_idle(recipe, (*CHANGES, "smoothing"), f"telling images apart; {recipe.model} finds things in them.")
    sizes = dict(recipe.model_args)
    source = str(sizes.pop("backbone", BACKBONE))
    torch.manual_seed(recipe.seed)
    trunk, plan, config = _backbone(source, recipe.pretrained)
    side = recipe.image_size or SIDE_PX
    sets = {split: opened(recipe, split, side) for split in SPLITS}
    if any(each.labels != sets["train"].labels for each in sets.values()):
        raise RecipeError(f"The splits of {recipe.data} have different classes; give them the same categories.")
    needs = Preprocessing((side, side), config.mean, config.std, 1.0, "squash", "bilinear")
    model = made(recipe, build, len(sets["train"].labels), trunk, sizes)
    return DetectingTask(recipe, model, sets, plan, needs)


def opened(recipe: Recipe, split: str, side: int) -> BoxSet:
    """RecipeError for more pictures than the memory holds."""
    count = (recipe.images or None) if split == "train" else None
    scenes = open_boxes(recipe.data, split, count=count, size_px=side, seed=recipe.data_seed)
    if len(scenes) * side * side * 3 > MEMORY_BYTES:
        most = MEMORY_BYTES // (side * side * 3)
        raise RecipeError(f"{len(scenes):,} images of {side} pixels do not fit into memory: set images to {most:,}.")
    return scenes


def _backbone(source: str, pretrained: bool) -> tuple[nn.Module, Backbone, Preprocessing]:
    """The CNN without its classifier, how it is made again, and how its pictures are normalised."""
    import timm.data

    if source.startswith("bundled:"):
        loaded = load(source, device="cpu")
        model: Any = loaded.model
        config = model.pretrained_cfg
        plan = Backbone(config["architecture"], _arguments(source))
        made = backbone_of(plan)
        made.load_state_dict({name: value for name, value in model.state_dict().items() if name in made.state_dict()})
        return made, plan, loaded.preprocessing
    plan = Backbone(source)
    try:
        made = backbone_of(plan, pretrained=pretrained)
    except ValueError as error:
        raise RecipeError(str(error)) from None
    return made, plan, Preprocessing.from_config(timm.data.resolve_model_data_config(made))


def _arguments(source: str) -> dict[str, Any]:
    """What config.json of a bundled model says beside its architecture, without its classifier."""
    from vizkit.models.sources.checkpoint import read_json
    from vizkit.models.sources.loading import BUNDLED

    options = read_json(BUNDLED / source.partition(":")[2] / "config.json", source).get("model_args", {})
    return {name: value for name, value in options.items() if name not in ("num_classes", "global_pool")}


def _by_group(answers: Answers, groups: int) -> Answers:
    """Every group of every picture as a picture of its own, in full precision."""
    return Answers(*(each.float().unflatten(1, (groups, -1)).flatten(0, 1) for each in answers))
