"""The models of texts: how often they are right, whether they look where words come from, and what they cost by the
length of the text. Writes docs/sequences.md and the times that the page Sequences shows."""

import json
import re
from pathlib import Path
from typing import Any

import torch

from vizkit import writing
from vizkit.analysis.sequences.alignment import alignment, target_roles, together
from vizkit.datasets.sequences.opening import Pair, open_pairs
from vizkit.models.sequences import SequenceModel, bundled_sequences, greedy, open_sequence, trace_pair
from vizkit.models.sequences.timing import LENGTHS, exponent, times_of
from vizkit.models.sequences.tracing import is_cross

ROOT = Path(__file__).parents[1]
TIMES = ROOT / "vizkit/bundled/experiments/memory/times.json"
TABLE = ROOT / "docs/sequences.md"
NETWORKS = ("seq2seq_transformer", "seq2seq_lstm_attention", "seq2seq_lstm", "seq2seq_rnn")
PAIRS = 2000
ROLES = ("year", "month", "day")


def run() -> None:
    models = {name: open_sequence(f"bundled:{name}") for name in bundled_sequences()}
    translating = {name: model for name, model in models.items() if model.translates and model.data == "dates"}
    parts = ["# Models of texts", rights(translating), looks(translating), costs()]
    text = "\n\n".join([*parts, "`python -m benchmarks sequences`", f"torch {torch.__version__.partition('+')[0]}."])
    writing.write(TABLE, text + "\n")
    print(text)


def rights(models: dict[str, SequenceModel]) -> str:
    lines = ["## Dates wholly right", "", f"Of {PAIRS:,} unseen days in 17 spellings.", "",
             "| model | parameters | right | trained in |", "|---|---:|---:|---:|"]  # fmt: skip
    pairs = open_pairs("dates", "test", count=PAIRS)
    for name, model in models.items():
        right = sum(greedy(model, pair.source).words == pair.target for pair in pairs)
        lines.append(f"| {name} | {model.parameters:,} | {right / PAIRS:.1%} | {trained_in(name)} |")
    return "\n".join(lines)


def trained_in(name: str) -> str:
    card = (ROOT / "vizkit/bundled/sequences" / name / "card.md").read_text(encoding="utf-8")
    found = re.search(r"[\d.,]+ (?:seconds|minutes|s|min)\b", card)
    return found[0] if found else "see its card"


def looks(models: dict[str, SequenceModel]) -> str:
    """Of the digits that are written, how many look most at a word of the same part of the date."""
    pairs = [pair for pair in open_pairs("dates", "test", count=PAIRS) if in_digits(pair)]
    heading = f"Of {len(pairs):,} unseen days whose year is written in digits: how many of the written digits look most"
    lines = ["## Where they look", "", f"{heading} at a word of the same part of the source, mean over heads.", "",
             f"| layer of cross-attention | {' | '.join(ROLES)} |", f"|---|{'---:|' * len(ROLES)}"]  # fmt: skip
    for name, model in models.items():
        layers: dict[int, list] = {}
        for pair in pairs:
            trace = trace_pair(model, pair.source, pair.target)
            for depth, layer in enumerate(filter(is_cross, trace.attention), 1):
                weights = layer.weights[0].mean(0)
                layers.setdefault(depth, []).append(alignment(weights, target_roles(pair.target), pair.roles))
        for depth, each in layers.items():
            whole = together(each)
            lines.append(f"| {name}, {depth} | {' | '.join(f'{whole[role].share:.1%}' for role in ROLES)} |")
    return "\n".join(lines)


def in_digits(pair: Pair) -> bool:
    year = [word for word, role in zip(pair.source, pair.roles, strict=True) if role == "year"]
    return len(year) == 4 and all(word.isdigit() for word in year)


def costs() -> str:
    torch.set_num_threads(1)
    measured: Any = {name: times_of(name) for name in NETWORKS}
    content = {
        "machine": f"one thread of a CPU, torch {torch.__version__.partition('+')[0]}",
        "lengths": LENGTHS,
        "networks": {name: {"training": t.training, "writing": t.writing} for name, t in measured.items()},
    }
    writing.write(TIMES, json.dumps(content, indent=1) + "\n")
    lines = ["## Time by length", "", "Milliseconds on one thread; p of time ~ lengthᵖ between the three longest.", "",
             f"| words | {' | '.join(map(str, LENGTHS))} | p |", f"|---|{'---:|' * (len(LENGTHS) + 1)}"]  # fmt: skip
    for what, words in (("training", "a step of training, 8 texts"), ("writing", "writing an answer")):
        for name, times in measured.items():
            seconds = getattr(times, what)
            cells = " | ".join(f"{1000 * each:.1f}" for each in seconds)
            lines.append(f"| {name}, {words} | {cells} | {exponent(LENGTHS, seconds):.2f} |")
    return "\n".join(lines)
