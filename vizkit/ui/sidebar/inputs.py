"""The sidebar: which image, which models, on which device, as far as the open view reads them."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from vizkit.analysis.comparison.pixel_edits import PixelError
from vizkit.datasets import photographs
from vizkit.datasets import samples as bundled
from vizkit.decoding import MAX_BYTES
from vizkit.image import RGB, BusyError, ImageError, Picture, digest_of, read_picture
from vizkit.ui.plain import plain
from vizkit.ui.session import chosen, linked_picture, model_names
from vizkit.ui.session.chosen import INPUTS, MAX_MODELS, OFFERED, SHOWN
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.uploads import arrived, still_here, uploader
from vizkit.ui.sidebar import device, gallery
from vizkit.ui.sidebar.checkpoint import dialog
from vizkit.ui.sidebar.strip import strip
from vizkit.views.bundled import usual

if TYPE_CHECKING:
    pass

TYPES = ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff", "avif")
MOST_OPENED = 8  # pictures that pages have put in
OF_ITS_OWN = "This page has images and models of its own. Those you chose come back on the next."
LENT = "_image_lent"  # whether this image was chosen by nobody
AWAY = "_uploads_away"  # uploads by id, of views before one without pictures


def sidebar(reads: str, compares: bool = False) -> None:
    """`reads`: what the open view reads (`views.Reads`). The rest is not there, and comes back as it was chosen.
    `compares`: whether its page is of several models."""
    still_here()
    _lend(compares)
    st.session_state[OFFERED] = reads
    if reads != "picture and models":
        linked_picture.linked()
        chosen.take_from_address()
    chosen.keep_in_address(reads)
    if "picture" in reads:
        _image_picker()
    else:
        _put_away()
    if "models" in reads:
        _model_picker(whole="picture" in reads)
    st.session_state[SHOWN] = {key: st.session_state.get(key) for key in ("models", "image")}
    if reads == "nothing":
        st.caption(OF_ITS_OWN)  # the sidebar stays where it is, and nothing beside it moves
    else:
        device.line()


def _lend(compares: bool) -> None:
    """Where nobody has chosen anything, the first page of several models opens on an insect, which two know; with
    another page the first image is back."""
    first, insect = samples()[0], bundled.INSECTS[0]
    now, models = st.session_state.get("image", first), chosen.models_named()
    if compares and LENT not in st.session_state:
        st.session_state[LENT] = not st.query_params and now == first and models in ([], usual(first))
        if st.session_state[LENT]:
            st.session_state["image"] = insect
    elif not compares and st.session_state.get(LENT):
        st.session_state[LENT] = False
        if now == insect and models == usual(insect):
            st.session_state["image"] = first


def _put_away() -> None:
    """Uploads go with their widget: keep them here."""
    st.session_state.setdefault(AWAY, {}).update({file.file_id: file for file in arrived("uploads")[0]})
    if st.session_state.get("_picture") is None:
        st.session_state["_picture"] = sample(samples()[0])


# ---- image -----------------------------------------------------------------------------------------------------------
def _image_picker() -> None:
    above = st.container(gap="small")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="own_images"):
        most_mib = MAX_BYTES >> 20
        uploader(
            "Your images",
            TYPES,
            "uploads",
            f"Up to {most_mib} MiB each. {linked_picture.words()}",
            most_mib=most_mib,
            on_change=_choose_newest,
        )
        camera = st.popover("Camera", icon=":material/photo_camera:", on_change="rerun", key="camera_open")
    if camera.open:
        camera.camera_input("Take a photograph", key="camera", on_change=_keep_photo)
    uploads, refused = read_uploads()
    for name, sentence in refused:
        st.error(f"**{plain(name[:80])}** {plain(sentence)}", icon=":material/broken_image:")
    missing = linked_picture.missing(uploads, samples())
    options = [*uploads, *samples(), *missing]
    if st.session_state.get("image", options[0]) not in options:
        st.session_state.pop("image", None)
    with above:
        # A default is not in the address: it follows from what is.
        if "image" not in st.session_state and "image" not in st.query_params:
            st.session_state["image"] = chosen.picture_of_models()
        shown = str(st.session_state.get("image") or st.query_params["image"])
        first = options.index(chosen.usual_picture(shown))
        name = st.selectbox("Image", options, first, key="image", bind="query-params", persist_state="session")
        strip(samples(), uploads, name, _choose)
    linked_picture.mirror(name, uploads, missing)
    if name in missing:
        st.session_state["_picture"] = None
        return
    picture = uploads[name] if name in uploads else sample(name)
    with above:
        height, width = picture.rgb.shape[:2]
        parts = (f"{width} × {height} pixels", plain(picture.note), credit(name))
        st.caption(" · ".join(part for part in parts if part))
    st.session_state["_picture"] = picture


def read_uploads() -> tuple[dict[str, Picture], list[tuple[str, str]]]:
    """(pictures by name, refused files with their sentence). One unreadable file never hides the others."""
    here = {file.file_id: file for file in arrived("uploads")[0]}
    files: list[UploadedFile] = [*(st.session_state.get(AWAY, {}) | here).values()]
    taken: UploadedFile | None = st.session_state.get("_taken")
    pictures = {unique(name, {}): picture for name, picture in linked_picture.kept().items()}
    for name, picture in st.session_state.get("_opened", {}).items():
        pictures[unique(name, pictures)] = picture
    refused = []
    for name, file in [*([("camera", taken)] if taken else []), *((file.name, file) for file in files)]:
        try:
            result = decoded(file.file_id, file)
        except BusyError as error:
            result = str(error)
        if isinstance(result, str):
            refused.append((name, result))
        else:
            pictures[unique(name, pictures)] = result
    linked_picture.keep(pictures)
    return pictures, refused


def _choose(name: str) -> None:
    st.session_state["image"] = name


def _choose_newest() -> None:
    uploads, _ = read_uploads()
    if uploads:
        st.session_state["image"] = linked_picture.arrived(uploads) or list(uploads)[-1]


def _keep_photo() -> None:
    """The camera's widget, and what it holds, goes when its window closes; the picture stays."""
    for taken in arrived("camera")[0]:
        st.session_state["_taken"] = taken
        if "camera" in read_uploads()[0]:
            st.session_state["image"] = "camera"


def take(name: str, rgb: RGB) -> None:
    """Choose a picture of a page as if it had been uploaded; the last ones stay. To be called in a callback."""
    picture = Picture(np.ascontiguousarray(rgb), digest_of(rgb), "")
    picture.rgb.setflags(write=False)
    here, _ = read_uploads()
    same = next((known for known, other in here.items() if other.digest == picture.digest), "")
    if not same:
        same = unique(name, here)
        earlier = list(st.session_state.get("_opened", {}).items())[1 - MOST_OPENED :]
        st.session_state["_opened"] = {**dict(earlier), same: picture}
    st.session_state["image"] = same


def unique(name: str, taken: dict[str, Picture]) -> str:
    """Two uploads may have one name, and none may be called like a sample."""
    stem, number = name, 2
    while name in taken or name in samples():
        name, number = f"{stem} ({number})", number + 1
    return name


@remembered
def decoded(file_id: str, _file: UploadedFile) -> Picture | str:
    """The picture, or why it is refused, so that a refused one is not decoded again at each change of the page."""
    try:
        return read_picture(_file.getvalue())
    except BusyError:
        raise
    except ImageError as error:
        return str(error)


def samples() -> list[str]:
    return bundled.names()


@st.cache_resource(show_spinner=False)
def sample(name: str) -> Picture:
    """An insect or a digit from the test split, never seen in training, or a photograph."""
    made = {"insects": "drawn, from the test split", "digits": "handwritten, from the test split"}
    note = made.get(bundled.kind_of(name), "")
    rgb = bundled.picture(name)
    return Picture(rgb, digest_of(rgb), note)


def picture_named(name: str) -> RGB:
    """A bundled picture, or an upload of this session. PixelError where it is not here."""
    uploads, _ = read_uploads()
    if name in uploads:
        return uploads[name].rgb
    if name not in samples():
        raise PixelError(f"{name[:60]} is not here: upload it in the sidebar, or take the change back.")
    return sample(name).rgb


def credit(name: str) -> str:
    line = photographs.CREDITS.get(name)
    if line is None:
        return ""
    author, licence, address = line.split(", ")
    return f"[{author}]({address}), {licence}"


# ---- models ----------------------------------------------------------------------------------------------------------
def _model_picker(whole: bool) -> None:
    own = list(st.session_state.get("_checkpoints", {}))
    st.multiselect(
        "Models",
        [*model_names.bundled(), *model_names.trained(), *own, *model_names.published()],
        default=chosen.follow(str(st.session_state.get("image") or samples()[0])),
        key="models",
        bind="query-params",
        persist_state="session",
        format_func=model_names.title,
        max_selections=MAX_MODELS,
        accept_new_options=True,
        placeholder="Search timm, or type owner/name",
        help="One to four. Bundled models need no network, nor do your own runs (run:name; run:name@512 after its "
        "step 512). Others are timm names (weights from the hub at first use), hub ids (owner/name), "
        "torchvision:name, or random:name for an untrained one.",
    )
    with st.container(horizontal=True, gap="small"):
        gallery.opening()
        dialog()
    if chosen.readers() & set(map(str, st.session_state.get("models") or [])):
        _classes()
    if not whole:
        return
    st.segmented_control(
        "Model input",
        INPUTS,
        default=INPUTS[0],
        required=True,
        key="input",
        bind="query-params",
        persist_state="session",
        help="A model's own size usually crops the image. Many models also take the whole image in its own shape; they "
        "were trained on squares, so compare.",
    )


def _classes() -> None:
    """Of the chosen models that read text."""
    st.text_area(
        "Classes, one per line",
        value=chosen.FIRST_CLASSES,
        max_chars=chosen.MOST_CLASSES * (chosen.LONGEST_CLASS + 1),
        height=140,
        key="classes",
        bind="query-params",
        persist_state="session",
        placeholder="a photo of a cat",
        help=f"At most {chosen.MOST_CLASSES} lines of {chosen.LONGEST_CLASS} characters. Without any, the model gives "
        "its features alone.",
    )
    st.caption("Lines are read as they stand: “a photo of a cat” is often known better than “cat”.")
