"""A part of the view Two tokens: how often each head agrees with the label and with the teacher, over many pictures."""

import json
from pathlib import Path

import pandas as pd
import streamlit as st

from vizkit.analysis.distillation.agreement import PUBLISHED, Row, share, standard_error
from vizkit.analysis.distillation.agreement import table as counted_rows
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.datasets.opening import open_set
from vizkit.image import RGB
from vizkit.models import Loaded, ModelError
from vizkit.traces import NotApplicable
from vizkit.training.experiments.answers import CLASS, DIST, Answered
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, linked_picture, model_names
from vizkit.ui.session.shown import keep_valid, title
from vizkit.ui.sidebar import folders, inputs
from vizkit.ui.widgets.data_choice import FOLDER

UPLOADS = "your uploads"
COUNTS = (100, 200, 500, 1000, 2000)
BUILT_IN = ("insects", "insects:hard", "digits")


@st.fragment
def section(source: str, loaded: Loaded, others: list[str]) -> None:
    """The controls, and the table of the last count with them."""
    st.markdown("**Agreement over many pictures**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        teacher = _teacher_picker(source)
        data = data_picker(loaded)
        count = int(st.select_slider("Pictures", COUNTS, 200, key="agree_count", bind="query-params",
                                     help="At most so many; a model runs once for each.", width=200))  # fmt: skip
        beside = [name for name in others if name != teacher]
        uploads = tuple(picture.digest for picture in inputs.read_uploads()[0].values()) if data == UPLOADS else ()
        key = (source, teacher, data, uploads, count, tuple(beside))
        st.button(
            "Count", icon=":material/functions:", key="agree_go", type="primary", on_click=_request_count, args=(key,)
        )
    kept: dict[tuple, Answered] = st.session_state.setdefault("_agreements", {})
    requested = st.session_state.pop("_agree_requested", None) == key
    if requested and (answered := counted(source, loaded, teacher, data, count, beside)):
        kept[key] = answered
    if key in kept:
        table(kept[key], teacher)
    else:
        st.caption(
            "Counts on how many pictures the first answer of each head is the label, and the teacher's first answer. "
            "Other models of the sidebar that know the same classes are counted beside them."
        )


def _request_count(key: tuple) -> None:
    st.session_state["_agree_requested"] = key


def _teacher_picker(source: str) -> str:
    """Whose answers to compare with: by default, whom the run of this model names as its teacher."""
    known = taught(source)
    options = list(dict.fromkeys([*([known] if known else []), *model_names.bundled(), *model_names.trained()]))
    options = [option for option in options if option != source]
    keep_valid("token_teacher", options)
    chosen = st.selectbox(
        "Teacher", options, key="token_teacher", bind="query-params", format_func=title, width=240,
        help="The model whose answers the distillation token learned to give. It has to know the same classes.",
    )  # fmt: skip
    return str(chosen)


def taught(source: str) -> str:
    """The teacher that a bundled model or a run was trained with; of timm's distilled models, the paper's."""
    kind, _, name = source.partition(":")
    folder = model_names.BUNDLED / name if kind == "bundled" else model_names.trained().get(source)
    if folder is None:
        return "regnety_160.deit_in1k" if "distilled" in source else ""
    try:
        teacher = json.loads((Path(folder) / "recipe.json").read_text(encoding="utf-8")).get("teacher", "")
    except (OSError, ValueError):
        return ""
    return teacher if isinstance(teacher, str) and teacher.startswith("bundled:") else ""


def data_picker(loaded: Loaded) -> str:
    """A set of pictures: built in where the model knows its classes, a folder, or what was uploaded."""
    uploads, _ = inputs.read_uploads()
    options = [*BUILT_IN, *([UPLOADS] if uploads else []), FOLDER]
    first = "digits" if set(loaded.labels) == set("0123456789") else "insects"
    options.sort(key=lambda option: option != first)
    linked_picture.say_missing("agree_data", options)
    keep_valid("agree_data", options)
    data = st.selectbox("Pictures of", options, key="agree_data", bind="query-params", width=220,
                        help="Test pictures of a built-in set; a folder with a folder for each class, or a .zip; "
                        "or your uploads, which have no labels.")  # fmt: skip
    if data == FOLDER:
        return folders.choose("agree_folder", 260)
    return str(data)


def counted(source: str, loaded: Loaded, teacher: str, data: str, count: int, beside: list[str]) -> Answered | None:
    """Run the models over the pictures, with progress; a sentence where that cannot be done."""
    from vizkit.training.experiments.answers import ask

    place = st.empty()
    bar = place.progress(0.0, text="Opening pictures and models …")
    try:
        pictures = opened(data, count, max(loaded.preprocessing.size_hw))

        def tell(done: int) -> None:
            bar.progress(done / len(pictures), f"{done:,} of {len(pictures):,} pictures of {plain(Path(data).name)}")

        others = {title(name): cached.model(name) for name in beside}
        others = {
            name: other for name, other in others.items() if other.labels == loaded.labels and other.head.exclusive
        }
        whom = cached.model(teacher)
        return ask(loaded, whom, pictures, others, tell=tell, working=cached.device_lock)
    except (DatasetError, ModelError, NotApplicable) as sentence:
        st.warning(plain(sentence), icon=":material/warning:")
    finally:
        place.empty()
    return None


def opened(data: str, count: int, side_px: int) -> ImageSet | list[RGB]:
    """Raises DatasetError."""
    if data == UPLOADS:
        return [picture.rgb for picture in inputs.read_uploads()[0].values()][:count]
    if not data:
        raise DatasetError("Choose a folder with a folder of pictures for each class.")
    return open_set(data, "test", images=count, size_px=side_px)


def table(answered: Answered, teacher: str) -> None:
    rows = counted_rows(answered.answers, answered.labels, answered.teacher)
    if answered.teacher is not None:
        rows.append(Row(f"teacher, {title(teacher)}", share(answered.teacher, answered.labels), None))
    percent = st.column_config.NumberColumn(format="%.1f %%", width="small")
    columns = ("", "with the label", "with the teacher")
    lines = [(row.name, *(None if value is None else 100 * value for value in (row.with_label, row.with_teacher)))
             for row in rows]  # fmt: skip
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.dataframe(pd.DataFrame(lines, columns=columns), hide_index=True, placeholder="–", height="content",
                     column_config={columns[1]: percent, columns[2]: percent})  # fmt: skip
        both = share(answered.answers[CLASS], answered.answers[DIST]) or 0.0
        widest = standard_error(
            min((row.with_label or 0.5 for row in rows), key=lambda p: abs(p - 0.5)), answered.images
        )
        st.caption(
            f"{answered.images:,} pictures; one standard error is at most {widest:.1%}. The two tokens agree with each "
            f"other on {both:.1%}." + ("" if answered.labels is not None else " These pictures have no labels of this "
            "model, so only the teacher is compared.")
        )  # fmt: skip
    with right:
        st.caption("Published, DeiT-B on ImageNet (Touvron et al. 2021, table 4)")
        published = [(name, 100 * label, 100 * teacher) for name, (label, teacher) in PUBLISHED.items()]
        st.dataframe(pd.DataFrame(published, columns=columns), hide_index=True, height="content",
                     column_config={columns[1]: percent, columns[2]: percent})  # fmt: skip
