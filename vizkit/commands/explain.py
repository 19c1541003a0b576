"""`python -m vizkit explain`: where a decision came from, as a picture or as numbers.

python -m vizkit explain photo.jpg --model bundled:insects_vit --method rollout -o rollout.png
python -m vizkit explain photo.jpg --model bundled:insects_swin --method all -o maps.png -o maps.npz
python -m vizkit explain photo.jpg --model runs/mine --target mayfly --against stonefly --method fast -o why.png

Several methods become one sheet. In the .npz every map has its own name; `meta` is JSON.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vizkit
from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.model_options import add_model_options, class_of, load, refuse_output, unwritable

if TYPE_CHECKING:
    import numpy as np

    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.image import RGB, Box
    from vizkit.models import Loaded
    from vizkit.scoring import Question

__all__ = ["add", "add_methods", "chosen"]

LEAST_PX = 224  # of a drawn map; smaller pictures are enlarged, pixel by pixel


def add(commands: Any) -> None:  # noqa: ANN401
    """Add the command to argparse's subparsers."""
    command = commands.add_parser(
        "explain", help="where a decision came from: rollout, relevance, occlusion and others"
    )
    command.add_argument("image", metavar="IMAGE", help="a picture file")
    command.add_argument(
        "-o", "--output", required=True, action="append", type=Path, metavar="OUT",
        help="OUT.png for a picture, OUT.npz for the numbers; repeatable",
    )  # fmt: skip
    add_model_options(command)
    add_methods(command, "rollout")
    command.add_argument("--target", metavar="CLASS", help="name or number of the class (the most probable one)")
    command.add_argument("--against", metavar="CLASS", help="explain the target's logit less that of this class")
    command.set_defaults(run=explain)


def add_methods(command: argparse.ArgumentParser, usual: str) -> None:
    command.add_argument(
        "--method", action="append", choices=("all", "fast", *METHODS), metavar="METHOD",
        help=f"{', '.join(METHODS)}; fast: those that need one pass; all; repeatable ({usual})",
    )  # fmt: skip


def chosen(names: Iterable[str]) -> list[str]:
    """Names of methods, "fast" and "all" spelled out, in the order of METHODS."""
    names = set(names)
    return [
        name
        for name, method in METHODS.items()
        if name in names or "all" in names or ("fast" in names and not method.slow)
    ]


def explain(arguments: argparse.Namespace) -> None:
    for output in arguments.output:
        refuse_output(output, (".png", ".npz"))

    from vizkit.image import prepare
    from vizkit.scoring import Question

    image = vizkit.open_image(arguments.image)
    loaded = load(arguments)
    target, against = (label and class_of(loaded, label) for label in (arguments.target, arguments.against))
    question = Question.of(loaded, image, target, against)
    print(f"{loaded.name} ({loaded.source}, licence {loaded.licence})")
    for line in _said(question, loaded):
        print(line)
    methods = chosen(arguments.method or ["rollout"])
    explanations, reasons = _maps(question, methods)
    for name, reason in reasons.items():
        print(f"{METHODS[name].title}: no map. {reason}")
    if not explanations:
        raise ValueError(f"No map can be drawn. {next(iter(reasons.values()))}")
    for explanation in explanations:
        print(f"{METHODS[explanation.method].title}: {METHODS[explanation.method].words()}")
        print("".join(f"  {note}\n" for note in explanation.notes), end="")
    box = prepare(image, loaded.preprocessing)[1]
    for output in arguments.output:
        try:
            if output.suffix.lower() == ".npz":
                _write_numbers(output, explanations, loaded, image, box)
            else:
                _write_picture(output, explanations, image, box)
        except OSError as error:
            raise unwritable(output, error) from error
        print(output)
    print("Colours go from a map's lowest value to its highest; where it has signs, blue is against and red for it.")


def _said(question: "Question", loaded: "Loaded") -> Iterator[str]:
    """The classes in question and what the model gives them."""
    shares, subject = question.trace.logits.softmax(0), question.subject
    for label in (subject.target, subject.against):
        if label is not None:
            value = f"{shares[label]:8.1%}" if loaded.classifies else f"{question.trace.logits[label]:8.3f}"
            yield f"{value}  {'against ' if label == subject.against else ''}{loaded.label(label)}"


def _maps(question: "Question", methods: list[str]) -> "tuple[list[Explanation], dict[str, str]]":
    """(maps, method → why there is none), with a bar for those that run the model again."""
    from tqdm import tqdm

    from vizkit.traces import NotApplicable

    explanations, reasons = [], {}
    for name in methods:
        with tqdm(desc=METHODS[name].title, unit="pass", leave=False, disable=None, dynamic_ncols=True) as bar:

            def tell(done: int, total: int, bar: Any = bar) -> None:  # noqa: ANN401
                bar.total = total
                bar.update(max(0, done - bar.n))

            try:
                explanations.append(question.explain(name, tell))
            except NotApplicable as reason:
                reasons[name] = str(reason)
    return explanations, reasons


def _write_picture(output: Path, explanations: "list[Explanation]", image: "RGB", box: "Box") -> None:
    from PIL import Image

    from vizkit.figure.sheet import enlarged, sheet

    large = enlarged(image, LEAST_PX)
    times = len(large) // len(image)
    scaled = (box[0] * times, box[1] * times, box[2] * times, box[3] * times)
    pictures = [_drawn(explanation, large, scaled) for explanation in explanations]
    titles = [METHODS[explanation.method].title for explanation in explanations]
    Image.fromarray(pictures[0] if len(explanations) == 1 else sheet(pictures, titles)).save(output)


def _drawn(one: "Explanation", image: "RGB", box: "Box") -> "RGB":
    """On its own scale, from its lowest to its highest value; signed maps around zero, from blue to red."""
    from vizkit.figure.overlay import overlay
    from vizkit.figure.palette import SIGNED

    places: np.ndarray = one.heat.numpy()
    if one.signed:
        return overlay(image, places, box, top=float(abs(places).max()), scale=SIGNED)
    return overlay(image, places - places.min(), box)


def _write_numbers(output: Path, explanations: "list[Explanation]", loaded: "Loaded", image: "RGB", box: "Box") -> None:
    import numpy as np

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
    with output.open("wb") as file:
        heats: dict[str, Any] = {e.method: e.heat.numpy() for e in explanations}
        np.savez(file, meta=np.array(json.dumps(meta, ensure_ascii=False)), **heats)
