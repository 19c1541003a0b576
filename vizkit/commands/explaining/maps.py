"""What the command `explain` makes of one image: its maps, as a figure and as numbers.

In the .npz every map has its own name; `meta` is JSON.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.output import progress, write_arrays
from vizkit.heads import scorer
from vizkit.writing import write

if TYPE_CHECKING:
    import numpy as np

    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.image import RGB, Box
    from vizkit.models import Loaded
    from vizkit.scoring import Question


METHOD = {"all", "fast", *METHODS}


def _known(_: object, names: list[str] | None) -> None:
    for name in names or ():
        if name.replace("-", "_") not in METHOD:
            raise ValueError(f"There is no method {name[:60]!r}; there are all, fast, {', '.join(METHODS)}.")


Methods = Annotated[
    list[str] | None,
    Parameter(
        name="--method",
        validator=_known,
        help=f"{', '.join(METHODS)}; fast: those that need one pass; all; repeatable.",
    ),
]
Layer = Annotated[
    str,
    Parameter(
        help="Where class activation maps are made, such as blocks.3.attn of a ViT, layers.2.blocks.0.attn of a "
        "Swin or 'stage 3' of a CNN; the features before the head where it is left out."
    ),
]
LEAST_PX = 224  # of a drawn map; smaller pictures are enlarged, pixel by pixel


def chosen(names: Iterable[str]) -> list[str]:
    """Names of methods, "fast" and "all" spelled out, in the order of METHODS."""
    names = set(names)
    return [
        name
        for name, method in METHODS.items()
        if name in names or "all" in names or ("fast" in names and not method.slow)
    ]


def said(question: "Question", loaded: "Loaded") -> Iterator[str]:
    """The classes in question and what the model gives them; of an embedding its length."""
    logits, subject = question.trace.logits, question.subject
    for label in (subject.target, subject.against):
        if label is not None:
            value = scorer(logits, label)(loaded.head.values(logits))
            rival = "against " if label == subject.against else ""
            yield f"{loaded.head.text(float(value)):>8}  {rival}{loaded.label(label)}"


def explained(question: "Question", methods: list[str]) -> "tuple[list[Explanation], dict[str, str]]":
    """(maps, method → why there is none), with a bar for those that run the model again."""
    from vizkit.traces import NotApplicable

    explanations, reasons = [], {}
    for name in methods:
        with progress("pass", METHODS[name].title) as tell:
            try:
                explanations.append(question.explain(name, tell))
            except NotApplicable as reason:
                reasons[name] = str(reason)
    return explanations, reasons


def write_picture(output: Path, maps: "Sequence[tuple[str, np.ndarray, bool]]", image: "RGB", box: "Box") -> None:
    """`maps`: by method, and whether they have signs. In times an equal share; signed ones around zero, from blue to
    red."""
    from PIL import Image

    from vizkit.figure.overlay import overlay
    from vizkit.figure.scales import of_evidence
    from vizkit.figure.sheet import enlarged, sheet

    large = enlarged(image, LEAST_PX)
    times = len(large) // len(image)
    scaled = (box[0] * times, box[1] * times, box[2] * times, box[3] * times)
    drawn = [overlay(large, heat, scaled, scale=of_evidence(heat, signed=signed)) for _, heat, signed in maps]
    titles = [METHODS[method].title for method, *_ in maps]
    write(output, Image.fromarray(drawn[0] if len(maps) == 1 else sheet(drawn, titles)).save)


def write_numbers(
    output: Path,
    explanations: "list[Explanation]",
    loaded: "Loaded",
    image: "RGB",
    box: "Box",
) -> None:
    meta = {
        "model": loaded.name,
        "source": loaded.source,
        "picture_hw": image.shape[:2],
        "seen_box_xyxy": box,  # the part of the picture that every map covers
        "labels": {one: loaded.label(one) for e in explanations for one in (e.target, e.against) if one is not None},
        "maps": [
            {"method": e.method, "signed": e.signed, "target": e.target, "against": e.against, "notes": e.notes}
            for e in explanations
        ],
    }
    heats = {e.method: e.heat.numpy() for e in explanations}
    write_arrays(output, meta=json.dumps(meta, ensure_ascii=False), **heats)
