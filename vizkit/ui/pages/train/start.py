"""The form of a new run: data, model, recipe, what it will take, and the button."""

import re
from dataclasses import replace
from pathlib import Path

import streamlit as st

from vizkit.datasets.builtin.insects import INSECTS
from vizkit.training.recipe import NAMED, Recipe, RecipeError
from vizkit.training.runs.command_line import command
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.ui import reading
from vizkit.ui.pages.train import fields, model
from vizkit.ui.pages.train.at_work import at_work, forget_run
from vizkit.ui.plain import plain
from vizkit.ui.session import allowed
from vizkit.ui.session.jobs import JobError, jobs
from vizkit.ui.views import Page
from vizkit.ui.widgets import data_choice, time_estimate

MAIN = ("epochs", "images", "batch", "lr", "optimizer", "schedule", "seed")
ELSEWHERE = ("data", "model", "image_size", "pretrained", "train_blocks")
TEACHER = ("teacher", "distillation", "temperature", "teacher_share")
OWN = "default"
NAME = re.compile(r"\w[\w.-]{0,79}")
WEIGHTS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")  # a folder of such a name would be taken for a file


def view(page: Page) -> None:
    del page  # a run has a model of its own
    forget_run()
    if run := jobs().active(runs_root()):
        at_work(run)
    if not allowed.jobs():
        st.info(allowed.NO_JOBS, icon=":material/lock:")
    fields.begin()
    _recipe_picker()
    left, middle, right = st.columns(3, border=True)
    with left:
        data = data_choice.choose()
        contents = data_choice.show(data, number("images"), number("data_seed"))
    with middle:
        model.choose()
    with right:
        with st.container(horizontal=True):
            for name in MAIN:
                fields.widget(name, 130)
        _digits_hint(data)
    if contents is not None:
        data_choice.row(contents.pictures, [name[:24] for name in contents.names], data_choice.SIDE_PX)
    with st.expander("Learn from a teacher (distillation)", icon=":material/school:"):
        model.teacher()
    others()
    _start_row(data, contents)
    how()


def _recipe_picker() -> None:
    """Choosing one sets every field but the data."""

    def chosen() -> None:
        name = st.session_state["train_recipe"]
        fields.fill(NAMED[name][1] if name in NAMED else Recipe())

    name = st.selectbox(
        "Recipe",
        [*NAMED, OWN],
        key="train_recipe",
        persist_state="session",
        on_change=chosen,
        width=420,
        help="A named recipe sets all fields below but the data; change what you like afterwards. quick is a good "
        "first run; the others follow published papers and want a GPU.",
    )
    st.caption(NAMED[name][0] if name in NAMED else "every field at its default")


def number(name: str) -> int:
    return int(st.session_state.get(f"{fields.KEY}{name}") or 0)


def _digits_hint(data: str) -> None:
    if data == "digits" and st.session_state.get(f"{fields.KEY}flip"):
        st.caption(":material/info: A mirrored digit is no digit: set the chance of a flip to 0 under All fields.")


def others() -> None:
    with st.expander("All fields", icon=":material/tune:"), st.container(horizontal=True, vertical_alignment="bottom"):
        for name in fields.BY_NAME:
            if name not in (*MAIN, *ELSEWHERE, *TEACHER):
                fields.widget(name, 200)


def _drafted(data: str) -> Recipe:
    """The recipe that the form shows. RecipeError says what is wrong with it."""
    values = fields.typed()
    teacher = model.folder_of(values.get("teacher") or "")
    values |= {"data": data, "model": model.folder_of(values.get("model") or ""), "teacher": teacher}
    if not teacher:
        values["distillation"] = "none"
    if not values["model"]:
        raise RecipeError("Choose a model.")
    return Recipe().but(values)


# ---- before the start ------------------------------------------------------------------------------------------------
def _start_row(data: str, contents: data_choice.Preview | None) -> None:
    try:
        recipe, problem = _drafted(data), ""
    except RecipeError as error:
        recipe, problem = Recipe(), str(error)
    if problem:
        st.error(problem, icon=":material/edit:")
    elif data:
        st.caption(":material/schedule: " + time_of(recipe, contents))
    suggestion = suggested(recipe)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        typed = st.text_input(
            "Name of the run",
            key="train_name",
            persist_state="session",
            placeholder=suggestion,
            width=320,
            help="The run is kept in a folder of this name, and is called so in every picker of models.",
        )
        name = typed.strip() or suggestion
        st.button(
            "Start training",
            type="primary",
            icon=":material/play_arrow:",
            key="train_start",
            disabled=not allowed.jobs()
            or bool(problem)
            or not data
            or (contents is None and not data.startswith("torchvision:")),
            on_click=start,
            args=(name, recipe),
            help="It goes on when you leave this page, until it is done, you stop it, or the app ends.",
        )
    if sentence := st.session_state.pop("_train_refused", None):
        st.warning(plain(sentence), icon=":material/front_hand:")
    if data and not problem:
        with st.expander("The same as a command", icon=":material/terminal:"):
            st.code(command(recipe, (runs_root() / name).as_posix()), language="bash", wrap_lines=True)


def time_of(recipe: Recipe, contents: data_choice.Preview | None) -> str:
    images = contents.images["train"] if contents else recipe.images or INSECTS["train"]
    if contents is None and not recipe.images:
        return time_estimate.sentence(None)
    return time_estimate.sentence(time_estimate.estimate(recipe, images, time_estimate.device(), runs()))


def suggested(recipe: Recipe) -> str:
    """A free name from the model and the data."""
    stem = "-".join(re.sub(r"[^\w-]+", "_", Path(part).name)[:30].strip("_") for part in (recipe.model, recipe.data))
    name, count = stem, 2
    while (runs_root() / name).exists():
        name, count = f"{stem}-{count}", count + 1
    return name


def start(name: str, recipe: Recipe) -> None:
    """The button's callback: begin, and turn to the run; or keep the sentence that says why not."""
    try:
        if not NAME.fullmatch(name) or Path(name).suffix in WEIGHTS:
            raise RecipeError("A run's name is letters, digits, - and _, and no name of a file.")
        run = RunFolder(runs_root() / name)
        if run.path.exists() and jobs().state(run) != "failed":
            raise RecipeError(f"There is a run {name} already; give another name, or none.")
        jobs().start(run, replace(recipe))
    except (RecipeError, JobError) as error:
        st.session_state["_train_refused"] = str(error)
        return
    st.session_state.update({"train_name": "", "train_view": "Watch", "run": name})


def how() -> None:
    reading.how(
        "In an epoch the model sees every training picture once and changes its weights after each batch, against the "
        "gradient of the loss, in steps of the learning rate. Validation pictures, which it never learns from, choose "
        "the best epoch; test pictures are looked at once, at the end.",
        r"\theta \leftarrow \theta + \eta\,\nabla_\theta\, \tfrac1B \sum_{i=1}^{B} \log p_\theta(y_i \mid x_i)",
        "how the model will do on pictures of another kind than these.",
        "Goodfellow et al. 2016, § 5.3 and 8.1; recipes: Touvron et al. 2021; Liu et al. 2021",
    )
