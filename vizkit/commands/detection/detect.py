"""The things in images, with class, score and box; `vizkit show boxes` draws them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from vizkit.commands.options import writes
from vizkit.commands.output import write_output

if TYPE_CHECKING:
    from vizkit.image import RGB
    from vizkit.models.detection.detecting import Detection


def detect(
    *images: str,
    model: str = "bundled:scenes_detr",
    threshold: float = 0.5,
    output: Annotated[Path, writes(".json")],
) -> None:
    """Find things in images: their classes, scores and boxes.

    vizkit detect photos/*.jpg --model runs/mine --threshold 0.7 -o found.json

    Args:
        images: Image files.
        model: Bundled:NAME, a run folder or a folder of transformers with a DETR.
        threshold: The least score that counts, 0 to 1.
        output: Everything as numbers.
    """
    if not images:
        raise ValueError("Give an image file, or several.")
    from vizkit.image import ImageError, open_image
    from vizkit.models.detection import detecting
    from vizkit.models.detection.opening import open_detector

    detector = open_detector(model)
    content: list[dict[str, Any]] = []
    for name in images:
        try:
            picture = open_image(name)
        except ImageError as error:
            raise ValueError(f"{name}: {error}") from None
        detections = detecting.detect(detector, picture, threshold)
        content.append(_numbers(name, picture, detections))
        print(f"{name}: {_said(detections, threshold)}")
    facts = {"model": detector.name, "licence": detector.licence, "threshold": threshold}
    write_output(output, json.dumps(facts | {"pictures": content}, indent=1, ensure_ascii=False) + "\n")
    print(f"{output}: by {detector.name}, licence {detector.licence}")


def _said(detections: "Sequence[Detection]", threshold: float) -> str:
    if not detections:
        return f"nothing found with a score of {threshold:g} or more"
    return ", ".join(f"{each.label} {each.score:.0%}" for each in detections)


def _numbers(name: str, picture: "RGB", detections: "Sequence[Detection]") -> dict[str, Any]:
    """Boxes in pixels of the upright image: left, top, right, bottom."""
    found = [
        {"class": each.label, "score": round(each.score, 4), "box_xyxy": [round(side, 2) for side in each.box_xyxy]}
        for each in detections
    ]
    return {"image": name, "width": picture.shape[1], "height": picture.shape[0], "found": found}
