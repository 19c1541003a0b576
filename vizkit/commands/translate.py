"""A text through a model that rewrites it, with what it looks at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vizkit.commands.options import writes
from vizkit.commands.output import writing_to

if TYPE_CHECKING:
    from vizkit.traces import Trace


def translate(
    text: str,
    /,
    *,
    model: str = "bundled:dates_transformer",
    beams: Annotated[int, Parameter(validator=Number(gte=1, lte=64))] = 1,
    output: Annotated[Path | None, writes(".npz")] = None,
) -> None:
    """Rewrite a text, word after word, and see what each word looks at.

    vizkit translate "the 21st of November, 2026"

    Args:
        text: A date in English words or digits; for copy and reverse letters; for models of transformers any text.
        model: Bundled:NAME, a run folder, or a folder of transformers with MarianMT, T5 or GPT-2.
        beams: Keep so many texts at every step, at most 64.
        output: All attention weights and the logits.
    """
    from vizkit.datasets.sequences.opening import split_text
    from vizkit.models.sequences import beam, greedy, open_sequence, trace_pair
    from vizkit.saving import save_npz

    network = open_sequence(model)
    source = split_text(network.data, text) if network.data else network.split(text)
    if beams > 1:
        searched = beam(network, source, beams)
        for i in searched.final:
            print(f"{network.text_of(searched.words(i))}  log probability {searched.tree[i].log_probability:.4f}")
        return
    written = greedy(network, source)
    print(network.text_of(written.words))
    if not network.translates:
        return
    trace = trace_pair(network, source, written.words)
    read = tuple(network.vocabulary.spelled(network.source_ids(source)))
    print("\n".join(_looked_at(trace, read, written.words)))
    if output:
        with writing_to(output):
            save_npz(trace, output)
        print(f"{output}: {len(trace.attention)} attention layers")


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
