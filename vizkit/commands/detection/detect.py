"""`python -m vizkit detect`: the things in pictures, with class, score and box. `vizkit show boxes` draws them.

python -m vizkit detect photos/*.jpg --model runs/mine --threshold 0.7 -o found.json
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.output import refuse_output, write_output

if TYPE_CHECKING:
    from vizkit.image import RGB
    from vizkit.models.detection.detecting import Detection

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("detect", help="find things in pictures: their classes, scores and boxes")
    command.add_argument("images", metavar="IMAGE", nargs="+", help="picture files")
    command.add_argument(
        "--model",
        default="bundled:scenes_detr",
        metavar="MODEL",
        help="bundled:NAME, a run folder or a folder of transformers with a DETR (bundled:scenes_detr)",
    )
    command.add_argument(
        "--threshold", type=float, default=0.5, metavar="SCORE", help="the least score that counts, 0 to 1 (0.5)"
    )
    command.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="OUT.json",
        help="everything as numbers; `vizkit show boxes` draws the boxes of a picture",
    )
    command.set_defaults(run=_detect)


def _detect(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".json",))
    from vizkit.image import ImageError, open_image
    from vizkit.models.detection.detecting import detect
    from vizkit.models.detection.opening import open_detector

    detector = open_detector(arguments.model)
    content: list[dict[str, Any]] = []
    for name in arguments.images:
        try:
            picture = open_image(name)
        except ImageError as error:
            raise ValueError(f"{name}: {error}") from None
        detections = detect(detector, picture, arguments.threshold)
        content.append(_numbers(name, picture, detections))
        print(f"{name}: {_said(detections, arguments.threshold)}")
    facts = {"model": detector.name, "licence": detector.licence, "threshold": arguments.threshold}
    write_output(arguments.output, json.dumps(facts | {"pictures": content}, indent=1, ensure_ascii=False) + "\n")
    print(f"{arguments.output}: by {detector.name}, licence {detector.licence}")


def _said(detections: "Sequence[Detection]", threshold: float) -> str:
    if not detections:
        return f"nothing found with a score of {threshold:g} or more"
    return ", ".join(f"{each.label} {each.score:.0%}" for each in detections)


def _numbers(name: str, picture: "RGB", detections: "Sequence[Detection]") -> dict[str, Any]:
    """Boxes in pixels of the upright picture: left, top, right, bottom."""
    found = [
        {"class": each.label, "score": round(each.score, 4), "box_xyxy": [round(side, 2) for side in each.box_xyxy]}
        for each in detections
    ]
    return {"image": name, "width": picture.shape[1], "height": picture.shape[0], "found": found}
