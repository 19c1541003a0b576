"""Pictures as points of a plane, each in the colour of its kind or of a number: what points.js draws, and its paper."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from vizkit.figure.canvas.rows import STEPS, text64
from vizkit.figure.charts import Figure, laid_out, literal
from vizkit.figure.palette import CLASSES, INK, OTHERS, SCALE, colours, rgb_of

SHEET_PX = 2_000  # of all small pictures together
MOST_CHOSEN = 500
FEWEST, MOST_COMPARED = 3, 500  # pictures of a kind, for its middle
REST = "others"
LOW, HIGH = 40, 245  # of the scale: what stands out from a white and from a nearly black page


@dataclass(frozen=True, eq=False)
class Colouring:
    """`at`: of every picture the place in `table`, RGB. `names`: of the colours, where they are kinds; else they are a
    scale whose ends are called `ends`. `quantity`: what the colours say."""

    at: UInt8[np.ndarray, " picture"]
    table: UInt8[np.ndarray, "colour 3"]
    quantity: str
    names: tuple[str, ...] = ()
    ends: tuple[str, str] = ("", "")


def by_kind(
    kind: Int[np.ndarray, " picture"], names: Sequence[str], quantity: str, shades: Sequence[str] = CLASSES
) -> Colouring:
    """`kind`: of every picture a place in `names`. More of them than `shades` share one grey; only those that a picture
    has are named."""
    few = min(len(names), len(shades))
    present, at = np.unique(np.where((kind < 0) | (kind >= few), few, kind), return_inverse=True)
    shown = [(*names[:few], REST)[each] for each in present]
    table = np.array([rgb_of((*shades[:few], OTHERS)[each]) for each in present], np.uint8)
    return Colouring(at.astype(np.uint8), table, quantity, tuple(shown))


def by_number(values: Float[np.ndarray, " picture"], quantity: str, form: str = "{:.2f}") -> Colouring:
    """From the lowest to the highest; what is not finite is as the lowest."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    share = np.nan_to_num((values - low) / ((high - low) or 1.0))
    at = (LOW + (HIGH - LOW) * share).round().astype(np.uint8) - LOW
    return Colouring(at, colours(SCALE)[LOW : HIGH + 1], quantity, ends=(form.format(low), form.format(high)))


def packed(
    xy: Float[np.ndarray, "picture 2"],
    small: UInt8[np.ndarray, "picture side side 3"],
    colouring: Colouring,
    places: Sequence[str],
    words: Sequence[str],
    chosen: str,
    groups: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """`xy`: to the right and down, NaN of a picture that lies nowhere. `small`: thumbnails. `words`: what is said of a
    picture below its name. `chosen`: "3 7 12-15", from 1. `groups`: by their names the pictures over which these
    stand."""
    low, high = np.nanmin(xy, axis=0), np.nanmax(xy, axis=0)
    span = high - low
    shares = (xy - low) / np.where(span > 0, span, 1.0)
    sheet, side = _sheet(small)
    return {
        "xy": text64(np.where(np.isnan(shares), STEPS, shares * (STEPS - 1)).round(), "<u2"),
        "shape": (span / (span.max() or 1.0)).clip(0.05).tolist(),
        "at": text64(colouring.at),
        "colours": text64(colouring.table),
        "names": list(colouring.names),
        "ends": list(colouring.ends),
        "quantity": colouring.quantity,
        "places": list(places),
        "words": list(words),
        "sheet": sheet,
        "sheet_px": side,
        "chosen": chosen,
        "most": MOST_CHOSEN,
        "groups": list((groups or {}).items()),
    }


def middles(
    xy: Float[np.ndarray, "picture 2"], kind: Int[np.ndarray, " picture"], names: Sequence[str]
) -> dict[str, int]:
    """Of each kind the picture where its own lie closest: the one nearest to half of them. The largest kinds first;
    none of fewer than FEWEST."""
    found: dict[str, int] = {}
    counts = np.bincount(kind, minlength=len(names))
    for each, name in sorted(enumerate(names), key=lambda one: -counts[one[0]]):
        own = np.flatnonzero((kind == each) & np.isfinite(xy).all(1))
        own = own[:: 1 + len(own) // MOST_COMPARED]
        if len(own) >= FEWEST:
            apart = np.sort(np.linalg.norm(xy[own, None] - xy[own], axis=2), 1)
            found[name] = int(own[apart[:, : len(own) // 2 + 1].sum(1).argmin()])
    return found


def _sheet(small: UInt8[np.ndarray, "picture side side 3"]) -> tuple[str, int]:
    """All thumbnails in rows as one picture, and the side of each in pixels."""
    columns = int(np.ceil(np.sqrt(len(small))))
    side = min(small.shape[1], SHEET_PX // columns)
    sheet = Image.new("RGB", (columns * side, -(-len(small) // columns) * side))
    for index, picture in enumerate(small):
        part = Image.fromarray(picture)
        part = part if part.size == (side, side) else part.resize((side, side))
        sheet.paste(part, (index % columns * side, index // columns * side))
    held = io.BytesIO()
    sheet.save(held, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(held.getvalue()).decode()}", side


def scatter(
    xy: Float[np.ndarray, "picture 2"],
    colouring: Colouring,
    layout: str,
    chosen: Sequence[int] = (),
    groups: Mapping[str, int] | None = None,
) -> Figure:
    """The plane on paper, axes called after its `layout`: dots in the same colours, those of `chosen` alone in full,
    and the names of `groups` over their middles."""
    import plotly.graph_objects as go

    shades = np.array([f"rgb({red}, {green}, {blue})" for red, green, blue in colouring.table])
    opacity = np.full(len(xy), 0.25 if len(chosen) else 0.9)
    opacity[list(chosen)] = 1.0
    drawn = []
    for at, name in enumerate(colouring.names or ("",)):
        one = colouring.at == at if colouring.names else np.ones(len(xy), bool)
        marker = {"color": shades[colouring.at[one]].tolist(), "size": 6, "opacity": opacity[one].tolist()}
        if colouring.names:
            marker["color"] = "#{:02x}{:02x}{:02x}".format(*colouring.table[at])
        marks = {"mode": "markers", "marker": marker, "name": literal(name), "showlegend": bool(name)}
        drawn.append(go.Scatter(x=xy[one, 0], y=-xy[one, 1], **marks))
    if groups:
        at = xy[[*groups.values()]]
        named = {"text": [literal(name) for name in groups], "textfont": {"color": INK, "weight": 600}}
        drawn.append(go.Scatter(x=at[:, 0], y=-at[:, 1], mode="text", showlegend=False, **named))
    figure = laid_out(drawn, f"{layout}, first axis", "second axis", colouring.quantity, 420)
    axis = {"showticklabels": False, "showgrid": False, "zeroline": False}
    return figure.update_layout(xaxis=axis, yaxis={**axis, "scaleanchor": "x"})


def chosen_of(text: str, count: int) -> list[int]:
    """Of "3 7 12-15", counted from 1, the places from 0 that there are; whatever else stands there is left out."""
    found: dict[int, None] = {}
    for part in text.split():
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(part) < 20:
            found |= dict.fromkeys(range(max(int(first), 1) - 1, min(int(last or first), count)))
    return [*found][:MOST_CHOSEN]
