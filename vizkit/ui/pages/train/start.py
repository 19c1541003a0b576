"""The form of a new run: data, model, recipe, what it will take, and the button."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from vizkit.analysis.remarks.remark import counted, joined
from vizkit.datasets.builtin.insects import INSECTS
from vizkit.datasets.scenes.opening import ABOUT as SCENES
from vizkit.training.detection.recipes import DETECTING
from vizkit.training.recipe import NAMED, Recipe, RecipeError, harder
from vizkit.training.runs.command_line import command, portable
from vizkit.training.runs.comparing import steps_an_epoch
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.training.runs.naming import free_name, safe_name
from vizkit.training.sequences.recipes import TEXTS
from vizkit.training.suiting import suited
from vizkit.training.super_resolution.recipes import ENLARGING as ENLARGE
from vizkit.training.tuning import begins_elsewhere, refuse_untrained
from vizkit.ui import reading
from vizkit.ui.pages.train import checked, fields, model
from vizkit.ui.pages.train.at_work import at_work, forget_run
from vizkit.ui.plain import plain
from vizkit.ui.session import allowed
from vizkit.ui.session.address import keep_valid
from vizkit.ui.session.jobs import JobError, jobs
from vizkit.ui.views import Page
from vizkit.ui.widgets import data_choice, time_estimate
from vizkit.ui.widgets.run_choice import RUN
from vizkit.ui.widgets.run_watch import recorded
from vizkit.views.trained import run_of

FEW_STEPS = 30  # below, a rate has hardly been warmed up
FIRST = ("epochs", "images")
ELSEWHERE = ("data", "model", "epochs", "pretrained", "train_blocks")
ENLARGING = ("perceptual", "adversarial")  # of networks that the command line trains
TEACHER = ("teacher", "distillation", "temperature", "teacher_share")
OWN = "default"
TEXT = "dates"
MADE = {  # what is drawn or written for a task
    **SCENES,
    TEXT: "40,000 dates as people write them, each with the same date as a number: “the 21st of November, 2026” → "
    "2026-11-21",
    "insects": "drawn insects, each beside itself at a quarter of its width and height",
}
CLASSES, TUNED, TEACH = "Tell images apart", "Fine-tune a model", "Learn from a teacher"
PICTURES = {**NAMED, OWN: ("every field at its default", Recipe())}
TASKS = {  # what is learned → its recipes: what each is, and its fields
    CLASSES: PICTURES,
    TUNED: fields.TUNED,
    TEACH: PICTURES,
    "Find insects in scenes": DETECTING,
    "Rewrite dates": TEXTS,
    "Enlarge images": ENLARGE,
}


def view(page: Page) -> None:
    del page  # a run has a model of its own
    forget_run()
    if run := jobs().active(runs_root()):
        at_work(run)
    if not allowed.jobs():
        st.info(allowed.NO_JOBS, icon=":material/lock:")
    given = {"required": True, "key": "train_task", "bind": "query-params"}
    task = str(st.segmented_control("What is learned", [*TASKS], default=CLASSES, **given))
    left, middle, right = st.columns(3, border=True)
    with right:  # first, because a recipe fills the widgets of the others
        recipe = _choose_recipe(task)
        fields.widget("epochs")
    if task not in (CLASSES, TUNED, TEACH):
        _other_task(recipe, left, middle)
        how()
        return
    with left:
        data = data_choice.choose(_fit_to_data)
        contents = data_choice.show(data, number("images"), number("data_seed"))
        checked.show(data, number("data_seed"))
        _mirror_hint(data)
    labels = contents.labels if contents else ()
    with middle:
        if task == TUNED:
            model.choose_trained(labels)
        else:
            model.choose()
            if task == TEACH:
                model.teacher(labels)
            else:
                fields.widget("pretrained")
    try:
        recipe, problem = _drafted(data, task), ""
    except RecipeError as error:
        recipe, problem = Recipe(), str(error)
    if contents is not None:
        _pictures(contents, recipe)
    ready = bool(data) and (contents is not None or data.startswith("torchvision:"))
    start_row = st.container()
    with st.expander("More", icon=":material/tune:"):
        _more(task, labels)
    with start_row:
        _start_row(recipe, problem, ready=ready, contents=contents)
    how()


def _choose_recipe(task: str) -> Recipe:
    """The named recipe. Choosing one sets every field but the pictures."""
    keep_valid("train_recipe", [*TASKS[task]], next(iter(TASKS[task])))
    name = st.selectbox(
        "Recipe",
        [*TASKS[task]],
        key="train_recipe",
        persist_state="session",
        help="A named recipe sets all other fields but the data; change what you like afterwards. quick is a good "
        "first run; the others follow published papers and want a GPU.",
    )
    words, recipe = TASKS[task][name]
    filled, tuned = st.session_state.get("_train_filled"), st.session_state.get(f"{fields.KEY}model")
    if filled != (task, name):
        st.session_state["_train_filled"] = (task, name)
        pictures = recipe.task == "classify"
        begun = _begun(tuned if filled and filled[0] == TUNED else "") if task == TUNED else ""
        fields.fill(suited(recipe, str(st.session_state.get("train_data") or recipe.data)) if pictures else recipe)
        if begun:
            fields.put("model", begun)
        if task == TEACH:
            fields.put("teacher", model.teacher_of(_data()))
            fields.put("distillation", "soft")
    st.caption(words)
    return recipe


def _data() -> str:
    return str(st.session_state.get("train_data") or "insects")


def _fit_to_data() -> None:
    fields.fit_to_data()
    if teacher := st.session_state.get(f"{fields.KEY}teacher"):
        fields.put("teacher", model.teacher_of(_data(), teacher))


def _begun(tuned: object) -> str:
    """The model that was chosen for it before, else the first of the other pages, and images of its own classes
    where none were given with it."""
    begun = str(tuned or model.trained_models()[0])
    given = st.session_state.pop("_images_given", False)
    if not (tuned or given) and (run := run_of(begun)):
        with suppress(RecipeError):
            data_choice.put(run.recipe.data)
    return begun


def _other_task(recipe: Recipe, left: Any, middle: Any) -> None:
    """What is drawn or written for it, and its network, are those of its recipe."""
    network, words = model.OTHERS[recipe.model]
    with left:
        st.markdown(f"**Data** · {recipe.data}, made for it")
        st.caption(MADE[recipe.data])
        if recipe.data != TEXT:
            fields.widget("images")
    with middle:
        st.markdown(f"**Network** · {network}")
        st.caption(words)
    first = FIRST[:1] if recipe.data == TEXT else FIRST
    own = ("batch", "lr", "optimizer", "schedule", "seed", "warmup_epochs")
    names = (*first, *own, *(ENLARGING if recipe.task == "enlarge" else ()))
    start_row = st.container()
    with st.expander("More", icon=":material/tune:"), st.container(horizontal=True):
        for name in names[len(first) :]:
            fields.widget(name, 160)
    values, problem = fields.typed(), ""
    try:
        recipe = recipe.but({name: values[name] for name in names})
    except RecipeError as error:
        problem = str(error)
    with start_row:
        _start_row(recipe, problem, ready=True)


def _pictures(contents: data_choice.Preview, recipe: Recipe) -> None:
    """A few of the data; and, where somebody asks, what the augmentation makes of them."""
    data_choice.row(contents.pictures, [name[:24] for name in contents.names], data_choice.SIDE_PX)
    if (shown := len({*contents.names})) < len(contents.labels):
        st.caption(f"{shown} of the {len(contents.labels)} classes are shown.")
    line = st.expander("As the model gets them", icon=":material/auto_fix_high:", key="changed", on_change="rerun")
    if line.open:
        with line:
            if not (done := harder(recipe)):
                st.caption("As they are: this recipe changes no image. Augmentation under More has what could be done.")
                return
            side = recipe.image_size or (32 if recipe.model.startswith("digits_") else 112)
            draw = int(st.number_input("Draw", 1, 999, key="changed_draw", width=120, help="Another step of the run."))
            shown = augmented(contents.pictures, recipe, side, draw)
            data_choice.row(shown, [""] * len(shown), data_choice.SIDE_PX)
            st.caption(f"In every step anew they {joined(done)}, by the settings of Augmentation under More.")


@st.cache_data(max_entries=16, show_spinner="Changing the images …")
def augmented(pictures: list[Any], recipe: Recipe, side_px: int, draw: int) -> list[Any]:
    from vizkit.image import Preprocessing
    from vizkit.training.pictures.preview import learned_from

    needs = Preprocessing((side_px, side_px), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0)
    return learned_from(pictures, recipe, needs, draw)


def number(name: str) -> int:
    return int(st.session_state.get(f"{fields.KEY}{name}") or 0)


def _mirror_hint(data: str) -> None:
    if not data or data.startswith(("insects", "torchvision:")):
        return
    if st.session_state.get(f"{fields.KEY}flip"):
        st.caption(":material/info: Some images are mirrored: right only where left and right mean nothing.")
    else:
        st.caption(":material/info: No image is mirrored: a mirrored digit or letter is another one, or none.")


def _more(task: str, labels: tuple[str, ...]) -> None:
    """All other fields, each under its heading."""
    if task != TUNED:
        fields.what_learns()
        if hint := model.misfit():
            st.caption(f":material/info: {hint}")
    if task == CLASSES:
        model.teacher(labels)
    if st.session_state.get(f"{fields.KEY}teacher"):
        with st.container(horizontal=True):
            for name in TEACHER[1:]:
                fields.widget(name, 180)
    shown = (*ELSEWHERE, *TEACHER, *ENLARGING)
    for group, members in fields.grouped([name for name in fields.BY_NAME if name not in shown]).items():
        st.markdown(f"**{group}**")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for name in members:
                fields.widget(name, 180)


def _drafted(data: str, task: str) -> Recipe:
    """The recipe that the form shows. RecipeError says what is wrong with it."""
    values = fields.typed()
    teacher = model.folder_of(values.get("teacher") or "")
    values |= {"data": data, "model": model.folder_of(values.get("model") or ""), "teacher": teacher}
    if not teacher:
        if task == TEACH:
            raise RecipeError("Choose a teacher that knows the classes of these images.")
        values["distillation"] = "none"
    if not values["model"]:
        raise RecipeError("Choose a model.")
    if task == TUNED:
        refuse_untrained(values["model"], model.OURS)
        values["pretrained"] = not begins_elsewhere(values["model"])
    return Recipe().but(values)


# ---- before the start ------------------------------------------------------------------------------------------------
def _start_row(recipe: Recipe, problem: str, *, ready: bool, contents: data_choice.Preview | None = None) -> None:
    """`ready`: whether there is something to learn from."""
    if ready and not problem:
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
        name = name_of(typed) or suggestion
        st.button(
            "Start training",
            type="primary",
            icon=":material/play_arrow:",
            key="train_start",
            disabled=not allowed.jobs() or bool(problem) or not ready,
            on_click=start,
            args=(name, recipe, typed),
            help="It goes on when you leave this page, until it is done, you stop it, or the app ends.",
        )
        if problem:
            st.error(problem, icon=":material/edit:")
    if typed.strip() not in ("", name):
        st.caption(f":material/edit: {plain(became(typed, name))}")
    if sentence := st.session_state.pop("_train_refused", None):
        st.warning(plain(sentence), icon=":material/front_hand:")
    if ready and not problem:
        with st.expander("The same as a command", icon=":material/terminal:"):
            named = recipe if allowed.jobs() else portable(recipe)  # whoever may start it here may know where it lies
            chosen = str(st.session_state["train_recipe"])
            base = (chosen, TASKS[str(st.session_state["train_task"])][chosen][1]) if chosen != OWN else None
            st.code(command(named, f"runs/{name}", base), language="bash", wrap_lines=True)
            if named != recipe:
                st.caption("Folders and files are called by their own names: write the path to yours.")


def time_of(recipe: Recipe, contents: data_choice.Preview | None) -> str:
    """How long it will take, and in how many steps."""
    images = contents.images["train"] if contents else recipe.images or INSECTS["train"]
    if contents is None and not recipe.images:
        return time_estimate.sentence(None)
    past, shipped = runs(), [*recorded().values()]
    time = time_estimate.sentence(time_estimate.estimate(recipe, images, time_estimate.device(), past, shipped))
    return f"{time} {steps_in_words(steps_an_epoch(recipe, images), recipe.epochs)}".strip()


def steps_in_words(each: int, epochs: int) -> str:
    """How often the weights change; "" where no batch fits, which is said elsewhere."""
    if not each:
        return ""
    words = f"{counted(each, 'step')} an epoch, {each * epochs:,} in all."
    return words if each * epochs >= FEW_STEPS else f"{words} That is few: take more epochs, or a smaller batch."


def suggested(recipe: Recipe) -> str:
    """A free name from the model and the data."""
    parts = (recipe.model.rpartition(":")[2], recipe.data)
    return name_of("-".join(safe_name(Path(part).stem)[:30] for part in parts))


def name_of(typed: str) -> str:
    """What a run can be called that was to be called so, "" where nothing is left: a free name, or that of a run that
    failed before its first epoch."""
    stem = safe_name(typed)
    return stem and free_name(stem, lambda name: _taken(RunFolder(runs_root() / name)))


def _taken(run: RunFolder) -> bool:
    return run.path.exists() and jobs().state(run) != "failed"


def became(typed: str, name: str) -> str:
    taken = ", for there is one of that name" if safe_name(typed) not in ("", name) else ""
    return f"The run is called {name}{taken}. Names have letters, digits, -, _ and dots."


def start(name: str, recipe: Recipe, typed: str = "") -> None:
    """The button's callback: begin, and turn to the run; or keep the sentence that says why not."""
    try:
        jobs().start(RunFolder(runs_root() / name), replace(recipe))
    except (RecipeError, JobError) as error:
        st.session_state["_train_refused"] = str(error)
        return
    if typed.strip() not in ("", name):
        st.session_state["_run_said"] = became(typed, name)
    st.session_state.update({"train_name": "", "train_view": "Watch", RUN: name})


def how() -> None:
    reading.how(
        "In an epoch the model sees every training image once and changes its weights after each batch, against the "
        "gradient of the loss, in steps of the learning rate. Validation images, which it never learns from, choose "
        "the best epoch; test images are looked at once, at the end.",
        r"\theta \leftarrow \theta + \eta\,\nabla_\theta\, \tfrac1B \sum_{i=1}^{B} \log p_\theta(y_i \mid x_i)",
        "how the model will do on images of another kind than these.",
        "Goodfellow et al. 2016, § 5.3 and 8.1; recipes: Touvron et al. 2021; Liu et al. 2021",
    )
