"""`python -m vizkit smallest`: the fewest patches or heads that keep an answer, or without which it falls; greedy.

python -m vizkit smallest nymph.png --model bundled:insects_vit --keep
python -m vizkit smallest nymph.png --model bundled:insects_vit --flip --parts heads -o heads.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

import vizkit
from vizkit.commands.model_options import add_model_options, load
from vizkit.commands.output import refuse_output, write_output

__all__ = ["add"]


def add(commands: Any) -> None:  # noqa: ANN401
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("smallest", help="the fewest patches or heads that keep or flip the answer")
    command.add_argument("image", metavar="IMAGE", help="a picture file")
    goal = command.add_mutually_exclusive_group(required=True)
    goal.add_argument("--keep", dest="goal", action="store_const", const="keep", help="that alone keep the answer")
    goal.add_argument("--flip", dest="goal", action="store_const", const="flip", help="without which it is another")
    add_model_options(command)
    command.add_argument("--parts", choices=("patches", "heads"), default="patches", help="of what (patches)")
    command.add_argument("--fill", choices=("mean", "blur"), default="mean", help="where patches are not there (mean)")
    command.add_argument("--most", type=int, metavar="N", help="parts at the most")
    command.add_argument("-o", "--output", type=Path, metavar="OUT.json", help="all numbers")
    command.set_defaults(run=smallest)


def smallest(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".json",))
    if arguments.most is not None and arguments.most < 1:
        raise ValueError("--most is 1 or more.")

    from tqdm import tqdm

    from vizkit.analysis.attribution.subject import cells_of
    from vizkit.analysis.remarks.interventions import of_smallest
    from vizkit.interventions.smallest import heads, patches

    image, loaded = vizkit.open_image(arguments.image), load(arguments)
    plain = vizkit.trace(loaded, image)
    grid = cells_of(plain)
    with tqdm(unit="pass", disable=None, dynamic_ncols=True, leave=False) as bar:

        def tried(done: int, total: int) -> None:
            bar.total, bar.n = total, done
            bar.refresh()

        if arguments.parts == "heads":
            result, names = heads(loaded, image, arguments.goal, most=arguments.most, tried=tried)
            places = [f"{names[part][0] + 1}.{names[part][1] + 1}" for part in result.order]
        else:
            result = patches(loaded, image, grid, arguments.goal, fill=arguments.fill, most=arguments.most, tried=tried)
            places = [str(part) for part in result.order]
    name = loaded.label(int(plain.logits.argmax()))
    print(of_smallest(result, arguments.parts, name).words)
    what = "heads, layer.head" if arguments.parts == "heads" else f"patches of {grid[0]} × {grid[1]}, from 0"
    print(f"Greedy, in this order ({what}): {' '.join(places) or 'none'}")
    if arguments.output:
        content = {"model": loaded.name, "answer": name, "parts": arguments.parts, "grid": grid, "order": places,
                   "probability": result.probability, "reached": result.reached, "goal": result.goal}  # fmt: skip
        write_output(arguments.output, json.dumps(content, ensure_ascii=False) + "\n")
        print(arguments.output)
