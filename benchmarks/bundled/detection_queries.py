"""What the queries of the bundled DETR tend to answer over test scenes.

`python -m benchmarks detection_queries` writes queries.json beside it; the page Detection draws it.
"""

import json
import time

SCENES, THRESHOLD = 200, 0.5


def run() -> None:
    from vizkit.datasets.scenes.opening import open_boxes
    from vizkit.evaluation.query_habits import habits
    from vizkit.models.detection.opening import BUNDLED, bundled_detectors, open_detector
    from vizkit.writing import write

    for name in bundled_detectors():
        begin = time.monotonic()
        detector = open_detector(f"bundled:{name}")
        made = habits(detector, open_boxes("scenes", "test", count=SCENES), THRESHOLD)
        text = json.dumps(made.to_json(), separators=(",", ":")) + "\n"
        write(BUNDLED / name / "queries.json", text)
        print(
            f"{name}: {len(made.queries)} boxes over {SCENES} scenes in {time.monotonic() - begin:.0f} s; "
            f"within a query {made.apart():.0%} of the spread of all"
        )
