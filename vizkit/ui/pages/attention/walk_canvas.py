"""The canvas that follows one query through one head: what it receives, and what it reports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import streamlit as st
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.walkthrough import beside, single_head
from vizkit.analysis.attention.walkthrough import steps as steps_of
from vizkit.figure.canvas.rows import SHORT, integers, text64
from vizkit.figure.palette import SIGNED, colours
from vizkit.geometry import name_of
from vizkit.image import Picture
from vizkit.models.probes.parts import Parts
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.session import cached
from vizkit.ui.session.address import drop, put
from vizkit.ui.session.shown import Shown
from vizkit.views.rules import POINT, below, maybe, tuple_of, whole

HERE = Path(__file__).parent
MOST = 100_000  # tokens that a link may name
SCRIPTS = (SHORT, *(HERE / name for name in ("walk_row.js", "walk_scenes.js", "walk.js")))

WALK = Canvas(
    "vizkit_walk",
    "<div class='walk'><div class='inside'><figure><canvas class='photo' tabindex='0' role='application'></canvas>"
    "<small></small><div class='picks'></div></figure><section><div class='controls'><button>◀ Back</button>"
    "<button>▶ Play</button><button>Next ▶</button></div><ol></ol><output aria-live='polite'></output>"
    "<canvas class='numbers' tabindex='0' role='application'></canvas><p><span></span><i></i><span></span></p>"
    "</section></div></div>",
    HERE / "walk.css",
    *SCRIPTS,
)


Experiment = Literal["", "unscaled", "single"]


@dataclass(frozen=True, eq=False)
class Head:
    """One head of a layer, or the experiment in its place: softmax(scale · query keyᵀ + bias) value for every query."""

    index: int
    query: Float[Tensor, "query d_k"]
    key: Float[Tensor, "key d_k"]
    value: Float[Tensor, "key width"]
    scale: float
    bias: Float[Tensor, "query key"] | None
    weights: Float[Tensor, "query key"]
    mixed: Float[Tensor, "query width"]
    experiment: Experiment = ""


def head_of(parts: Parts, index: int, experiment: Experiment = "") -> Head:
    """The head as the model computed it; without ÷ √d; or all heads as a single one."""
    bias = parts.bias
    if experiment == "single":
        query, key, value = (beside(vectors)[0] for vectors in (parts.query, parts.key, parts.value))
        steps = single_head(parts.query, parts.key, parts.value, bias)
        bias = None if bias is None else bias.mean(0)
        return Head(0, query, key, value, query.shape[-1] ** -0.5, bias, steps.weights[0], steps.mixed[0], experiment)
    bias = None if bias is None else bias[index]
    vectors = parts.query[index], parts.key[index], parts.value[index]
    if experiment:
        query, key, value = (vector[None] for vector in vectors)
        steps = steps_of(query, key, value, 1.0, None if bias is None else bias[None])
        return Head(index, *vectors, 1.0, bias, steps.weights[0], steps.mixed[0], experiment)
    return Head(index, *vectors, float(parts.scale[index]), bias, parts.weights[index], parts.mixed[index])


def row_for_browser(parts: Parts, head: Head, position: int) -> dict[str, Any]:
    """The row of one query in float32; of an experiment without what comes after the head."""
    vectors = {
        "query": head.query[position],
        "key": head.key,
        "value": head.value,
        "bias": None if head.bias is None else head.bias[position],
        "weights": head.weights[position],
        "mixed": head.mixed[position],
        "arriving": None if parts.arriving is None else parts.arriving[position],
    }
    if not head.experiment:
        vectors |= {"joined": parts.concatenated[position], "projected": parts.projected[position]}
        vectors |= {} if parts.plain else {"entering": parts.entering[position]}
        if parts.stream is not None:
            stream = {name: getattr(parts.stream, name)[position] for name in ("before", "branch", "after")}
            between = not torch.allclose(stream["branch"], parts.projected[position], rtol=1e-3, atol=1e-4)
            vectors |= stream | {"between": between}
    between = bool(vectors.pop("between", False))
    query_id, tokens = int(parts.query_ids[position]), parts.tokens
    return {
        **{name: None if vector is None else text64(vector.numpy().astype("<f4")) for name, vector in vectors.items()},
        "between": between,
        "scale": head.scale,
        "head": head.index,
        "heads": len(parts.weights),
        "unscaled": head.experiment == "unscaled",
        "experiment": head.experiment,
        "query_id": query_id,
        "query_name": name_of(tokens, query_id),
        "query_special": tokens.special[query_id] if query_id < len(tokens.special) else "",
        "query_specials": len(tokens.special),
        "query_grid": tokens.grid,
        "key_ids": text64(integers(parts.key_ids.numpy())),
        "key_grid": parts.key_tokens.grid,
        "key_special": parts.key_tokens.special,
        "same": tokens == parts.key_tokens,
    }


def play(key: str, content: dict[str, Any], layer: int, shown: Shown, picture: Picture, label: str) -> None:
    """Mount the canvas. A click that chooses a query goes to `session_state["at"]`, the one cursor of the page; the
    step and the key stay in the session and in the address."""
    height, width = picture.rgb.shape[:2]
    x0, y0, x1, y1 = shown.box_xyxy

    def clicked(point: tuple[float, float]) -> None:
        st.session_state["at"], st.session_state["query"] = point, "patch"

    def rested(at: tuple[int, int | None]) -> None:
        st.session_state["_walk_at"] = at

    WALK(
        key=key,
        data={
            **content,
            "at": place(),
            "of": f"{shown.source} {layer} {content['head']} {content['experiment']} {content['query_id']}",
            "layer": layer,
            "image": cached.browser_image(picture.digest, picture.rgb),
            "image_size": (height, width),
            "box": (x0 / width, y0 / height, x1 / width, y1 / height),
            "colours": text64(colours()),
            "signed": text64(colours(SIGNED)),
            "label": label,
        },
        point=(POINT, clicked),
        at=(tuple_of(below(MOST), maybe(below(MOST))), rested),
    )


def place() -> tuple[int, int | None]:
    """The step and the key as a token's id, both from 0: chosen, else from the link; None is the largest weight. The
    canvas knows how many there are."""
    at = st.session_state.get("_walk_at")
    if at is None:
        step, token = (linked(name, tuple_of(whole(1, MOST))) for name in ("walk_step", "walk_key"))
        return step[0] - 1 if step else 0, token[0] - 1 if token else None
    put("walk_step", str(at[0] + 1))
    put("walk_key", str(at[1] + 1)) if at[1] is not None else drop("walk_key")
    return at
