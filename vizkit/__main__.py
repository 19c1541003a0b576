"""The command line: what the app does, without a browser. In a checkout `python -m vizkit` is the same.

    vizkit models "vit_tiny*"
    vizkit trace photo.jpg --model bundled:digits_vit -o photo.npz
    vizkit explain photo.jpg --model bundled:insects_vit --method all -o maps.png

A command is a function that takes the parsed arguments and a line in `parser`. What goes wrong is one sentence on
stderr and exit code 2. Torch and timm are imported inside the commands: `--help` answers at once.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vizkit
from vizkit import __version__
from vizkit.commands import (
    agreement,
    app,
    data_size,
    datasets,
    enlarge,
    evaluate,
    memory,
    receptive_field,
    report,
    score,
    shift,
    show,
    train,
    translate,
)
from vizkit.commands.detection import detect
from vizkit.commands.explaining import explain
from vizkit.commands.interventions import cka, deciding, heads
from vizkit.commands.model_options import add_model_options, load
from vizkit.commands.output import refuse_output, writing_to
from vizkit.commands.parser import Parser
from vizkit.heads import EMBEDDING
from vizkit.saving import save_npz

if TYPE_CHECKING:
    from vizkit.image import Box
    from vizkit.models import Loaded
    from vizkit.traces import Trace


EXTRAS = {
    module: extra
    for extra, modules in {
        "app": ("streamlit", "plotly"),
        "train": ("sklearn", "torchmetrics", "pycocotools", "accelerate", "jinja2"),
        "transformers": ("transformers", "tokenizers"),
    }.items()
    for module in modules
}
"""Packages that not every user needs, and which of the extras brings them."""


def parser() -> Parser:
    own = Path(sys.argv[0]).stem == "vizkit"  # the command of the installed package
    top = Parser(
        prog="vizkit" if own else "python -m vizkit", description="See inside vision transformers, without a browser."
    )
    top.add_argument("--version", action="version", version=f"vizkit {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    listing = commands.add_parser("models", help="the models that ship with vizkit, and timm's by a pattern")
    listing.add_argument("pattern", nargs="?", metavar="PATTERN", help='part of a timm name, or as in "vit_*_224.*"')
    listing.set_defaults(run=models)

    tracing = commands.add_parser(
        "trace", help="run one image, record every layer's attention, save it as .npz or .html"
    )
    tracing.add_argument("image", metavar="IMAGE", help="a picture file")
    tracing.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="OUT",
        help="OUT.npz for the numbers, OUT.html for a page that shows them",
    )
    add_model_options(tracing)
    tracing.add_argument("--layers", type=numbers, metavar="0,4-6", help="only these layers, counted from 0")
    tracing.add_argument("--rows", type=numbers, metavar="0,17", help="only these query tokens, for large images")
    tracing.add_argument("--mean-heads", action="store_true", help="only the mean over the heads of a layer")
    tracing.add_argument("--target", type=int, metavar="CLASS", help="record gradients of this class's logit too")
    tracing.add_argument(
        "--edit",
        action="append",
        default=[],
        metavar="EDIT",
        help="change the picture (pixels:14x14:erase=17,18) or the model on the way: heads:3.5=0, "
        "heads:3.5=mean, temperature:3=2, uniform:3.5, frozen:3.5=2.1, blind:3=17,18, drop:17,18, "
        "positions:zero, patch:stream.3=17,18 (layers and heads counted from 1); repeatable",
    )
    tracing.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="IMAGE",
        help="a picture from which heads:3.5=mean, frozen:3.5 and patch:stream.3 take theirs; repeatable",
    )
    tracing.set_defaults(run=trace)

    show.add(commands)
    datasets.add(commands)
    train.add(commands)
    data_size.add(commands)
    memory.add(commands)
    agreement.add(commands)
    receptive_field.add(commands)
    translate.add(commands)
    enlarge.add(commands)
    detect.add(commands)
    heads.add(commands)
    deciding.add(commands)
    cka.add(commands)
    explain.add(commands)
    score.add(commands)
    shift.add(commands)
    evaluate.add(commands)
    report.add(commands)
    app.add(commands)
    return top


def numbers(text: str) -> tuple[int, ...]:
    """ "0,4-6" as (0, 4, 5, 6)."""
    if not re.fullmatch(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers such as 0,4-6")
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return tuple(sorted({number for part in ends for number in range(part[0], part[-1] + 1)}))


# ---- models ----------------------------------------------------------------------------------------------------------
def models(arguments: argparse.Namespace) -> None:
    folder = Path(__file__).parent / "bundled"  # vizkit.models knows too, but takes seconds to import
    rows = [_bundled_row(card) for card in sorted(folder.glob("*/card.md"))]
    of_texts = [_bundled_row(card) for card in sorted(folder.glob("sequences/*/card.md"))]
    pattern = arguments.pattern
    if pattern is None:
        table(rows)
        print("\nOf texts (python -m vizkit translate --model, and the page Sequences):")
        table(of_texts)
        print("\nMore are in timm: give a part of a name, such as vit_tiny, deit or swin.")
        return
    pattern = pattern if set(pattern) & set("*?[") else f"*{pattern}*"
    rows = [row for row in rows + of_texts if fnmatch(row[0], pattern)] + _timm_rows(pattern)
    if not rows:
        raise ValueError(f"No model is called {arguments.pattern[:80]!r}.")
    table(rows)


def _bundled_row(card: Path) -> tuple[str, ...]:
    """Name, parameters and test result, as the card of a shipped model states them."""
    text = card.read_text(encoding="utf-8")
    matches = (re.search(r"([\d,]+ parameters)", text), re.search(r"\| Test \| ([^|]*?) *\|", text))
    return (f"bundled:{card.parent.name}", *(match[1] if match else "" for match in matches))


def _timm_rows(pattern: str) -> list[tuple[str, ...]]:
    from vizkit.models.sources.catalogue import catalogue

    return [(entry.name, entry.family, f"weights: {entry.weights}") for entry in catalogue(pattern)]


def table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


# ---- trace -----------------------------------------------------------------------------------------------------------
def trace(arguments: argparse.Namespace) -> None:
    output: Path = arguments.output
    refuse_output(output, (".npz", ".html"))

    from vizkit.image import seen_box
    from vizkit.interventions import Changes
    from vizkit.models import Keep
    from vizkit.standalone.page import proof

    changes = Changes.parse(arguments.edit)
    image = vizkit.open_image(arguments.image)  # first: a wrong path is said sooner than a model is loaded
    loaded, image = changes.given(load(arguments), image)
    keep = Keep(arguments.layers, arguments.rows, "mean" if arguments.mean_heads else "each")
    recorded = vizkit.trace(
        loaded,
        image,
        target=arguments.target,
        keep=keep,
        edits=changes.model,
        reference=[vizkit.open_image(other) for other in arguments.reference],
    )
    recorded = changes.noted(recorded)
    _refuse_beyond("layer", arguments.layers, recorded.check.layers_found)
    if recorded.check.refused:
        raise ValueError(f"Nothing was saved. {recorded.check.refused}")
    _refuse_beyond("query token", arguments.rows, max((len(layer.query) for layer in recorded.attention), default=0))
    with writing_to(output):
        if output.suffix.lower() == ".html":
            recorded.save_html(output)
        else:
            box = seen_box((image.shape[0], image.shape[1]), loaded.preprocessing)
            save_npz(recorded, output, facts(loaded, recorded, image.shape[:2], box))
    print(f"{loaded.name} ({loaded.source}, licence {loaded.licence})")
    for name, text in loaded.head.lines(recorded.logits, loaded.label):
        print(f"{text:>8}  {name}")
    if loaded.head is EMBEDDING:
        print(f"{float(recorded.logits.norm()):8.4g}  is the length of its embedding, {len(recorded.logits)} features")
    for note in (*loaded.notes, *(note for note in recorded.notes if note.startswith("Changed: "))):
        print(note)
    print(proof(recorded.check))


def _refuse_beyond(kind: str, indices: tuple[int, ...] | None, count: int) -> None:
    if indices and indices[-1] >= count:
        raise ValueError(f"There is no {kind} {indices[-1]}: this model has {count}, counted from 0.")


def facts(loaded: "Loaded", recorded: "Trace", picture_hw: tuple[int, int], box: "Box") -> dict[str, Any]:
    """What the file says about the model and the picture, besides the trace itself."""
    from vizkit.models import family_of

    return {
        "family": family_of(loaded.model),
        "source": loaded.source,
        "licence": loaded.licence,
        "trained": loaded.trained,
        "parameters": loaded.parameters,
        "head": loaded.head.name,
        "top": [(loaded.label(index), value) for index, value in loaded.head.top(recorded.logits)],
        "picture_hw": picture_hw,
        "seen_box_xyxy": box,  # the part of the picture that the model saw
    }


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    arguments.given = list(sys.argv[1:] if argv is None else argv)  # for files that say how they were made
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = EXTRAS[error.name]
        print(f"vizkit: {error.name} is not installed; pip install 'vizkit[{extra}]' brings it.", file=sys.stderr)
        return 2
    except (ValueError, OSError, MemoryError) as error:  # our own errors are ValueErrors, each one sentence
        print(f"vizkit: {' '.join(str(error).split()) or 'the memory does not suffice.'}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
