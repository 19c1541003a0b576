"""The view Teacher and student: what both say at a temperature, what the student pays for the difference, and where
that pulls its logits."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.distillation import charts
from vizkit.ui.pages.distillation.answers import Answers, on_image, on_pictures
from vizkit.ui.pages.distillation.fields import LOWEST_OF_LOSSES, temperature
from vizkit.ui.plain import plain
from vizkit.ui.session import model_names
from vizkit.ui.session.shown import explain_refusal, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets import folders
from vizkit.ui.widgets.data_choice import changed

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator
    from torch import Tensor

    from vizkit.datasets.image_set import ImageSet
    from vizkit.models import Loaded

TEACHER, STUDENTS = "bundled:insects_cnn", ["bundled:insects_deit", "bundled:insects_vit"]
MOST_STUDENTS = 3
THIS, MANY = "this image", "many pictures"
SETS = ("insects", "insects:easy", "insects:hard", "digits")
FOLDER = "a folder"
COUNTS = (50, 100, 200, 500, 1000, 2000)


def view(page: Page) -> None:
    from vizkit.traces import NotApplicable

    teacher, students, over = who(page.sources)
    if not students:
        st.info("Choose a student.", icon=":material/school:")
        return
    controls = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    try:
        found = one(page.picture, teacher, students, controls) if over == THIS else many(teacher, students, controls)
    except NotApplicable as sentence:
        st.info(plain(sentence), icon=":material/block:")
        found = None
    if found:
        with controls:
            t = temperature(
                "Temperature T", "loss_temperature", 3.0, "Softens teacher and student alike.", LOWEST_OF_LOSSES
            )
            with st.container(width=220):
                share = st.slider(
                    "Teacher's share λ", 0.0, 1.0, 0.5, 0.05, key="share", bind="query-params",
                    help="0: the student learns from the label alone, 1: from the teacher alone.",
                )  # fmt: skip
        charts.draw(*found, t, float(share))
    how()


def who(sources: list[str]) -> tuple[str, list[str], str]:
    known = list(dict.fromkeys([*model_names.bundled(), *model_names.trained(), *sources]))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        keep_valid("teacher", known)
        teacher = st.selectbox(
            "Teacher", known, known.index(TEACHER), key="teacher", bind="query-params", format_func=title, width=240,
            help="Bundled models, your runs, and those of the sidebar.",
        )  # fmt: skip
        with st.container(width=380):
            students = st.multiselect(
                "Students", known, STUDENTS, key="students", bind="query-params", format_func=title,
                max_selections=MOST_STUDENTS,
                help="One to three. insects_deit learned from insects_cnn, insects_vit from the labels alone.",
            )  # fmt: skip
        over = st.segmented_control("Over", (THIS, MANY), default=THIS, required=True, key="distil_over",
                                    bind="query-params")  # fmt: skip
    return str(teacher), [source for source in students if source in known][:MOST_STUDENTS], over or THIS


# ---- this image ------------------------------------------------------------------------------------------------------
def one(
    picture: Picture, teacher: str, students: list[str], controls: "DeltaGenerator"
) -> "tuple[Answers, Tensor] | None":
    import torch

    found = on_image(picture, teacher, students)
    if not found:
        return None
    image = str(st.session_state.get("image", ""))
    known = next((name for name in (image, image.removeprefix("digit ")) if name in found.names), None)
    seen = st.session_state.get("_label_of", picture.digest)
    there = st.session_state.get("label", st.query_params.get("label"))
    if seen != picture.digest or there not in found.names:  # a label belongs to its image, and to its set of classes
        st.session_state["label"] = known or found.names[int(found.teacher[0].argmax())]
    st.session_state["_label_of"] = picture.digest
    label = controls.selectbox(
        "Label y", found.names, key="label", bind="query-params", width=240,
        help="What the image is said to show. A wrong label shows what the loss makes of it.",
    )  # fmt: skip
    if known is None:
        st.caption("The label of this image is not known; the teacher's first choice stands in for it.")
    return found, torch.tensor([found.names.index(label)])


# ---- many pictures ---------------------------------------------------------------------------------------------------
def many(teacher: str, students: list[str], controls: "DeltaGenerator") -> "tuple[Answers, Tensor] | None":
    from vizkit.datasets.image_set import DatasetError
    from vizkit.traces import TraceError

    with controls:
        kind = st.selectbox("Pictures", [*SETS, FOLDER], key="distil_set", bind="query-params", width=170)
        name = kind
        if kind == FOLDER:
            name = folders.choose("distil_folder", 300)
        with st.container(width=190):
            images = st.select_slider("How many", COUNTS, 100, key="distil_images", bind="query-params")
    if not name:
        st.caption("Choose a folder to see the mean over its pictures.")
        return None
    models = opened([teacher, *students])
    if teacher not in models:
        return None
    try:
        pictures = opened_set(name, int(images), max(models[teacher].preprocessing.size_hw), changed(name))
        labels = labels_of(pictures, models[teacher], title(teacher))
        found = on_pictures(pictures, models, teacher, students)
    except (DatasetError, TraceError) as sentence:
        st.error(plain(sentence), icon=":material/broken_image:")
        return None
    for note in pictures.notes:
        st.caption(f":material/info: {plain(note)}")
    return (found, labels) if found else None


@st.cache_resource(ttl=300, max_entries=8, show_spinner=False)
def opened_set(name: str, images: int, size_px: int, changed_ns: int) -> "ImageSet":
    from vizkit.datasets.opening import open_set

    return open_set(name, "test", images=images, size_px=size_px)


def opened(sources: list[str]) -> "dict[str, Loaded]":
    from vizkit.models import ModelError, OfflineError
    from vizkit.traces import NotApplicable
    from vizkit.ui.session import cached

    models = {}
    for source in dict.fromkeys(sources):
        try:
            models[source] = cached.model(source)
        except (ModelError, NotApplicable) as error:
            explain_refusal(source, str(error), isinstance(error, OfflineError))
    return models


def labels_of(pictures: "ImageSet", teacher: "Loaded", name: str) -> "Tensor":
    """The class of every picture in the teacher's order. NotApplicable when it does not know them."""
    import torch

    from vizkit.traces import NotApplicable

    if not set(pictures.labels) <= set(teacher.labels):
        raise NotApplicable(
            f"{pictures.name} shows {pictures.labels[0]} and other classes that {name} does not know; choose other "
            "pictures or another teacher."
        )
    places = torch.tensor([teacher.labels.index(label) for label in pictures.labels])
    return places[torch.from_numpy(pictures.targets.copy())]


def how() -> None:
    reading.how(
        "Teacher and student answer at one temperature; the divergence is what the student pays for saying otherwise, "
        "class by class. The gradient says where the logits go: a bar to the left is a class the student is told to "
        "believe in more. It shrinks as 1/T², which T² makes good, so that λ means the same at every temperature.",
        r"L = (1-\lambda)\,\mathrm{CE}(z_s, y) + \lambda\, T^2\,\mathrm{KL}\big(\mathrm{softmax}(z_t/T)\,\|\,"
        r"\mathrm{softmax}(z_s/T)\big), \qquad \frac{\partial\,\mathrm{KL}}{\partial z_s} = \frac{p_s(T) - p_t(T)}{T}",
        "how the student learned: it is shown after training, without augmentation, and a distilled ViT as the mean of "
        "its two heads, which training gives a part of the loss each. A teacher trained with label smoothing, as "
        "insects_cnn was, has little to whisper.",
        "Hinton, Vinyals & Dean 2015, § 2; hard labels: Touvron et al. 2021, eq. 3; smoothing: Müller et al. 2019",
    )
