"""What canvases of maps are given of a trace: a layer's weights, how strong features are, how alike vectors are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vizkit.analysis.attention.attention_map import find_query, fused
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.analysis.attention.positions import similarity, similarity_to
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import SHARES, Scale, robust
from vizkit.geometry import id_at

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.models.probes.parts import Parts
    from vizkit.traces import Attention, Features, Tokens

MAX_MATRIX = 2_500_000  # weights of one layer sent to the browser for hovering; above, only the chosen row


def layer_for_browser(attention: "Attention", head: int | None, query: "Query", scale: Scale = SHARES) -> Rows:
    """One layer in its own groups; above MAX_MATRIX weights only the chosen row."""
    if attention.key.grid is None:
        return Rows(np.zeros((0, 0)), None)
    query_ids, key_ids, at = attention.query_ids.numpy(), attention.key_ids.numpy(), None
    if query_ids.size * key_ids.shape[1] > MAX_MATRIX:
        group, place = map(int, np.argwhere(query_ids == find_query(attention, query)[0])[0])
        at = group, place
        query_ids, key_ids = query_ids[group, place][None, None], key_ids[group][None]
    return Rows(
        fused(attention, head, at).numpy(),
        attention.key.grid,
        attention.query.grid,
        query_ids,
        key_ids,
        attention.query.special,
        attention.key.special,
        scale=scale,
    )


def stage_for_browser(features: "Features") -> Rows:
    """One stage of a network without attention: the strength of its features as the only row there is."""
    return places_for_browser(feature_strength(features).numpy())


def places_for_browser(values: np.ndarray) -> Rows:
    """One number for every place (row, column), of any unit, whatever asks; coloured from the 1st to the 99th
    percentile."""
    row = values.reshape(1, -1)
    return Rows(row, (values.shape[0], values.shape[1]), scale=robust([row]), kind="features")


def entropy_for_browser(entropy: "Tensor", of_all: "Sequence[Sequence[Tensor | None]]") -> Rows:
    """The entropy of every patch's attention in one head (row, column), as the only row there is, in the colours of all
    heads; a place that does not ask has 0."""
    finite = [each[each.isfinite()].numpy() for heads in of_all for each in heads if each is not None]
    values = entropy.nan_to_num(0.0).numpy().reshape(1, -1)
    rows, columns = entropy.shape
    return Rows(values, (rows, columns), bounds=(0.0, 1.0), scale=robust(finite), kind="features")


def similarity_for_browser(table: "Tensor", tokens: "Tokens", query: "Query", most: int = MAX_MATRIX) -> Rows:
    """Cosine of every token's vector (token, channel) with every other's, −1 to 1; above `most` numbers only the chosen
    token's, for the first stage of a VGG has 50,176 places, whose matrix would be 10 GB. The colours are those of all
    these rows, without what each token has with itself."""
    if len(table) ** 2 > most:
        at = tokens.special.index(query) if isinstance(query, str) else id_at(tokens, query)
        chosen = at or 0  # without a grid no place can be chosen, and none is drawn
        cosine, query_ids = similarity_to(table, chosen).numpy()[None], np.array([chosen])
    else:
        cosine, query_ids = similarity(table).numpy(), None
    return Rows(
        cosine,
        tokens.grid,
        tokens.grid,
        query_ids,
        None,
        tokens.special,
        tokens.special,
        bounds=(-1.0, 1.0),
        scale=robust([of_others(cosine, query_ids)]),
        kind="similarity",
    )


def of_others(cosine: np.ndarray, query_ids: np.ndarray | None) -> np.ndarray:
    """Without what each token has with itself."""
    own = np.arange(len(cosine)) if query_ids is None else query_ids
    return cosine[np.arange(cosine.shape[1]) != own[:, None]]


def rows_for_browser(weights: "Tensor", parts: "Parts") -> Rows:
    """One matrix (query, key) of a layer taken apart; for Swin the rows of one window."""
    query, key = parts.tokens, parts.key_tokens
    query_ids, key_ids = parts.query_ids.numpy(), parts.key_ids.numpy()
    return Rows(weights.numpy(), key.grid, query.grid, query_ids, key_ids, query.special, key.special)


def grid_for_browser(tokens: "Tokens") -> Rows:
    """Nothing but the grid: a card to pick a patch in."""
    nothing = np.zeros((len(tokens), 1), np.float32)
    return Rows(
        nothing, tokens.grid, tokens.grid, query_special=tokens.special, key_special=tokens.special, kind="pick"
    )
