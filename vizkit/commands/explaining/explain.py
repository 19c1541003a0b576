"""`python -m vizkit explain`: where a decision came from, as a picture or as numbers.

python -m vizkit explain photo.jpg --model bundled:insects_vit --method rollout -o rollout.png
python -m vizkit explain photo.jpg --model bundled:insects_swin --method all -o maps.png -o maps.npz
python -m vizkit explain photo.jpg --model runs/mine --target mayfly --against stonefly --method fast -o why.png
python -m vizkit explain photo.jpg --model bundled:insects_vit --edit pixels:14x14:erase=17,18 -o without.png
python -m vizkit explain photos/ --model runs/mine --method rollout -o maps/

Several methods become one sheet. In the .npz every map has its own name; `meta` is JSON. Of a folder: `explain_folder`.
"""

import argparse
from pathlib import Path
from typing import Any

import vizkit
from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.explaining.explain_folder import explain_folder
from vizkit.commands.explaining.maps import chosen, explained, said, write_numbers, write_picture
from vizkit.commands.model_options import add_model_options, class_of, load
from vizkit.commands.output import refuse_output, writing_to

__all__ = ["add", "add_methods"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser(
        "explain", help="where a decision came from: rollout, relevance, occlusion and others"
    )
    command.add_argument("image", metavar="IMAGE", help="a picture file, or a folder of them")
    command.add_argument(
        "-o",
        "--output",
        required=True,
        action="append",
        type=Path,
        metavar="OUT",
        help="OUT.png for a picture, OUT.npz for the numbers, repeatable; of a folder of pictures a folder",
    )
    add_model_options(command)
    add_methods(command, "rollout")
    command.add_argument("--target", metavar="CLASS", help="name or number of the class (the most probable one)")
    command.add_argument("--against", metavar="CLASS", help="explain the target's logit less that of this class")
    command.add_argument(
        "--edit",
        action="append",
        default=[],
        metavar="EDIT",
        help="change the picture or the model: pixels:14x14:erase=17,18, heads:3.5=0 and others as of "
        "trace; repeatable",
    )
    command.set_defaults(run=explain)


def add_methods(command: argparse.ArgumentParser, usual: str) -> None:
    command.add_argument(
        "--method",
        action="append",
        metavar="METHOD",
        type=lambda name: name.replace("-", "_"),
        choices=("all", "fast", *METHODS),
        help=f"{', '.join(METHODS)}; fast: those that need one pass; all; repeatable ({usual})",
    )
    command.add_argument(
        "--layer",
        default="",
        metavar="NAME",
        help="where class activation maps are made, such as blocks.3.attn of a ViT, layers.2.blocks.0.attn of a "
        "Swin or 'stage 3' of a CNN; the features before the head where it is left out",
    )


def explain(arguments: argparse.Namespace) -> None:
    if Path(arguments.image).is_dir():
        if arguments.edit:
            raise ValueError("--edit is for one picture, not for a folder.")
        explain_folder(arguments)
        return
    for output in arguments.output:
        refuse_output(output, (".png", ".npz"))

    from vizkit.image import seen_box
    from vizkit.interventions import Changes
    from vizkit.scoring import Question

    changes = Changes.parse(arguments.edit)
    loaded, image = changes.given(load(arguments), vizkit.open_image(arguments.image))
    target, against = (label and class_of(loaded, label) for label in (arguments.target, arguments.against))
    question = Question.of(loaded, image, target, against, arguments.layer, [str(edit) for edit in changes.model])
    print(f"{loaded.name} ({loaded.source}, licence {loaded.licence})")
    if changes:
        print(f"Changed: {', '.join(changes.texts)}.")
    for line in said(question, loaded):
        print(line)
    methods = chosen(arguments.method or ["rollout"])
    explanations, reasons = explained(question, methods)
    for name, reason in reasons.items():
        print(f"{METHODS[name].title}: no map. {reason}")
    if not explanations:
        raise ValueError(f"No map can be drawn. {next(iter(reasons.values()))}")
    for explanation in explanations:
        print(f"{METHODS[explanation.method].title}: {METHODS[explanation.method].words()}")
        print("".join(f"  {note}\n" for note in explanation.notes), end="")
    box = seen_box((image.shape[0], image.shape[1]), loaded.preprocessing)
    for output in arguments.output:
        with writing_to(output):
            if output.suffix.lower() == ".npz":
                write_numbers(output, explanations, loaded, image, box)
            else:
                write_picture(output, explanations, image, box)
        print(output)
    print("Colours go from a map's lowest value to its highest; where it has signs, blue is against and red for it.")
