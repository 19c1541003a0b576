"""Numbers of papers, to stand beside one's own. Shares are percent as printed; a column's unit is in its name.

IMAGENET: Liu et al. 2021, table 1. TRANSFER: Dosovitskiy et al. 2020, table 2. DETECTION: Carion et al. 2020, table 1.
STUDY: fine-tuning on photographs of aquatic insects; no citation of it is known. What papers call FLOPs are
multiply–adds.
"""

import csv
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """Where the numbers come from and what they were measured on, one sentence each."""

    title: str
    citation: str
    measured: str
    does_not_show: str


def _rows(kind: type[T], table: str) -> tuple[T, ...]:
    """The lines of a table in papers/, whose columns are the fields of this kind; what was not reported is empty."""

    def read(text: str, of: Any) -> Any:
        return text if of is str else int(text) if of is int else float(text) if text else None

    with Path(__file__).with_name("papers").joinpath(f"{table}.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    return tuple(kind(**{each.name: read(line[each.name], each.type) for each in fields(kind)}) for line in lines)  # pyright: ignore[reportArgumentType]


# ---- ImageNet-1K -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Classifier:
    """Trained on ImageNet-1K alone. `timm`: the architecture's name there, whose own weights may be others.

    `parameters`, `multiply_adds` of one image; `images_per_s` on a V100; `top1` in percent.
    """

    name: str
    family: str
    timm: str
    side_px: int
    parameters: float
    multiply_adds: float
    images_per_s: float
    top1: float


IMAGENET_TABLE = Table(
    "ImageNet-1K: ViT, DeiT and Swin",
    "Liu et al. 2021, Swin Transformer: hierarchical vision transformer using shifted windows, ICCV, table 1a",
    "Trained on the 1.28 million images of ImageNet-1K from scratch; top-1 on its 50,000 validation images; images/s "
    "on one V100.",
    "what today's recipes reach, what the same network does on other images, or how fast it is on your device: ViT's "
    "numbers there are of its first recipe, and a V100 is not your device.",
)
IMAGENET = _rows(Classifier, "imagenet")


# ---- ViT against CNNs ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Transfer:
    """Pre-trained on `pretrained_on`, fine-tuned on each data set: top-1 in percent, None where not reported.

    `vtab`: the mean of 19 tasks. `tpu_core_days`: pre-training, TPUv3 cores times days.
    """

    name: str
    family: str
    pretrained_on: str
    imagenet: float
    imagenet_real: float
    cifar10: float | None
    cifar100: float | None
    pets: float | None
    flowers: float | None
    vtab: float | None
    tpu_core_days: int


TRANSFER_TABLE = Table(
    "ViT against CNNs after large pre-training",
    "Dosovitskiy et al. 2020, An image is worth 16×16 words: transformers for image recognition at scale, table 2",
    "Pre-trained on JFT-300M (303 million images, not public) or ImageNet-21k, then fine-tuned on each data set; means "
    "of three runs. BiT-L is a ResNet-152x4, Noisy Student an EfficientNet-L2 (ImageNet 88.4 as first "
    "published, 88.5 with the test resolution corrected; the table has the second).",
    "what any of them learns from few images: with ImageNet alone the same ViTs stay below ResNets of their size "
    "(figure 3 of the paper). Core-days depend on the machine and on how well the code uses it.",
)
TRANSFER = _rows(Transfer, "transfer")


# ---- detection -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Detector:
    """`gflops` of one image as the paper counts them; `frames_per_s` on a V100; average precisions in percent:
    `ap` over overlaps of .5 to .95, at .5, at .75, of small, medium and large objects."""

    name: str
    family: str
    gflops: int
    frames_per_s: int
    parameters: float
    ap: float
    ap50: float
    ap75: float
    ap_small: float
    ap_medium: float
    ap_large: float


DETECTION_TABLE = Table(
    "DETR against Faster R-CNN",
    "Carion et al. 2020, End-to-end object detection with transformers, ECCV, table 1",
    "COCO 2017: trained on 118,000 images, measured on the 5,000 of the validation set; a ResNet-50 carries each "
    "unless R101 is named. “+” is Faster R-CNN trained nine times as long with generalised IoU and random crops; "
    "images/s on a V100.",
    "how long each must be trained: DETR took 500 epochs. The mean hides that DETR is behind on small objects: read "
    "AP small.",
)
DETECTION = _rows(Detector, "detection")


# ---- a study to repeat -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class FineTuned:
    """Accuracies in percent: the best on the validation images, and that epoch's on the test images. `recipe`: the name
    of these settings in `vizkit.training.recipe`; `patience_epochs` without a better validation accuracy ended a run.
    """

    name: str
    family: str
    setting: str
    optimizer: str
    learning_rate: float
    epochs: int
    patience_epochs: int
    validation: float
    test: float
    recipe: str


STUDY_TABLE = Table(
    "Aquatic insects: frozen features against training from scratch",
    "a study of 100 classes of aquatic insects whose author, year and DOI are not on record here, so these numbers "
    "cannot be checked; the Train page offers its settings as recipes",
    "17,107 photographs at 512², of which 8,603 / 3,366 / 5,138 to train, validate and test. Cross-entropy; the "
    "learning rate was divided by 10 after 12 epochs without a better validation accuracy.",
    "whether a difference between two pre-trained models would hold with another seed: each line is one run. The "
    "photographs are not the drawn insects of this app.",
)
STUDY = _rows(FineTuned, "study")

Row = Classifier | Transfer | Detector | FineTuned
