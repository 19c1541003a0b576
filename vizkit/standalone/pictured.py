"""A trace that still has its picture, so that it can show itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from vizkit import models
from vizkit.datasets.samples import image_of
from vizkit.heads import SOFTMAX, Head
from vizkit.image import Box, seen_box
from vizkit.models import Keep
from vizkit.models.probes.interventions.stream_edits import Directions
from vizkit.models.sources.loaded import model_of
from vizkit.standalone.page import LIMIT_MB, Card, document, fragment
from vizkit.traces import Trace
from vizkit.writing import write


@dataclass(frozen=True, kw_only=True, repr=False)
class PicturedTrace(Trace):
    """`picture`: RGB, before any preprocessing; `seen_box_xyxy`: the part of it in the model's input, in its pixels;
    `labels`: names of the most probable classes with their probabilities, or of the values of a regression; `head` says
    what they are."""

    picture: UInt8[np.ndarray, "height width 3"] = field(repr=False)
    seen_box_xyxy: Box
    labels: tuple[tuple[str, float], ...] = ()
    trained: bool = True
    head: Head = SOFTMAX

    def card(self) -> Card:
        return Card(self, self.picture, self.seen_box_xyxy, self.labels, self.trained, self.head)

    def save_html(self, path: str | Path) -> None:
        """Write a page that shows the trace in any browser, clickable, from the file alone. See `vizkit.save_html`."""
        save_html(path, self)

    def _repr_html_(self) -> str:
        """What a notebook shows; of a trace too large for that, a sentence."""
        return fragment(self.card(), refuse=False)


def save_html(path: str | Path, *traces: PicturedTrace, limit_mb: float = LIMIT_MB) -> None:
    """Write a page with the attention of several models of the same picture under one cursor.

    `limit_mb`: how large it may become, in millions of characters; weights of single heads are rounded as far as that
    needs, and the page says how far. Raises TraceError for a trace whose check failed or that is too large, OSError
    where the file cannot be written.
    """
    write(path, document(*(trace.card() for trace in traces), limit_mb=limit_mb))


def trace(
    loaded: object,
    image: object,
    target: int | str | None = None,
    keep: Keep | None = None,
    edits: Sequence[models.Edit | str] = (),
    reference: Sequence[UInt8[np.ndarray, "_height _width 3"]] = (),
    directions: Directions | None = None,
) -> PicturedTrace:
    """Run one image and record what every layer attends to.

    `attention` has a record for each layer: `weights` after the softmax, (group, head, query, key), 0 to 1, of which
    those of a query sum to 1, with the token and the place of every query and key; `check` compares them with what the
    layers put out. `loaded`: what vizkit.load or vizkit.wrap gives. `image`: RGB, the path of a file, or the name of
    one that comes with vizkit, "sample:cat". `target`: class whose logit's gradient with respect to every attention
    weight is recorded too, by number or name. `keep`: which layers, rows and heads, for inputs with thousands of
    tokens. `edits`: changes to the attention on the way, such as "heads:3.5=0" (`models.recording.edits`);
    `reference`: images from which some of them take what they put in; `directions`: what "steer:6=2*1" adds. Raises
    TraceError when the recording does not hold together, or the memory does not suffice for it, EditError for an edit
    that cannot be made, ModelError and ImageError for what is no model and no image.
    """
    loaded, (rgb, _) = model_of(loaded), image_of(image)
    made = models.trace(loaded, rgb, target=target, keep=keep, edits=edits, reference=reference, directions=directions)
    return PicturedTrace(
        **{part.name: getattr(made, part.name) for part in fields(made)},
        picture=rgb,
        seen_box_xyxy=seen_box((rgb.shape[0], rgb.shape[1]), loaded.preprocessing),
        labels=tuple((loaded.label(label), share) for label, share in loaded.head.top(made.logits)),
        trained=loaded.trained,
        head=loaded.head,
    )
