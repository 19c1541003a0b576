"""The command line: what the app does, without a browser. In a checkout `python -m vizkit` is the same.

    vizkit models "vit_tiny*"
    vizkit trace photo.jpg --model bundled:digits_vit -o photo.npz
    vizkit show rollout photo.jpg --model bundled:insects_vit -o rollout.png

A command is a function in a module of `vizkit.commands`. What goes wrong is one sentence on stderr and exit code 2.
Torch and timm are imported inside the functions: `--help` answers at once.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from cyclopts import App, CycloptsError

from vizkit import __version__
from vizkit.commands.options import application
from vizkit.commands.output import TYPED
from vizkit.commands.show import show

COMMANDS = {
    "models": "models",
    "trace": "trace",
    "datasets": "datasets",
    "train": "train",
    "data-size": "data_size",
    "memory": "memory",
    "agreement": "agreement",
    "receptive-field": "receptive_field",
    "translate": "translate",
    "enlarge": "enlarge",
    "detect": "detection.detect",
    "heads": "interventions.heads",
    "deciding": "interventions.deciding",
    "cka": "interventions.cka",
    "explain": "explaining.explain",
    "explained": "explaining.explained",
    "score": "explaining.score",
    "shift": "shift",
    "evaluate": "evaluate",
    "look-over": "explaining.look_over",
    "report": "report",
    "lesson": "lesson",
    "app": "app",
}
"""Name and module, whose function is called as the module."""
EXTRAS = {
    module: extra
    for extra, modules in {
        "app": ("streamlit", "pptx"),
        "train": ("sklearn", "torchmetrics", "pycocotools", "accelerate", "plotly"),
        "transformers": ("transformers", "tokenizers", "datasets"),
        "data": ("openTSNE", "cleanlab"),
        "ray": ("ray",),
    }.items()
    for module in modules
}
"""Packages that not every user needs, and which of the extras brings them."""


def program() -> str:
    return "vizkit" if Path(sys.argv[0]).stem == "vizkit" else "python -m vizkit"  # the installed package's command


def command_line(given: Sequence[str]) -> App:
    """The commands; of one that is named by the first word its module alone is imported."""
    top = application(program(), "See inside vision transformers, without a browser.", version=__version__)
    top.command(show(given[1:] if given[:1] == ["show"] else ()))
    for name, path in COMMANDS.items():
        if given[:1] == [name] or not given or given[0] not in {"show", *COMMANDS}:
            module = import_module(f"vizkit.commands.{path}")
            top.command(getattr(module, path.rpartition(".")[2]), name=name)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0, or 2 where something was wrong, which is said in one sentence."""
    given = list(sys.argv[1:] if argv is None else argv)
    TYPED.set(given)
    try:
        command_line(given)(_points(given))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except CycloptsError as error:
        chain = " ".join([program(), *(error.command_chain or ())])
        return _say(f"{error} See {chain} --help.")
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        return _say(f"{error.name} is not installed; pip install 'vizkit[{EXTRAS[error.name]}]' brings it.")
    except (ValueError, OSError, MemoryError) as error:  # our own errors are ValueErrors, each one sentence
        return _say(str(error) or "the memory does not suffice.")
    return 0


def _points(words: list[str]) -> list[str]:
    """With a point that was typed as two numbers, `--at 0.4 0.4`, as one word, as `--at 0.4,0.4` is."""
    at = next((index for index, pair in enumerate(pairwise(words)) if pair[0] == "--at"), len(words))
    two = words[at + 1 : at + 3]
    if len(two) == 2 and all(re.fullmatch(r"[-+.\de]+", word) for word in two):
        return [*words[: at + 1], ",".join(two), *words[at + 3 :]]
    return words


def _say(sentence: str) -> int:
    print(f"vizkit: {' '.join(sentence.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
