"""What each published table shows: its columns with their units, and which of them the plot lays out as axes."""

from dataclasses import dataclass

from vizkit.analysis.comparison import published
from vizkit.analysis.comparison.published import Row, Table

M, G = 1e6, 1e9


@dataclass(frozen=True)
class Column:
    """`field` of the row, shown in units of `unit` with so many `digits` (None: text). `axis`: "accuracy", the cost
    that it is, as Cost calls it, or another cost, "training"; "" of what the plot does not lay out."""

    field: str
    title: str
    digits: int | None = None
    unit: float = 1.0
    axis: str = ""
    help: str | None = None


@dataclass(frozen=True)
class Shown:
    """One table as the page shows it. `detail`: the field that tells rows of one name apart."""

    table: Table
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    detail: str

    @property
    def accuracies(self) -> dict[str, Column]:
        return {column.title: column for column in self.columns if column.axis == "accuracy"}

    @property
    def costs(self) -> list[Column]:
        return [column for column in self.columns if column.axis not in ("", "accuracy")]

    def cost(self, against: str) -> Column | None:
        """That of this name; else the multiply–adds, or whatever it says."""
        ranked = sorted(self.costs, key=lambda column: (column.axis != against, column.axis != "multiply_adds"))
        return next(iter(ranked), None)


NAME, FAMILY = Column("name", "Model"), Column("family", "Family")
PARAMETERS = Column("parameters", "Parameters (M)", 0, M, "parameters")
MULTIPLY_ADDS = Column(
    "multiply_adds", "Multiply–adds (G)", 1, G, "multiply_adds", "Of one image; what the paper calls FLOPs."
)
SPEED_V100 = "On one V100, as the paper measured it."

TABLES = {
    "ImageNet-1K": Shown(
        published.IMAGENET_TABLE,
        published.IMAGENET,
        (
            NAME,
            FAMILY,
            Column("side_px", "Input (px)", 0, help="Side of the square input."),
            PARAMETERS,
            MULTIPLY_ADDS,
            Column("images_per_s", "Images/s (V100)", 1, 1.0, "seconds", SPEED_V100),
            Column("top1", "Top-1 (%)", 1, 1.0, "accuracy"),
            Column("timm", "Name in timm", help="The architecture. timm's own weights of that name may be others."),
        ),
        "side_px",
    ),
    "Large pre-training": Shown(
        published.TRANSFER_TABLE,
        published.TRANSFER,
        (
            NAME,
            FAMILY,
            Column("pretrained_on", "Pre-trained on"),
            Column("imagenet", "ImageNet (%)", 2, 1.0, "accuracy"),
            Column("imagenet_real", "ImageNet ReaL (%)", 2, 1.0, "accuracy", "The same images with labels made anew."),
            Column("cifar10", "CIFAR-10 (%)", 2, 1.0, "accuracy"),
            Column("cifar100", "CIFAR-100 (%)", 2, 1.0, "accuracy"),
            Column("pets", "Pets (%)", 2, 1.0, "accuracy"),
            Column("flowers", "Flowers (%)", 2, 1.0, "accuracy"),
            Column("vtab", "VTAB (%)", 2, 1.0, "accuracy", "Mean of 19 tasks of 1,000 images each."),
            Column(
                "tpu_core_days", "TPUv3-core-days", 0, 1.0, "training", "Of pre-training: cores of a TPUv3 times days."
            ),
        ),
        "pretrained_on",
    ),
    "Detection": Shown(
        published.DETECTION_TABLE,
        published.DETECTION,
        (
            NAME,
            FAMILY,
            PARAMETERS,
            Column("gflops", "GFLOPS", 0, 1.0, "multiply_adds", "Of one image, as the paper counts them."),
            Column("frames_per_s", "Images/s (V100)", 0, 1.0, "seconds", SPEED_V100),
            Column("ap", "AP (%)", 1, 1.0, "accuracy", "Mean over overlaps from .5 to .95."),
            Column("ap50", "AP50 (%)", 1, 1.0, "accuracy", "A box counts from an overlap of .5 on."),
            Column("ap75", "AP75 (%)", 1, 1.0, "accuracy"),
            Column("ap_small", "AP small (%)", 1, 1.0, "accuracy", "Objects below 32 × 32 pixels."),
            Column("ap_medium", "AP medium (%)", 1, 1.0, "accuracy"),
            Column("ap_large", "AP large (%)", 1, 1.0, "accuracy", "Objects above 96 × 96 pixels."),
        ),
        "",
    ),
    "Insects study": Shown(
        published.STUDY_TABLE,
        published.STUDY,
        (
            NAME,
            FAMILY,
            Column("setting", "Setting"),
            Column("optimizer", "Optimiser"),
            Column("learning_rate", "Learning rate", 3),
            Column("epochs", "Epochs (at most)", 0),
            Column("patience_epochs", "Patience (epochs)", 0, help="Stopped after so many without a better one."),
            Column("validation", "Best validation (%)", 2),
            Column("test", "Test (%)", 2),
            Column("recipe", "Recipe", help="Its name on the Train page."),
        ),
        "setting",
    ),
}
