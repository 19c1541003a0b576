"""The steps of one token through one layer as strips: slices of what a model computed, and a sentence for each."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vizkit.analysis.remarks.remark import percent
from vizkit.analysis.remarks.sequences import of_look
from vizkit.views.sequences.strips import Step, Strip

if TYPE_CHECKING:
    from vizkit.models.sequences.walk import AttentionSteps, Embedded, FeedForwardSteps

MOST_KEYS = 4  # whose values are shown apart


def embedding(embedded: "Embedded", token: int, word: str, nearest: tuple[str, float]) -> Iterator[Step]:
    """`nearest`: the word whose row is most like this one's, and their cosine."""
    part, dim = "Embedding", embedded.words.shape[1]
    yield Step(
        part,
        "Word",
        "e = E[word]",
        f"“{word}” becomes a row of the table of embeddings: {dim} learned numbers, the same wherever it stands, most "
        f"like those of “{nearest[0]}” (cosine {nearest[1]:.2f}).",
        (Strip(f"e, the row of “{word}”", embedded.words[token]),),
    )
    yield Step(
        part,
        "× √d + position",
        "x = √d · e + p",
        f"Times √{dim} = {dim**0.5:.3g}, so that it is as large as the sines and cosines of its place, added to it.",
        (
            Strip("√d · e", embedded.scaled[token]),
            Strip("+ p, of its place", embedded.positions[token]),
            Strip("= x", embedded.given[token]),
        ),
    )


def attention(
    steps: "AttentionSteps", token: int, head: int, words: Sequence[str], keys: Sequence[str], part: str
) -> Iterator[Step]:
    """`words`: of the queries, `keys`: of the keys, a text that is written up to its last word."""
    cross = "cross" in steps.name
    word, d_k, heads = words[token], steps.query.shape[-1], len(steps.query)
    query, value = steps.query[head, token], steps.value[head]
    weights = steps.weights[head, token]
    looks, keys = of_look(words, token, keys, weights.tolist()), keys[: len(weights)]
    order = weights.argsort(descending=True).tolist()
    most = order[0]
    own = most if cross else token  # whose key and value are shown beside the query
    whose = f"“{keys[own]}”" if cross else "the same token"
    given = (
        (
            Strip("x, this token", steps.arriving[token]),
            Strip(f"the encoder's output at “{keys[own]}”", steps.context[own]),
        )
        if cross
        else (Strip("x", steps.arriving[token]),)
    )
    yield Step(
        part,
        "Q, K, V",
        "q = W_Q x,  k = W_K x,  v = W_V x",
        f"Head {head + 1} of {heads} makes a query of {d_k} numbers from “{word}”, and a key and a value from "
        + (f"every word of the source, here {whose}." if cross else "every token, here from the same one."),
        (
            *given,
            Strip(f"q of “{word}”", query),
            Strip(f"k of {whose}", steps.key[head, own]),
            Strip(f"v of {whose}", value[own]),
        ),
    )
    yield Step(
        part,
        "Scores",
        "s = q · k ÷ √d_k",
        f"The query is multiplied with every key; divided by √{d_k}, “{keys[most]}” has "
        f"{_signed(steps.scaled[head, token, most])}.",
        (Strip("q · k", steps.scores[head, token], keys), Strip("÷ √d_k", steps.scaled[head, token], keys)),
    )
    closed = int((~steps.allowed[token]).sum())
    said = (
        f"{closed} later {'word is' if closed == 1 else 'words are'} masked with −∞: they are not written yet."
        if closed
        else "Nothing is masked: this token may look at all of them."
    )
    yield Step(part, "Mask", "s + M,  M = 0 or −∞", said, (Strip("s + M", steps.masked[head, token], keys),))
    yield Step(
        part,
        "Softmax",
        "w = exp(s) ÷ Σ exp(s)",
        f"The scores become weights that sum to 1: {looks}",
        (Strip("s + M", steps.masked[head, token], keys), Strip("w", weights, keys, "weights")),
    )
    shown, rest = order[:MOST_KEYS], order[MOST_KEYS:]
    handed = [Strip(f"“{keys[k]}”: {percent(float(weights[k]))} of v", weights[k] * value[k]) for k in shown]
    if rest:
        handed.append(Strip(f"{len(rest)} more: {percent(float(weights[rest].sum()))}", weights[rest] @ value[rest]))
    yield Step(
        part,
        "Values",
        "o = Σ w v",
        "Every value times its weight; their sum is what this head has gathered.",
        (*handed, Strip("= o", steps.mixed[head, token])),
    )
    yield Step(
        part,
        "Heads",
        "y = W_O [o₁ … o_h] + b",
        f"The {heads} heads stand side by side, head {head + 1} framed, and are mixed by one matrix.",
        (
            Strip("[o₁ … o_h]", steps.joined[token], frame=(head * d_k, (head + 1) * d_k)),
            Strip("y", steps.projected[token]),
        ),
    )
    yield _add_and_norm(part, steps, token, "x", "y, the attention")


def feed_forward(steps: "FeedForwardSteps", token: int, part: str) -> Iterator[Step]:
    active = int((steps.active[token] > 0).sum())
    yield Step(
        part,
        "FFN",
        "max(0, W₁ x + b₁) W₂ + b₂",
        f"The token by itself: {active} of {steps.active.shape[1]} hidden numbers stay above 0.",
        (
            Strip("x", steps.arriving[token]),
            Strip("W₁ x + b₁", steps.inner[token]),
            Strip("max(0, …)", steps.active[token]),
            Strip("W₂ … + b₂", steps.out[token]),
        ),
    )
    yield _add_and_norm(part, steps, token, "x", "y, the FFN")


def _add_and_norm(part: str, steps: "AttentionSteps | FeedForwardSteps", token: int, x: str, y: str) -> Step:
    added = steps.added[token]
    branch = added - steps.arriving[token]
    return Step(
        part,
        "Add & Norm",
        "LayerNorm(x + y)",
        f"What was there is added again; mean {_signed(added.mean())} and deviation "
        f"{_signed(added.std(correction=0))} become 0 and 1, then every channel gets its learned scale and shift.",
        (
            Strip(x, steps.arriving[token]),
            Strip(f"+ {y}", branch),
            Strip("= x + y", added),
            Strip("LayerNorm", steps.left[token]),
        ),
    )


def _signed(value: object) -> str:
    return f"{float(value):.2f}".replace("-", "−")  # pyright: ignore[reportArgumentType]
