"""Which images and models are compared, and what each model answers; remembered by names and digests."""

import base64
import io
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
import torch
from PIL import Image
from torch import Tensor

from vizkit.analysis.comparison.class_names import Agreed, agreeing
from vizkit.geometry import Box
from vizkit.heads import EMBEDDING
from vizkit.image import ImageError, Picture
from vizkit.models import Loaded, ModelError, OfflineError, pixels_of
from vizkit.traces import NotApplicable, TraceError
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, linked_picture
from vizkit.ui.session.chosen import whole_image
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import explain_refusal, title
from vizkit.ui.sidebar import inputs

MOST = 8
MORE = 2  # samples beside the chosen image, to begin with


@dataclass(frozen=True, eq=False)
class Answer:
    """`logits`: (label), on the CPU. `box_xyxy`: the part of the picture that the model saw, in pixels."""

    logits: Tensor
    box_xyxy: Box


def models(sources: list[str], whole: Picture | None = None) -> dict[str, Loaded]:
    """The models that can be opened; the others say why not. `whole`: made for the shape of this picture."""
    opened = {}
    for source in sources:
        try:
            with st.spinner(f"Opening {plain(title(source))} …"):
                opened[source] = cached.model(source, whole)
        except (ModelError, NotApplicable) as error:
            explain_refusal(source, str(error), isinstance(error, OfflineError))
        except Exception as error:
            logging.getLogger("vizkit").exception("opening %s", source)
            explain_refusal(source, f"This model could not be opened ({type(error).__name__}); choose another.", False)
    return opened


def answer(source: str, loaded: Loaded, picture: Picture) -> Answer | str:
    """What a model says, or a sentence why it says nothing."""
    if loaded.head is EMBEDDING:
        return f"This model gives {loaded.head.gives}, so it has no answer to compare."
    try:
        return _answer((source, cached.weights_of(source), picture.digest, whole_image()), source, picture)
    except (ModelError, NotApplicable, TraceError, ImageError) as sentence:
        return str(sentence)
    except Exception as error:
        logging.getLogger("vizkit").exception("%s on an image of %s", source, picture.rgb.shape)
        return f"This model could not answer ({type(error).__name__}); choose another one, or another image."


@remembered
def _answer(key: tuple, _source: str, _picture: Picture) -> Answer:
    from vizkit.models.probes.model_functions import logits_of_batch

    loaded = cached.model(_source, _picture if whole_image() else None)
    with cached.device_lock(), torch.no_grad():
        logits = logits_of_batch(loaded)(pixels_of(loaded, _picture.rgb))[0].cpu()
    return Answer(logits, cached.seen_box(_picture, loaded))


# ---- classes ---------------------------------------------------------------------------------------------------------
def agreed(opened: dict[str, Loaded], counts: dict[str, int]) -> Agreed:
    """All classes of these models as one list; `counts`: how many outputs those have that answered. Classes without
    names are called after their model, so that they are never taken for another's."""
    lists = []
    for source, loaded in opened.items():
        count = counts.get(source, len(loaded.labels))
        named = len(loaded.labels) == count
        lists.append(loaded.labels if named else tuple(f"class {index} of {source}" for index in range(count)))
    return _agreed(tuple(lists))


@remembered
def _agreed(labels: tuple[tuple[str, ...], ...]) -> Agreed:
    return agreeing(labels)


# ---- images ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Suggestion:
    """What the page put into the picker by itself, and for which uploads and samples."""

    uploads: tuple[str, ...]
    samples: tuple[str, ...]
    names: tuple[str, ...]


def pictures(labels: Sequence[str]) -> dict[str, Picture]:
    """Up to eight images by name: all uploads where there are several, else the sidebar's and two samples that show
    classes of `labels`; the user may choose others. The sidebar's image is always among them."""
    uploads, _ = inputs.read_uploads()
    options = [*uploads, *inputs.samples()]
    chosen = str(st.session_state["image"])
    linked_picture.say_missing("images", options)
    given = st.session_state.get("images", st.query_params.get_all("images"))
    if not given and (before := st.session_state.get("_images_picked")):  # the cross of the picker
        st.session_state["_images_cleared"], given = before, [chosen]
    names = _names_to_compare([name for name in given if name in options], chosen, tuple(uploads), kind_of(labels))
    if st.session_state.get("images") != names:
        st.session_state["images"] = names
    picked = st.multiselect(
        "Images",
        options,
        key="images",
        bind="query-params",
        max_selections=MOST,
        help="Up to eight: your uploads and the samples. The sidebar's image is always one of them.",
    )
    picked = picked if chosen in picked else [chosen, *picked][:MOST]  # a link may name others only
    st.session_state["_images_picked"] = picked
    if picked != [chosen]:
        st.session_state.pop("_images_cleared", None)
    elif st.session_state.get("_images_cleared", picked) != picked:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Cleared, but for the sidebar's image, which is always compared.", width="content")
            st.button("Undo", icon=":material/undo:", key="images_undo", on_click=_undo)
    return {name: uploads[name] if name in uploads else inputs.sample(name) for name in picked}


def _undo() -> None:
    st.session_state["images"] = st.session_state.pop("_images_cleared")


def _names_to_compare(now: list[str], chosen: str, uploads: tuple[str, ...], samples: tuple[str, ...]) -> list[str]:
    """What the picker holds: new suggestions while the user has not changed them, and every new upload."""
    before: Suggestion | None = st.session_state.get("_images_suggested")
    untouched = not now or (before is not None and before.names == tuple(now))
    if not now or before is None:
        kept = now or suggested(chosen, uploads, samples)
    elif untouched and (before.uploads, before.samples) != (uploads, samples):
        kept = suggested(chosen, uploads, samples)
    else:
        kept = [*(name for name in uploads if name not in {*before.uploads, *now}), *now]
    kept = (kept if chosen in kept else [chosen, *kept])[:MOST]
    st.session_state["_images_suggested"] = Suggestion(uploads, samples, tuple(kept) if untouched else ())
    return kept


def suggested(chosen: str, uploads: tuple[str, ...], samples: tuple[str, ...]) -> list[str]:
    if len(uploads) > 1:
        return list(uploads[:MOST])
    return [chosen, *[name for name in samples if name != chosen][:MORE]]


def kind_of(labels: Sequence[str]) -> tuple[str, ...]:
    """The samples that show a class of these models."""
    known = set(labels)
    suiting = [name for name in inputs.samples() if truth(name) in known]
    return tuple(suiting or ["flower", "china"])


def truth(name: str) -> str | None:
    """The class that a sample shows, as the bundled models call it; None where nobody has said."""
    if name in inputs.INSECTS:
        return name
    return name.removeprefix("digit ") if name.startswith("digit ") and name in inputs.samples() else None


@st.cache_data(max_entries=64, show_spinner=False)
def thumbnail(digest: str, _picture: Picture) -> str:
    """An image as a page loads it, at most 256 pixels; small ones stay exact."""
    image = Image.fromarray(_picture.rgb)
    image.thumbnail((256, 256))
    buffer = io.BytesIO()
    exact = max(_picture.rgb.shape) <= 64
    image.save(buffer, "PNG" if exact else "JPEG", quality=88)
    return f"data:image/{'png' if exact else 'jpeg'};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def choose(name: str) -> None:
    """Make an image the sidebar's, as a click on its thumbnail does."""
    if name in {*inputs.read_uploads()[0], *inputs.samples()}:
        st.session_state["image"] = name
