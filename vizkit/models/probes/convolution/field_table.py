"""A walk through a CNN as rows for a table or a file."""

from typing import Any

from vizkit.models.probes.convolution.receptive_field import Layer, Walk


def rows_of(walked: Walk) -> list[dict[str, Any]]:
    """A row for each convolution and pool, in the order of the pass; pixels are those of the model's input. Pairs are
    one number where both are equal, else "vertical×horizontal"."""
    rows = []
    for layer in walked.layers:
        seen = layer.seen
        pairs = {
            "kernel": layer.kernel,
            "stride": layer.stride,
            "padding": layer.padding,
            "dilation": layer.dilation,
            "grid": seen.grid,
            "field_px": (seen.rows.size, seen.columns.size),
            "jump_px": (seen.rows.jump, seen.columns.jump),
            "start_px": (seen.rows.start, seen.columns.start),
        }
        equal = {
            name: first if first == second and name != "grid" else f"{first}×{second}"
            for name, (first, second) in pairs.items()
        }
        rows.append({"layer": layer.path, "kind": layer.kind, **equal, "whole_image": seen.whole})
    return rows


def formula(layer: Layer) -> str:
    """r' = r + d (f − 1) j with the numbers of this layer in it, along the rows of the image."""
    kernel, dilation, after = layer.kernel[0], layer.dilation[0], layer.seen.rows
    jump = after.jump // layer.stride[0]
    before = after.size - dilation * (kernel - 1) * jump
    return f"r = {before} + {dilation}·({kernel} − 1)·{jump} = {after.size} pixels"
