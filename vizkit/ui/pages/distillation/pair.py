"""The view Teacher and student: both predictions at a temperature, the loss for their difference, and its
gradient on the logits."""

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.datasets.opening import open_set
from vizkit.image import Picture
from vizkit.models import Loaded, ModelError, OfflineError
from vizkit.traces import NotApplicable, TraceError
from vizkit.ui import reading
from vizkit.ui.pages.distillation import charts
from vizkit.ui.pages.distillation.answers import Answers, on_image, on_pictures
from vizkit.ui.pages.distillation.fields import LOWEST_OF_LOSSES, temperature
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, model_names
from vizkit.ui.session.shown import explain_refusal, keep_valid, title
from vizkit.ui.sidebar import folders
from vizkit.ui.views import Page
from vizkit.ui.widgets.data_choice import changed

TEACHER, STUDENTS = "bundled:insects_cnn", ["bundled:insects_deit", "bundled:insects_vit"]
MOST_STUDENTS = 3
THIS, MANY = "this image", "many pictures"
SETS = ("insects", "insects:easy", "insects:hard", "digits")
FOLDER = "a folder"
COUNTS = (50, 100, 200, 500, 1000, 2000)


def view(page: Page) -> None:
    teacher, students, over = _choose_models(page.sources)
    if not students:
        st.info("Choose a student.", icon=":material/school:")
        return
    controls = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    try:
        answered = (
            _on_this_image(page.picture, teacher, students, controls)
            if over == THIS
            else _on_many_pictures(teacher, students, controls)
        )
    except NotApplicable as sentence:
        st.info(plain(sentence), icon=":material/block:")
        answered = None
    if answered:
        with controls:
            t = temperature(
                "Temperature T", "loss_temperature", 3.0, "Softens both teacher and student.", LOWEST_OF_LOSSES
            )
            with st.container(width=220):
                share = st.slider(
                    "Teacher's share λ", 0.0, 1.0, 0.5, 0.05, key="share", bind="query-params",
                    help="0: the student learns from the label alone, 1: from the teacher alone.",
                )  # fmt: skip
        charts.draw(*answered, t, float(share))
    how()


def _choose_models(sources: list[str]) -> tuple[str, list[str], str]:
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
                help="One to three. DeiT · insects learned from CNN · insects, ViT · insects from the labels alone.",
            )  # fmt: skip
        over = st.segmented_control("Over", (THIS, MANY), default=THIS, required=True, key="distil_over",
                                    bind="query-params")  # fmt: skip
    return str(teacher), [source for source in students if source in known][:MOST_STUDENTS], over or THIS


# ---- this image ------------------------------------------------------------------------------------------------------
def _on_this_image(
    picture: Picture, teacher: str, students: list[str], controls: DeltaGenerator
) -> tuple[Answers, Tensor] | None:
    answers = on_image(picture, teacher, students)
    if not answers:
        return None
    image = str(st.session_state.get("image", ""))
    known = next((name for name in (image, image.removeprefix("digit ")) if name in answers.names), None)
    usual = known or answers.names[int(answers.teacher[0].argmax())]
    seen = st.session_state.get("_label_of", picture.digest)
    there = st.session_state.get("label", st.query_params.get("label"))
    if seen != picture.digest or there not in answers.names:  # a label belongs to its image, and to its set of classes
        st.session_state["label"] = usual
    st.session_state["_label_of"] = picture.digest
    label = controls.selectbox(
        "Label y", answers.names, answers.names.index(usual), key="label", bind="query-params", width=240,
        help="The class of the image. Choose a wrong one to see its effect on the loss.",
    )  # fmt: skip
    if known is None:
        st.caption("The label of this image is not known; the teacher's first choice stands in for it.")
    return answers, torch.tensor([answers.names.index(label)])


# ---- many pictures ---------------------------------------------------------------------------------------------------
def _on_many_pictures(teacher: str, students: list[str], controls: DeltaGenerator) -> tuple[Answers, Tensor] | None:
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
        answers = on_pictures(pictures, models, teacher, students)
    except (DatasetError, TraceError) as sentence:
        st.error(plain(sentence), icon=":material/broken_image:")
        return None
    for note in pictures.notes:
        st.caption(f":material/info: {plain(note)}")
    return (answers, labels) if answers else None


@st.cache_resource(ttl=300, max_entries=8, show_spinner=False)
def opened_set(name: str, images: int, size_px: int, changed_ns: int) -> ImageSet:
    return open_set(name, "test", images=images, size_px=size_px)


def opened(sources: list[str]) -> dict[str, Loaded]:
    models = {}
    for source in dict.fromkeys(sources):
        try:
            models[source] = cached.model(source)
        except (ModelError, NotApplicable) as error:
            explain_refusal(source, str(error), isinstance(error, OfflineError))
    return models


def labels_of(pictures: ImageSet, teacher: Loaded, name: str) -> Tensor:
    """The class of every picture in the teacher's order. NotApplicable when it does not know them."""
    if not set(pictures.labels) <= set(teacher.labels):
        raise NotApplicable(
            f"{pictures.name} shows {pictures.labels[0]} and other classes that {name} does not know; choose other "
            "pictures or another teacher."
        )
    places = torch.tensor([teacher.labels.index(label) for label in pictures.labels])
    return places[torch.from_numpy(pictures.targets.copy())]


def how() -> None:
    reading.how(
        "Teacher and student answer at one temperature; the divergence is the loss for every difference, class by "
        "class. The gradient shows where the logits go: a bar to the left is a class whose logit rises. The gradient "
        "shrinks as 1/T², which the factor T² compensates, so that λ means the same at every temperature.",
        r"L = (1-\lambda)\,\mathrm{CE}(z_s, y) + \lambda\, T^2\,\mathrm{KL}\big(\mathrm{softmax}(z_t/T)\,\|\,"
        r"\mathrm{softmax}(z_s/T)\big), \qquad \frac{\partial\,\mathrm{KL}}{\partial z_s} = \frac{p_s(T) - p_t(T)}{T}",
        "how the student learned: it is shown after training, without augmentation, and a distilled ViT as the mean of "
        "its two heads, which training gives a part of the loss each. A teacher trained with label smoothing, as "
        "CNN · insects was, has little dark knowledge.",
        "Hinton, Vinyals & Dean 2015, § 2; hard labels: Touvron et al. 2021, eq. 3; smoothing: Müller et al. 2019",
    )
