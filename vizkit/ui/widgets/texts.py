"""Models of texts that a visitor brings: the files of a folder of transformers, kept as weights of the sidebar are."""

import hashlib
import json
import shutil
from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from vizkit.datasets.image_set import digest_of
from vizkit.ui.plain import plain
from vizkit.ui.session.uploads import Brought, UploadError, brought, keep_checkpoint, uploader

TYPES = ["safetensors", "bin", "json"]
KINDS = {
    "MarianMTModel": "MarianMT",
    "T5ForConditionalGeneration": "T5",
    "BertForMaskedLM": "BERT",
    "GPT2LMHeadModel": "GPT-2",
}
OPENED = ", opened "  # after the kind of a model, before its number


def dialog(key: str) -> None:
    """`key`: of the picker of models, in which the opened one is chosen."""
    with st.popover("Open", icon=":material/folder_open:"):
        files = uploader(
            "MarianMT, T5, BERT or GPT-2",
            TYPES,
            "texts_files",
            "config.json, model.safetensors and tokenizer.json (of MarianMT vocab.json) of a folder of transformers.",
        )
        st.button("Open", key="texts_open", disabled=not files, on_click=_open, args=(files, key))
        if sentence := st.session_state.pop("_texts_refused", None):
            st.error(plain(sentence))


def _open(files: Sequence[UploadedFile], key: str) -> None:
    """Load it once to see that it is whole; only then it joins the models."""
    from vizkit.models import ModelError
    from vizkit.models.sequences import open_sequence

    path = None
    try:
        if not any(file.name == "config.json" for file in files):
            raise UploadError("config.json is missing, which says what the weights are.")
        path = keep_checkpoint(files)
        open_sequence(path)
    except (ModelError, UploadError) as error:
        if path is not None:
            shutil.rmtree(path, ignore_errors=True)
        st.session_state["_texts_refused"] = str(error)
        return
    digest = digest_of(*(hashlib.sha256(file.getbuffer()).hexdigest() for file in files))
    config = json.loads((path / "config.json").read_bytes())
    kind = KINDS.get(next(iter(config.get("architectures") or ()), ""), "Opened")
    title = brought()[digest].title if digest in brought() else f"{kind}{OPENED}{len(brought()) + 1}"
    brought()[digest] = Brought(title, str(path))
    st.session_state[key] = title
