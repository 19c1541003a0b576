"""Published: DETR against Faster R-CNN, as the paper reports them."""

import numpy as np

from vizkit.analysis.comparison.published import DETECTION, DETECTION_TABLE
from vizkit.analysis.remarks.detection import of_published
from vizkit.figure.charts import paired_bars
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.views.blocks import Blocks, Chart, Line, Numbers, Said, Table, side_by_side
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

SIZES = {"small": "ap_small", "medium": "ap_medium", "large": "ap_large"}
COLUMNS = {"AP": "ap", "AP50": "ap50", "AP75": "ap75"} | {f"AP {size}": field for size, field in SIZES.items()}


class Published(View):
    """DETR against Faster R-CNN: better on large objects, worse on small ones."""

    overlays = False
    how = How(
        "Left, up is better and left is cheaper. Right: DETR is ahead on large objects and behind on small ones, of "
        "which its coarse memory keeps little.",
        r"\text{AP} = \tfrac1{10} \sum_{t \in \{.5, .55, \dots, .95\}} \int_0^1 \text{precision}_t(r)\,dr, \quad "
        r"r = \text{recall}",
        DETECTION_TABLE.does_not_show,
        DETECTION_TABLE.citation,
    )

    def title(self, of: Subject) -> str:
        return DETECTION_TABLE.title

    def show(self, of: Subject) -> Blocks:
        names = [row.name for row in DETECTION]
        points = [Point(row.name, row.family, float(row.gflops), float(row.ap)) for row in DETECTION]
        cost = ", ".join(f"{row.name} {row.ap:g}" for row in DETECTION)
        bars = {size: [getattr(row, field) for row in DETECTION] for size, field in SIZES.items()}
        yield side_by_side(
            Chart(accuracy_cost(points, "GFLOPS", "AP (%)"), f"AP against GFLOPS: {cost}", "What it costs"),
            Chart(paired_bars(names, bars, "AP (%)"), "AP by the size of the object", "By the size of the object"),
        )
        by_name = {row.name: row for row in DETECTION}
        one, other = by_name["DETR-DC5-R101"], by_name["Faster R-CNN-R101-FPN+"]
        gains = {size: getattr(one, field) - getattr(other, field) for size, field in SIZES.items()}
        yield Said(of_published(one.name, other.name, gains))
        yield Table(
            tuple(
                {
                    "Model": row.name,
                    "Parameters": f"{row.parameters / 1e6:.0f} M",
                    "GFLOPS": f"{row.gflops:g}",
                    "Images/s (V100)": f"{row.frames_per_s:g}",
                    **{name: f"{getattr(row, field):.1f}" for name, field in COLUMNS.items()},
                }
                for row in DETECTION
            ),
            "Published average precisions",
        )
        yield Line(f"{DETECTION_TABLE.measured} The page Evaluate has it to sort and filter, beside other tables.")
        yield Numbers(
            lambda: (
                {"names": np.array(names)}
                | {field: np.array([getattr(row, field) for row in DETECTION], float) for field in COLUMNS.values()}
            )
        )
