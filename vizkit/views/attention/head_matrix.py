"""The weights of one head as a matrix with named axes, in which the row of the query is marked."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vizkit.analysis.attention.value_weighted import value_weighted
from vizkit.figure.attention.matrix import matrix, on_axis, with_names
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import SHARES
from vizkit.traces import NotApplicable
from vizkit.views.attention.walk_row import Row
from vizkit.views.blocks import Block, Canvas, Line, Picture
from vizkit.views.rows_of import rows_for_browser
from vizkit.views.rules import one_of
from vizkit.views.subject import Subject

MOST_ON_AXES = 1600  # tokens; a matrix of more is no picture that can be read


def rows_of(row: Row, by_values: bool) -> Rows:
    """All queries of the window. `by_values`: every weight times the length of what it brings, ‖α f(x)‖; NotApplicable
    where that has no meaning."""
    parts, head = row.parts, row.head
    if not by_values:
        return replace(rows_for_browser(head.weights, parts), scale=SHARES)
    if not parts.plain or head.experiment:
        raise NotApplicable("This layer changes its heads before the projection: the length of a value has no meaning.")
    lengths = value_weighted(parts.weights, parts.value, parts.out_weight)[head.index]
    return replace(rows_for_browser(lengths, parts), scale=replace(SHARES, unit=""), kind="length")


def head_matrix(of: Subject, row: Row, rows: Rows) -> Iterator[Block]:
    """In the colours of the map; an equal share is that among all keys."""
    queries, keys = rows.values.shape
    if max(queries, keys) > MOST_ON_AXES:
        yield Line(f"{queries:,} × {keys:,} weights are too many for a figure of the whole matrix.")
        return
    what = "weights × lengths of the values" if rows.kind == "length" else "weights"
    yield Line(f"{what} of this head, all queries, in times an equal share; the framed row is the map")
    scale, special = rows.scale.of(rows.values), row.parts.tokens.special
    yield Canvas(
        "vizkit_matrix",
        rows.pack() | {"marked": row.query_id, "scale": scale.packed()},
        "The matrix of this head: a row for each query, a column for each key.",
        {"query": (one_of(special), "query")},
        (_on_paper(of, row, rows),),
        of,
        "query",
    )


def _on_paper(of: Subject, row: Row, rows: Rows) -> Picture:
    parts, seen, scale = row.parts, of.seen_rgb, rows.scale.of(rows.values)
    queries, keys = (np.asarray(ids).tolist() for ids in (rows.query_ids, rows.key_ids))
    patches = on_axis(parts.tokens, queries, seen), on_axis(parts.key_tokens, keys, seen)
    cells = matrix(rows.values, *patches, scale=scale, marked=row.position)
    return Picture(
        with_names(cells, scale),
        "Attention matrix with its patches on the axes",
        "In times an equal share: every doubling is one step of colour.",
    )
