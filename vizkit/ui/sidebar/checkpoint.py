"""The dialog that opens a visitor's own weights: one file, or the files of a folder of transformers or of timm."""

import hashlib
import os
import re
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from vizkit.datasets.image_set import digest_of
from vizkit.heads import HEADS
from vizkit.ui.plain import plain
from vizkit.ui.session import model_names
from vizkit.ui.session.chosen import Opened, add, readers
from vizkit.ui.session.uploads import UploadError, keep_checkpoint, uploader
from vizkit.ui.sidebar import folders

FROM_FILE = "from the file"
TYPES = ["safetensors", "pt", "pth", "ckpt", "json"]
TORCHVISION = ("torchvision:vit_b_16", "torchvision:vit_b_32", "torchvision:vit_l_16", "torchvision:swin_t")
TORCHVISION += ("torchvision:swin_s", "torchvision:swin_b", "torchvision:swin_v2_t")


def dialog() -> None:
    with st.popover("Open", icon=":material/folder_open:"):
        files = uploader(
            "Weights",
            TYPES,
            "checkpoint",
            "A file of weights; or model.safetensors with its config.json, and preprocessor_config.json where there is "
            "one, as transformers and timm save them; or an adapter with its adapter_config.json.",
        )
        folder = "" if files else folders.choose_weights("checkpoint_folder")
        fits = st.session_state.get("_fitting", [])
        names = [file.name for file in files] or ([*os.listdir(folder)] if os.path.isdir(folder) else [])
        named = "config.json" in names
        st.selectbox(
            "Architecture",
            [*fits, *TORCHVISION, *(name for name in model_names.timm_names() if name not in fits)],
            index=None,
            key="architecture",
            placeholder="config.json names it" if named else "timm name, or what the file says",
            disabled=named,
            help="Only where the file does not name it; of an adapter the base. Depth, patches, windows and classes "
            "follow from the weights.",
        )
        if fits and (files or folder) and not named:
            st.info(f"The file does not name its architecture; its shapes fit {', '.join(map(plain, fits))}.")
        parts = st.session_state.get("_parts", []) if files or folder else []
        if parts:
            st.selectbox(
                "Network",
                parts,
                key="checkpoint_part",
                format_func=lambda name: plain(name) or "without a prefix",
                help="The file holds several; their names in it begin so.",
            )
        st.selectbox(
            "Head",
            [FROM_FILE, *HEADS],
            key="checkpoint_head",
            format_func=lambda name: HEADS[name].title if name in HEADS else name,
            help="What the outputs are. A file of weights alone does not say it, and then it is guessed from their "
            "number.",
        )
        st.text_input(
            "Image size",
            key="checkpoint_size",
            placeholder="its own",
            max_chars=20,
            help="Pixels of a side, such as 252, or height × width, 64 × 128: of a model that takes several, or whose "
            "table of positions is that of no square.",
        )
        st.button(
            "Open",
            key="open_checkpoint",
            disabled=not (files or folder),
            on_click=_add_checkpoint,
            args=(files, folder),
        )
        if sentence := st.session_state.pop("_checkpoint_refused", None):
            st.error(plain(sentence))


def _add_checkpoint(files: list[UploadedFile], folder: str) -> None:
    """Load the files, or what lies at `folder`, once to see that it fits; only then it joins the models. Where it does
    not say what it is, the names that fit are suggested, the best chosen."""
    from vizkit.models import ModelError, load
    from vizkit.models.sources.hub import PartError, UnnamedError

    path, architecture, head = None, st.session_state.get("architecture"), st.session_state.get("checkpoint_head")
    head = head if head in HEADS else None
    parts, image_size = st.session_state.pop("_parts", []), None
    part = st.session_state.get("checkpoint_part") if parts else None
    st.session_state.pop("_fitting", None)
    try:
        path = keep_checkpoint(files) if files else Path(folder)
        architecture = None if (path / "config.json").is_file() else architecture
        image_size = _size_of(st.session_state.get("checkpoint_size", ""))
        stated = {"part": part if part in parts else None, "head": head, "image_size": image_size}
        loaded = load(path, architecture=architecture, **stated)
    except (ModelError, UploadError) as error:
        if files and path is not None and path.is_file():
            path.unlink()
        if isinstance(error, UnnamedError) and error.fits:
            st.session_state["_fitting"], st.session_state["architecture"] = error.fits, error.fits[0]
            st.session_state["_parts"] = parts
        else:
            several = isinstance(error, PartError)
            st.session_state["_checkpoint_refused"] = (
                f"{error.what}: choose one under Network." if several else str(error)
            )
            st.session_state["_parts"] = error.parts if several else []
        return
    # What is cached goes by name alone and is shared by all sessions, so other weights need another name: the whole
    # digest, for of short ones two with the same beginning are found in seconds.
    facts = [hashlib.sha256(file.getbuffer()).hexdigest() for file in files] or _facts(path)
    digest = digest_of(*facts, architecture, head, *(each for each in (part, image_size) if each is not None))
    name = f"checkpoint:{path.stem}-{digest}"
    st.session_state.setdefault("_checkpoints", {})[name] = Opened(str(path), architecture, head, part, image_size)
    if loaded.text_tower is not None:
        readers().add(name)  # the sidebar asks for its classes, also on a page that loads no model
    add(name)


def _size_of(text: str) -> tuple[int, int] | None:
    """(height, width) of "252" or "64 × 128"; None of nothing. UploadError for what is no size."""
    if not text.strip():
        return None
    sides = re.fullmatch(r"\s*(\d{1,5})\s*(?:[x×]\s*(\d{1,5})\s*)?", text)
    if sides is None:
        raise UploadError(f"“{text}” is no image size: type 252, or 64 × 128 for height × width, or nothing.")
    return int(sides[1]), int(sides[2] or sides[1])


def _facts(path: Path) -> list[str]:
    """What changes with the weights of a file or folder of this machine, which need not be read for it."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [f"{file} {facts.st_size} {facts.st_mtime_ns}" for file in files for facts in [file.stat()]]
