"""The task of the mask head behind the loop's protocol: a network that finds stays as it is, masks are learned behind
it (Carion et al. 2020, § 4.4: first boxes, then masks with the weights of the boxes frozen)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn
from torch.utils.data import Dataset
from torchvision.ops import sigmoid_focal_loss

from vizkit.datasets.image_set import SPLITS
from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.datasets.scenes.opening import ABOUT
from vizkit.image import Preprocessing
from vizkit.models.detection.matching import matched
from vizkit.models.detection.opening import Detector, open_detector
from vizkit.models.detection.opening_masks import config_of, weights_digest
from vizkit.models.detection.panoptic import quality
from vizkit.models.detection.segmenting import FINEST, MaskInputs, finer_channels, mask_inputs, segments_of
from vizkit.models.networks.detr_masks import MaskHead
from vizkit.training.detection.batches import things_of
from vizkit.training.detection.mask_card import CARD
from vizkit.training.detection.masked_scenes import BOX, MaskedScenes
from vizkit.training.detection.task import opened
from vizkit.training.evaluating import Score
from vizkit.training.pictures.batches import in_order, loader, normalised
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.task import Task

OF = "bundled:scenes_detr"
BATCH = 25
Masks = Float[Tensor, "instance height width"]


@dataclass(frozen=True)
class MaskTask(Task):
    """What learns is the head alone: it is opened with the network behind which it was trained."""

    model: MaskHead
    sets: dict[str, BoxSet]
    detector: Detector
    digest: str
    examples, template = "scenes", CARD

    @property
    def needs(self) -> Preprocessing:
        return self.detector.preprocessing

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        mirrors = self.recipe.flip if split == "train" else 0.0
        return MaskedScenes(self.sets[split], self.needs.size_hw[0], tell, mirrors)

    def shown(
        self, inputs: UInt8[Tensor, "_p _h _w 3"], labels: Float[Tensor, "_p _thing _row"], *draw: Any
    ) -> tuple[tuple[Tensor, ...], Masks]:
        """What the head is given of the queries that are matched with things, and the masks of these things."""
        given = self._found(inputs, labels.device)
        image, query, masks = self._matched(given, labels)
        return given.inputs(image, query), masks

    def loss(self, logits: Masks, masks: Masks) -> tuple[Tensor, Int[Tensor, ""], int]:
        """The loss, how many masks have at least half in common with their thing's, and how many there are."""
        right = (mask_iou(logits, masks) > 0.5).sum()
        return mask_loss(logits, masks), right, max(1, len(masks))

    @torch.inference_mode()
    def score(self, model: nn.Module, data: Dataset, accelerator: Accelerator, workers: int, *sampled: Any) -> Score:
        """Every process looks at all scenes. `iou`: mean over things of their matched query's mask; `pq`: of the map of
        the queries that are sure; accuracy is the share of scenes whose things all match and in which nothing else is
        said."""
        assert isinstance(data, MaskedScenes)
        model.eval()
        total = len(data)
        said, ious, error = [], [], 0.0
        for inputs, labels in loader(data, in_order(total, BATCH), workers):
            labels = labels.to(accelerator.device)
            given = self._found(inputs, labels.device)
            image, query, masks = self._matched(given, labels)
            logits = model(*given.inputs(image, query))
            error += float(mask_loss(logits, masks)) * len(masks)
            ious.append(mask_iou(logits, masks))
            said += segments_of(model, given, self.needs.size_hw)  # type: ignore[arg-type]
        measured = quality(said, [data.truth(index) for index in range(total)], len(self.detector.labels))
        iou = torch.cat(ious)
        return Score(
            error / max(1, len(iou)),
            measured.perfect,
            total,
            [],
            pq=measured.pq,
            iou=float(iou.mean()) if len(iou) else 0.0,
        )

    def config(self) -> dict[str, Any]:
        return config_of(self.model, self.digest, self.recipe.licence)

    def told(self, run: RunFolder, tested: Score) -> dict[str, Any]:
        val_pq = max(line["val_pq"] for line in run.metrics())
        return {"of": self.detector.name, "pq": tested.pq, "iou": tested.iou, "val_pq": val_pq}

    def _found(self, pictures: UInt8[Tensor, "_p _h _w 3"], device: torch.device) -> MaskInputs:
        return mask_inputs(self.detector.model.to(device), normalised(pictures, self.needs, device))

    def _matched(
        self, given: MaskInputs, labels: Float[Tensor, "_p _thing _row"]
    ) -> tuple[Int[Tensor, " instance"], Int[Tensor, " instance"], Masks]:
        """Image, query and mask of every thing that has a query."""
        things = things_of(labels[..., :BOX])
        pairs = matched(given.answers, things)
        side = self.needs.size_hw[0] // FINEST
        images = torch.cat([torch.full_like(queries, place) for place, (queries, _) in enumerate(pairs)])
        queries = torch.cat([queries for queries, _ in pairs])
        masks = torch.cat([labels[place, which, BOX:] for place, (_, which) in enumerate(pairs)])
        return images.to(labels.device), queries.to(labels.device), masks.unflatten(1, (side, side))


def mask_loss(logits: Masks, masks: Masks) -> Float[Tensor, ""]:
    """Focal loss (Lin et al. 2017) + DICE (Milletari et al. 2016), the mean over masks; 0 where there are none."""
    if not len(masks):
        return logits.float().sum()
    logits = logits.float()
    focal = sigmoid_focal_loss(logits, masks).mean((1, 2))
    shares = logits.sigmoid()
    dice = 1 - (2 * (shares * masks).sum((1, 2)) + 1) / (shares.sum((1, 2)) + masks.sum((1, 2)) + 1)
    return (focal + dice).mean()


def mask_iou(logits: Masks, masks: Masks) -> Float[Tensor, " instance"]:
    """Pixels of both / pixels of either; a pixel belongs to a mask where its logit lies above 0."""
    said, true = logits > 0, masks > 0.5
    return (said & true).sum((1, 2)) / (said | true).sum((1, 2)).clamp(min=1)


def mask_task(recipe: Recipe) -> MaskTask:
    """`model_args["of"]` is the network that finds: "bundled:NAME" or a run folder; the others are the head's sizes.
    Raises RecipeError, DatasetError or ModelError with one sentence where something is not to be had."""
    if recipe.data not in ABOUT:
        raise RecipeError(f"Masks are learned from {', '.join(ABOUT)}: other images come with boxes alone.")
    sizes = dict(recipe.model_args)
    source = str(sizes.pop("of", OF))
    detector = open_detector(source)
    height, width = detector.preprocessing.size_hw
    if height != width or recipe.image_size not in (0, height) or height % FINEST:
        raise RecipeError(f"{detector.name} takes images of {height} × {width} pixels: set image_size to 0.")
    torch.manual_seed(recipe.seed)
    try:
        head = MaskHead(detector.model.sizes["dim"], finer_channels(detector.model, (height, width)), **sizes)
    except (TypeError, ValueError) as error:
        raise RecipeError(f"The mask head cannot be made with these model arguments: {error}.") from None
    sets = {split: opened(recipe, split, height) for split in SPLITS}
    if sets["train"].labels != detector.labels:
        raise RecipeError(f"{detector.name} finds things of other classes than there are in {recipe.data}.")
    return MaskTask(recipe, head, sets, detector, weights_digest(source))
