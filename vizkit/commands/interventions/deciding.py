"""`python -m vizkit deciding`: what models lose when the deciding parts of drawn insects are erased, and when as many
other pixels of the insect are.

python -m vizkit deciding bundled:insects_vit bundled:insects_cnn --images 200 -o deciding.json
"""

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vizkit.commands.model_options import add_device
from vizkit.commands.output import refuse_output, write_output

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("deciding", help="whether models look at the deciding parts of drawn insects")
    command.add_argument("models", metavar="MODEL", nargs="+", help="bundled:NAME, a run folder")
    command.add_argument("--images", type=int, default=200, metavar="N", help="drawings (200)")
    add_device(command)
    command.add_argument("-o", "--output", type=Path, metavar="OUT.json", help="all numbers")
    command.set_defaults(run=deciding)


def deciding(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".json",))
    if arguments.images < 1:
        raise ValueError("--images is 1 or more.")
    from tqdm import tqdm

    import vizkit
    from vizkit.interventions.deciding import deciding_parts

    results = {}
    print(f"{'model':<24}{'deciding parts':>18}{'other pixels':>18}{'difference':>18}  larger")
    for name in arguments.models:
        with tqdm(unit="drawing", disable=None, dynamic_ncols=True, leave=False) as bar:

            def tell(done: int, total: int, bar: Any = bar) -> None:
                bar.total = total
                bar.update(done - bar.n)

            result = deciding_parts(vizkit.load(name, device=arguments.device), arguments.images, tell=tell)
        results[name] = result
        cells = "".join(
            f"{'{:.2f} ± {:.2f}'.format(*result.mean(kind)):>18}" for kind in ("deciding", "others", "difference")
        )
        print(f"{name:<24}{cells}  {result.larger:.0%}")
    print(f"logits that the class loses, 95 % intervals; {arguments.images} drawings")
    if arguments.output:
        content = {
            "torch": version("torch"),
            "images": arguments.images,
            "models": {name: _rounded(result._asdict()) for name, result in results.items()},
        }
        write_output(arguments.output, json.dumps(content) + "\n")
        print(arguments.output)


def _rounded(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [round(each, 4) for each in value] if isinstance(value, tuple) else value
        for name, value in fields.items()
    }
