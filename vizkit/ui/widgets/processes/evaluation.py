"""Models on pictures, or detectors on scenes: choose, start and watch. What comes of it is the view around this."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from vizkit.datasets.builtin import ABOUT
from vizkit.datasets.image_set import SPLITS, DatasetError
from vizkit.datasets.scenes.opening import ABOUT as SCENES
from vizkit.datasets.scenes.opening import open_boxes
from vizkit.evaluation.pictures import open_pictures
from vizkit.training.recipe import RecipeError
from vizkit.ui.plain import plain
from vizkit.ui.session import allowed, uploads
from vizkit.ui.session.chosen import classes_of, sources, title
from vizkit.ui.session.evaluations import Request, evaluations, request_for, request_for_scenes, tell_of
from vizkit.ui.session.runner import ACTIVE, JobError
from vizkit.ui.sidebar import folders
from vizkit.ui.widgets import data_choice
from vizkit.ui.widgets.data_choice import ARCHIVE, FOLDER
from vizkit.ui.widgets.known import chip_of, chip_of_typed, chips
from vizkit.views import bundled
from vizkit.views.evaluate.recorded import PICTURES
from vizkit.views.trained import has_learned, run_of, trained_detectors

USUAL = "as the data have it"
FIRST_IMAGES = 500
PREVIEW_PX = 112
LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class Asked:
    """What a form asks for. `key`: before those of its elements. `sets`: by name what they are; `archive`: whether a
    zip will do. `goes_on`: what becomes of it when the page is left. `open`: (set, a few of its pictures, their
    words)."""

    key: str
    things: str
    line: str
    sets: Mapping[str, str]
    help: str
    archive: bool
    goes_on: str
    open: Callable[[str, str, int], tuple[Any, list, list[str]]]
    request: Callable[..., tuple[Request, list[str]]]


class Usual(NamedTuple):
    """What a form begins with. `elsewhere`: whether no recorded evaluation is of these images."""

    data: str = ""
    part: str = USUAL
    images: int = FIRST_IMAGES
    elsewhere: bool = False


def draw(on: str) -> None:
    """One line until it is opened, by a link, while it is at work, or for a run whose images nobody was judged on."""
    asked, at_work = ASKED[on], evaluations().at_work() is not None
    usual = usual_of(asked, sources()) if on == "images" else None
    keys = (f"{asked.key}_{each}" for each in ("data", "split", "images"))
    line = st.expander(
        asked.line,
        expanded=at_work or any(name in st.query_params for name in keys) or bool(usual and usual.elsewhere),
        icon=":material/play_arrow:",
        key=f"{asked.key}_line",
        on_change="rerun",
    )
    if line.open:
        with line:
            form(asked, sources() if on == "images" else detectors(asked), usual or Usual())


def usual_of(asked: Asked, models: list[str]) -> Usual | None:
    """The test images of the first run among the models; None where there is none, or its data are not here."""
    run = next((run for source in models if source.startswith("run:") and (run := run_of(source))), None)
    try:
        recipe = run and run.recipe
    except RecipeError:
        recipe = None
    if recipe is None or run is None:
        return None
    known = any(
        each and has_learned(run, each.opened["data"], each.opened["seed"]) for each in map(PICTURES.find, PICTURES)
    )
    if recipe.data in asked.sets:
        return Usual(recipe.data, USUAL, 0, not known)
    here = {Path(path): name for name, path in folders.offered(folders.allowed_roots()).items()}
    if (folder := here.get(Path(recipe.data).absolute())) is None:
        return None
    st.session_state.setdefault(f"{asked.key}_folder", folder)
    return Usual(FOLDER, "test", 0, True)


def detectors(asked: Asked) -> list[str]:
    """Those that come with vizkit, and finished runs."""
    shipped = sorted(folder.name for folder in (bundled.FOLDER / "detection").iterdir())
    known = {name: f"bundled:{name}" for name in shipped} | trained_detectors()
    chosen = st.multiselect("Models", known, shipped, key=f"{asked.key}_models", bind="query-params", max_selections=4)
    return [known[name] for name in chosen if name in known]


def form(asked: Asked, models: list[str], usual: Usual) -> None:
    data, split, images = choose(asked, usual)
    image_set, pictures, words = preview(asked, data, split, images)
    if not models:
        st.info("Choose a model, for example a bundled one.", icon=":material/arrow_back:")
    if image_set is None:
        return
    request, refused = asked.request(data, split, images, models, image_set.digest)
    for sentence in refused:
        st.caption(f":material/block: {plain(sentence)}")
    st.markdown(f"**{len(image_set):,} {asked.things}** of **{len(image_set.labels)} classes**")
    data_choice.row(pictures, [name[:24] for name in words], data_choice.SIDE_PX)
    for note in image_set.notes:
        st.caption(f":material/info: {plain(note)}")
    if not request.models:
        return
    if asked is ASKED["images"]:
        typed = {title(source): classes_of(source) for source in models}
        chips({title(source): chip_of(source) for source in models if not typed[title(source)]})
        chips({name: chip_of_typed(len(classes)) for name, classes in typed.items() if classes})
    run(asked, request)
    with st.expander("The same as a command", icon=":material/terminal:"):
        st.code(request.in_words(), language="bash", wrap_lines=True)
    if tell_of(request):
        st.rerun()  # the view is drawn already, without it


# ---- which pictures --------------------------------------------------------------------------------------------------
def choose(asked: Asked, usual: Usual) -> tuple[str, str, int]:
    """The set's name or path, empty while a folder or file is still to be named; its part; at most how many pictures.

    An empty part leaves it to the data, 0 takes all pictures.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        offered = [*asked.sets, FOLDER, *([ARCHIVE] if asked.archive else [])]
        chosen = st.selectbox(
            asked.things.capitalize(),
            offered,
            offered.index(usual.data or offered[0]),
            key=f"{asked.key}_data",
            bind="query-params",
            width=300,
            help=asked.help,
        )
        data = folders.choose(f"{asked.key}_folder", 420) if chosen == FOLDER else str(chosen)
        split = st.selectbox(
            "Part",
            [USUAL, *SPLITS],
            [USUAL, *SPLITS].index(usual.part),
            key=f"{asked.key}_split",
            bind="query-params",
            width=190,
            help="As the data have it: the test part of built-in sets and of folders that have a test folder, every "
            "image of a plain folder of classes. For a model that was trained on a division of the same folder "
            "choose test: it has seen the rest.",
        )
        images = st.number_input(
            f"At most {asked.things}",
            0,
            1_000_000,
            usual.images,
            step=100,
            key=f"{asked.key}_images",
            bind="query-params",
            width=190,
            help="0 takes all. With fewer, the classes keep their proportions, and intervals grow wider.",
        )
    if chosen == ARCHIVE:
        data = uploads.choose_zip("eval_zip")
    elif chosen != FOLDER:
        st.caption(asked.sets[str(chosen)])
    return data, "" if split == USUAL else str(split), int(images)


def preview(asked: Asked, data: str, split: str, images: int) -> tuple[Any, list, list[str]]:
    """What is in it, a few of its pictures, and their labels. None, with its sentence, where it cannot be used."""
    if not data:
        st.caption("Choose a folder, or give a file, to see what is in it.")
        return None, [], []
    if not data_choice.may_open(data, "Open it", f"{asked.key}_open"):
        return None, [], []
    try:
        with st.spinner(f"Opening the {asked.things} …"):
            image_set, pictures, words = opened(asked.things, data, split, images, data_choice.changed(data))
    except DatasetError as error:
        st.error(plain(error), icon=":material/broken_image:")
        return None, [], []
    return image_set, pictures, words


@st.cache_resource(ttl=60, max_entries=8, show_spinner=False)
def opened(things: str, data: str, split: str, images: int, changed_ns: int) -> tuple[Any, list, list[str]]:
    return ASKED[things].open(data, split, images)


def _pictures(data: str, split: str, images: int) -> tuple[Any, list, list[str]]:
    image_set = open_pictures(data, split, images=images or None, size_px=PREVIEW_PX)
    return image_set, *data_choice.chosen_pictures(image_set)


def _scenes(data: str, split: str, images: int) -> tuple[Any, list, list[str]]:
    scenes = open_boxes(data, split or "test", count=images or None, size_px=PREVIEW_PX)
    few = [scenes[row] for row in range(min(data_choice.SHOWN, len(scenes)))]
    counts = [f"{len(each.labels)} thing{'' if len(each.labels) == 1 else 's'}" for each in few]
    return scenes, [data_choice.square(each.picture) for each in few], counts


OWN = "What the models are judged on. Your own: a folder"
ASKED = {
    "images": Asked(
        "eval",
        "images",
        "Evaluate models on other images, or your own models and images",
        ABOUT,
        f"{OWN}, or a zip of one, with a folder of images for each class, called as the models call it.",
        True,
        "It goes on when you leave this page. What was answered is not computed again.",
        _pictures,
        request_for,
    ),
    "scenes": Asked(
        "eval_scenes",
        "scenes",
        "Evaluate detectors on other scenes, or your own detectors and scenes",
        SCENES,
        f"{OWN} with annotations.json (COCO), whose classes are called as the models call them.",
        False,
        "It goes on when you leave this page.",
        _scenes,
        request_for_scenes,
    ),
}


# ---- start, watch ----------------------------------------------------------------------------------------------------
def run(asked: Asked, request: Request) -> None:
    """The button, or what is at work; drawn again every second until it ends."""
    state = evaluations().state(request.job)
    if state in ACTIVE:
        if request.job.outcome is not None:
            done = len(list(request.job.path.glob("first*")))
            st.caption(f"{done} of {len(request.models)} models so far, below; the others follow as they are done.")
        watch(asked, request)
        return
    status = request.job.status
    if state == "failed":
        st.error(plain(status.get("message", "It failed.")), icon=":material/error:")
    elif state == "died":
        words = evaluations().last_words(request.job)
        st.warning(f"It ended unexpectedly; what was answered is kept. {plain(words)}".strip(), icon=":material/error:")
    elif state == "stopped":
        st.caption(f":material/pause_circle: {plain(status.get('message', ''))}")
    other = evaluations().at_work()
    with st.container(horizontal=True, vertical_alignment="center"):
        if not request.job.done:
            words = "Evaluate" if not state else "Go on"
            count = f"{len(request.models)} model{'s' if len(request.models) > 1 else ''}"
            st.button(
                f"{words}: {count}",
                type="primary",
                icon=":material/play_arrow:",
                key=f"{asked.key}_start",
                on_click=start,
                args=(request,),
                disabled=other is not None or not allowed.jobs(),
                help=asked.goes_on,
            )
        if other is not None:
            st.caption("Another evaluation is at work on this machine.")
            st.button(
                "Stop the other",
                icon=":material/stop:",
                key=f"{asked.key}_stop_other",
                on_click=evaluations().stop,
                args=(other,),
                disabled=not allowed.jobs(),
            )
    if not request.job.done and not allowed.jobs():
        st.info(allowed.NO_JOBS, icon=":material/lock:")
    if sentence := st.session_state.pop("_eval_refused", None):
        st.warning(plain(sentence), icon=":material/front_hand:")


def start(request: Request) -> None:
    try:
        evaluations().start(request)
    except JobError as error:
        st.session_state["_eval_refused"] = str(error)


def watch(asked: Asked, request: Request) -> None:
    """Also draws the page again when another model is done."""
    drawn = request.job.outcome

    @st.fragment(run_every=LOOK_EVERY_S)
    def live() -> None:
        state = evaluations().state(request.job)
        if state not in ACTIVE or request.job.outcome != drawn:
            st.rerun()
        share, words = progress(request.job.status, state, asked.things)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(share, words, width="stretch")
            if evaluations().own(request.job):
                st.button(
                    "Stop",
                    icon=":material/stop:",
                    key=f"{asked.key}_stop",
                    on_click=evaluations().stop,
                    args=(request.job,),
                    disabled=state == "stopping" or not allowed.jobs(),
                    help="After the present batch.",
                )

    live()


def progress(status: dict, state: str, things: str = "images") -> tuple[float, str]:
    """The share of all answers, and where that is in words."""
    if state == "stopping":
        return 0.0, "Stopping after this batch …"
    if not status.get("total"):
        return 0.0, plain(status.get("message") or "Starting …")
    share = (status["model"] + status["done"] / status["total"]) / status["models"]
    if share >= 1:
        return 1.0, "All is answered; counting and testing …"
    speed = f" · {status['images_per_s']:,.0f} {things} a second" if status.get("images_per_s") else ""
    return min(1.0, share), f"{plain(status['name'])}: {status['done']:,} of {status['total']:,} {things}{speed}"
