"""`python -m vizkit cka`: how alike the layers of one or several models represent the same pictures.

python -m vizkit cka bundled:insects_vit bundled:insects_cnn --data insects --images 256 -o cka.json
"""

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.model_options import add_device, add_pictures
from vizkit.commands.output import refuse_output, write_arrays, write_output

if TYPE_CHECKING:
    from vizkit.evaluation.inside.similarity import Similarity

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("cka", help="how alike layers represent pictures, in one model or between several")
    command.add_argument("models", metavar="MODEL", nargs="+", help="bundled:NAME, a timm name, a run folder")
    add_pictures(command, 256, kind="test pictures")
    command.add_argument(
        "--batch", type=int, default=32, metavar="N", help="pictures compared together, 4 or more (32)"
    )
    add_device(command)
    command.add_argument("-o", "--output", type=Path, metavar="CKA.json", help="all pairs, as JSON, CSV or NPZ")
    command.set_defaults(run=_cka)


def _cka(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".json", ".csv", ".npz"))
    if arguments.images < 1 or arguments.batch < 1:
        raise ValueError("--images and --batch are 1 or more.")
    arguments.models = [*dict.fromkeys(arguments.models)]
    from tqdm import tqdm

    import vizkit
    from vizkit.evaluation.inside.similarity import similarity

    models = [vizkit.load(name, device=arguments.device) for name in arguments.models]
    with tqdm(total=100, unit="%", disable=None, dynamic_ncols=True) as bar:

        def tell(share: float) -> None:
            bar.update(100 * share - bar.n)

        result = similarity(
            models, arguments.data, arguments.images, batch=arguments.batch, seed=arguments.seed, tell=tell
        )
    if arguments.output:
        _write(arguments, result)
        print(f"{arguments.output}: {len(result.layers)} layers, {result.images} pictures")
    else:
        print(as_csv(result), end="")


def as_csv(result: "Similarity") -> str:
    """A row and a column for each layer."""
    names = [f"{result.models[at]} {layer}" for at, layer in result.layers]
    rows = [
        ",".join([name, *(f"{value:.4f}" for value in row)])
        for name, row in zip(names, result.values.tolist(), strict=True)
    ]
    return "\n".join([",".join(["layer", *names]), *rows]) + "\n"


def _write(arguments: argparse.Namespace, result: "Similarity") -> None:
    kind = arguments.output.suffix.lower()
    if kind == ".csv":
        write_output(arguments.output, as_csv(result))
    elif kind == ".npz":
        write_arrays(
            arguments.output,
            cka=result.values.numpy(),
            models=result.models,
            layers=result.layers,
            images=result.images,
        )
    else:
        values = [[round(value, 4) for value in row] for row in result.values.tolist()]
        content = {
            "models": arguments.models,
            "data": arguments.data,
            "images": result.images,
            "batch": arguments.batch,
            "seed": arguments.seed,
            "torch": version("torch"),
            "layers": result.layers,
            "cka": values,
        }
        write_output(arguments.output, json.dumps(content) + "\n")
