"""`python -m vizkit translate`: a text through a model that rewrites it, with what it looks at.

python -m vizkit translate "the 21st of November, 2026"
python -m vizkit translate "21.11.2026" --model bundled:dates_lstm --beams 3
python -m vizkit translate "21 nov 2026" -o trace.npz
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.output import refuse_output, writing_to

if TYPE_CHECKING:
    from vizkit.traces import Trace

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("translate", help="rewrite a text, word after word, and see what each word looks at")
    command.add_argument(
        "text",
        metavar="TEXT",
        help="a date in English words or digits; for copy and reverse letters; for models of transformers any text",
    )
    command.add_argument(
        "--model",
        default="bundled:dates_transformer",
        metavar="MODEL",
        help="bundled:NAME, a run folder, or a folder of transformers with MarianMT, T5 or "
        "GPT-2 (bundled:dates_transformer)",
    )
    command.add_argument("--beams", type=int, default=1, metavar="N", help="keep N texts at every step (1)")
    command.add_argument("-o", "--output", type=Path, metavar="TRACE.npz", help="all attention weights and the logits")
    command.set_defaults(run=_translate)


def _translate(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".npz",))
    if not 1 <= arguments.beams <= 64:
        raise ValueError("--beams is a number from 1 to 64.")
    from vizkit.datasets.sequences.opening import split_text
    from vizkit.models.sequences import beam, greedy, open_sequence, trace_pair
    from vizkit.saving import save_npz

    model = open_sequence(arguments.model)
    source = split_text(model.data, arguments.text) if model.data else model.split(arguments.text)
    if arguments.beams > 1:
        searched = beam(model, source, arguments.beams)
        for i in searched.final:
            print(f"{model.text_of(searched.words(i))}  log probability {searched.tree[i].log_probability:.4f}")
        return
    written = greedy(model, source)
    print(model.text_of(written.words))
    if not model.translates:
        return
    trace = trace_pair(model, source, written.words)
    read = tuple(model.vocabulary.spelled(model.source_ids(source)))
    print("\n".join(_looked_at(trace, read, written.words)))
    if arguments.output:
        with writing_to(arguments.output):
            save_npz(trace, arguments.output)
        print(f"{arguments.output}: {len(trace.attention)} attention layers")


def _looked_at(trace: "Trace", source: tuple[str, ...], target: tuple[str, ...]) -> list[str]:
    """A line for each written word: where its largest cross-attention of the last layer lies, mean over heads."""
    from vizkit.models.sequences.tracing import is_cross

    cross = [layer for layer in trace.attention if is_cross(layer)]
    if not cross:
        return [f"{trace.model} has no attention: its last state is all that it writes from."]
    weights = cross[-1].weights[0].float().mean(0)
    best = weights.max(-1)
    places = zip(target, best.values.tolist(), best.indices.tolist(), strict=False)
    return [f"  {word}  looks at word {key + 1}, {source[key]!r} ({share:.2f})" for word, share, key in places]
