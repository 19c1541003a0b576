"""Feature maps: the strongest channels of any layer of a CNN, what a unit can see and what its number is made of."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from vizkit.analysis.convolution.origin import Origin, origin
from vizkit.analysis.remarks import convolution
from vizkit.figure.canvas.rows import sixteen_bits, step_of, text64
from vizkit.figure.canvas.tile_maps import Tile
from vizkit.figure.charts import bars
from vizkit.figure.scales import Scale, robust
from vizkit.models.probes.convolution.layers_seen import After, Convolved
from vizkit.models.probes.convolution.receptive_field import Seen
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Chart, Columns, Heading, Line, Metrics, Numbers, Said, Tiles
from vizkit.views.controls import choice, layer, number, query
from vizkit.views.convolution.passes import pass_of, walk_of
from vizkit.views.rules import below, tuple_of, whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MOST_MAPS, MOST_SHARES, ON_PAPER = 32, 8, 12
MOST = 100_000  # of channels, and of places along a side of a map
STAGES: tuple[After, ...] = ("convolution", "norm", "activation")
Unit = tuple[int, int, int]  # channel, row, column


def convolutions(of: Sequence[Subject]) -> int:
    return max((len(pass_of(each).convolved) for each in of), default=0)


class FeatureMaps(View):
    """What every channel of a layer sees, where, and what its numbers are made of."""

    layer: int | None = layer(
        "Convolution", "In the order of the pass.", default=4, high=convolutions, key="maps_layer", runs=True
    )
    after: Literal["convolution", "norm", "activation"] = choice(
        "After the",
        STAGES,
        "The convolution itself, or the norm or activation that follows at once.",
        key="maps_after",
        runs=True,
    )
    channel: int | None = number(
        "Channel", 1, MOST, None, "Of the unit; else the strongest.", key="maps_channel", inside=True, runs=True
    )
    unit: str | tuple[int, int] = query(
        "Unit",
        "Its place in the map; else the largest of the channel.",
        options=("patch",),
        key="maps_at",
        inside=True,
        runs=True,
    )

    alone = True
    overlays = False
    how = How(
        "Every map is one channel: bright or coloured places are where its pattern is. Point at a place to see on the "
        "image which pixels it can depend on; click it to see which channels of the layer before make its number.",
        r"z_c(i, j) = b_c + \sum_{c'} \sum_{m, n} K_{c c'}(m, n)\, x_{c'}(i s - p + m d,\; j s - p + n d)",
        "how strongly each pixel in the frame counts: those in its middle count most (view Reach).",
        "Zeiler & Fergus 2014; Araujo et al. 2019",
    )

    def title(self, of: Subject) -> str:
        return f"Feature maps of convolution {self.layer or convolutions([of])} after the {self.after}"

    def show(self, of: Subject) -> Blocks:
        count = convolutions([of])
        if not count:
            raise NotApplicable(f"{of.name} has no convolutions.")
        index = min(self.layer or count, count) - 1
        convolved = pass_of(of, index).convolved[index]
        after: After = next(stage for stage in (self.after, *STAGES) if stage in convolved.after)
        maps = convolved.after[after]
        strength = maps.abs().mean((1, 2))
        order = strength.argsort(descending=True)[:MOST_MAPS].tolist()
        drawn, strengths, unit = maps[order].numpy(), strength[order].tolist(), self.unit_of(maps.numpy(), order)
        made = origin(convolved.arguments, unit)
        yield Said(convolution.made_of(made.channels.tolist(), made.shares.tolist(), made.value))
        tells = {"channel": (whole(1, MOST), "channel"), "unit": (tuple_of(below(MOST), below(MOST)), "unit")}
        data = sent(f"{of.name} {of.image} {convolved.path} {after}", drawn, field_of(of, convolved))
        data |= {"channels": order, "strengths": strengths, "unit": (order.index(unit[0]), *unit[1:])}
        data |= {"input": of.loaded.preprocessing.size_hw}
        alt = f"The image with the pixels that a unit of {convolved.path} can see"
        still = on_paper(drawn, order, unit[0])
        yield Canvas("vizkit_feature_maps", data, alt, tells, (still,), of)
        yield Line(
            described(convolved, after, len(order)) + ("" if after == self.after else f"; no {self.after} follows")
        )
        place = f"Channel {unit[0] + 1}, row {unit[1] + 1}, column {unit[2] + 1}"
        through = [
            (f"after the {stage}", f"{float(each[unit]):z.3f}".replace("-", "−"), "")
            for stage, each in convolved.after.items()
        ]
        shares = from_before(made)
        proof = Line(summed(made.value, float(convolved.after["convolution"][unit])))
        yield Columns(((shares,), (Heading(place), Metrics(tuple(through)), proof)))
        yield Numbers(lambda: {"maps": maps.numpy(), "unit": np.array(unit), "shares": made.shares.numpy()})

    def unit_of(self, maps: np.ndarray, order: Sequence[int]) -> Unit:
        """The chosen one, where it is drawn; else the largest of the channel."""
        channel = self.channel - 1 if self.channel is not None and self.channel - 1 in order else order[0]
        rows, columns = maps.shape[1:]
        if isinstance(self.unit, tuple) and self.unit[0] < rows and self.unit[1] < columns:
            return channel, self.unit[0], self.unit[1]
        row, column = divmod(int(np.abs(maps[channel]).argmax()), columns)
        return channel, row, column


def field_of(of: Subject, convolved: Convolved) -> Seen | None:
    """What its units can see, None for the whole image."""
    walked = walk_of(of)
    field = next((each.seen for each in walked.layers if each.path == convolved.path), None) if walked else None
    return field if field is not None and field.grid == convolved.shape[1:] else None


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def described(convolved: Convolved, after: str, drawn: int) -> str:
    channels, rows, columns = convolved.shape
    kept = "" if drawn == channels else f"the {drawn} "
    return (
        f"{channels} channels of {rows} × {columns} after the {after}, {kept}strongest first, each map on its own "
        f"scale · in the model {convolved.path}"
    )


def two_sided(maps: np.ndarray) -> bool:
    """GELU and its like reach a little below 0."""
    return float(maps.min()) < -0.2 * max(float(maps.max()), 1e-9)


def scales(maps: np.ndarray) -> list[Scale]:
    """Of every channel its own, the same on the page and on paper."""
    signed = two_sided(maps)
    return [robust([each], signed=signed) for each in maps]


def sent(of: str, maps: np.ndarray, field: Seen | None) -> dict[str, Any]:
    """What the script draws. `of`: other maps have another one."""
    low, high = float(maps.min()), float(maps.max())
    return {
        "of": of,
        "values": text64(sixteen_bits(maps, low, high)),
        "low": low,
        "step": step_of(low, high),
        "scales": [scale.packed() for scale in scales(maps)],
        "grid": maps.shape[1:],
        "rows": None if field is None else (field.rows.start, field.rows.size, field.rows.jump),
        "columns": None if field is None else (field.columns.start, field.columns.size, field.columns.jump),
        "whole": field is not None and field.whole,
    }


def on_paper(maps: np.ndarray, order: Sequence[int], chosen: int) -> Tiles:
    shown = list(order[:ON_PAPER])
    tiles = tuple(
        Tile(f"channel {channel + 1}", each, scale=scale)
        for channel, each, scale in zip(shown, maps, scales(maps), strict=False)
    )
    return Tiles("", tiles, "The strongest channels, each on its own scale", "", tuple(shown), chosen)


def from_before(made: Origin) -> Chart:
    """What the channels of the layer before add, the largest first, the others together."""
    order = made.shares.abs().argsort(descending=True)
    first = order[:MOST_SHARES].tolist()
    parts = {f"channel {int(made.channels[index]) + 1}": float(made.shares[index]) for index in first}
    if len(order) > MOST_SHARES:
        parts[f"{len(order) - MOST_SHARES} others"] = float(made.shares[order[MOST_SHARES:]].sum())
    parts |= {"bias": made.bias} if made.bias else {}
    figure = bars(list(parts), list(parts.values()), "share of the number", "From the layer before")
    return Chart(figure, "What every channel of the layer before adds to the number")


def summed(value: float, own: float) -> str:
    off = abs(value - own) / max(1.0, abs(own))
    if off > 1e-4:
        return f"✗ The shares sum to {value:.4g}, not to the model’s own number {own:.4g}.".replace("-", "−")
    return f"✓ The shares sum to the model’s own number{f', to within {off:.0e}' if off else ' exactly'}."
