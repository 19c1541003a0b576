"""`python -m vizkit heads`: which heads the answers of a model rest on, each taken away in turn.

python -m vizkit heads bundled:insects_vit --data insects --images 200 -o heads.json
"""

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.model_options import refuse_output
from vizkit.writing import write

if TYPE_CHECKING:
    from vizkit.analysis.attention.head_importance import HeadImportance

__all__ = ["add"]

SHOWN = 10


def add(commands: Any) -> None:  # noqa: ANN401
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("heads", help="what the answers of a model lose without each of its heads")
    command.add_argument("model", metavar="MODEL", help="bundled:NAME, a timm name, a run folder")
    command.add_argument("--data", default="insects", metavar="SET", help="insects, digits, a folder (insects)")
    command.add_argument("--images", type=int, default=200, metavar="N", help="test pictures (200)")
    command.add_argument("--seed", type=int, default=0, help="of drawn or divided data (0)")
    command.add_argument("--device", metavar="DEVICE", help="cpu, cuda, mps (the GPU if there is one)")
    command.add_argument("-o", "--output", type=Path, metavar="HEADS.json", help="all numbers")
    command.set_defaults(run=_heads)


def _heads(arguments: argparse.Namespace) -> None:
    if arguments.output:
        refuse_output(arguments.output, (".json",))
    if arguments.images < 1:
        raise ValueError("--images is 1 or more.")
    from tqdm import tqdm

    import vizkit
    from vizkit.evaluation.head_importance import heads_of

    loaded = vizkit.load(arguments.model, device=arguments.device)
    with tqdm(total=100, unit="%", disable=None, dynamic_ncols=True) as bar:

        def tell(share: float) -> None:
            bar.update(100 * share - bar.n)

        result = heads_of(loaded, arguments.data, arguments.images, seed=arguments.seed, tell=tell)
    if arguments.output:
        content = {"model": arguments.model, "data": arguments.data, "torch": version("torch"), **result._asdict()}
        write(arguments.output, json.dumps(content) + "\n")
        print(f"{arguments.output}: {len(result.names)} heads, {result.images} pictures")
    else:
        print("\n".join(table(result)))


def table(result: "HeadImportance") -> list[str]:
    lines = [f"{'head':>6}  {'nats lost':>16}  {'flipped':>8}  {'estimate':>9}"]
    for i in result.order[:SHOWN]:
        layer, head = result.names[i]
        lost = f"{result.lost[i]:.3f} ± {result.half[i]:.3f}"
        name = f"{layer + 1}.{head + 1}"
        lines.append(f"{name:>6}  {lost:>16}  {result.flipped[i]:>8.1%}  {result.estimate[i]:>9.3f}")
    return [*lines, f"{result.images} pictures; rank correlation with the gradient's estimate {result.correlation:.2f}"]
