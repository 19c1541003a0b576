"""One run: what it is doing, its curves, what it says about pictures, and what can be done with it."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import streamlit as st

from vizkit.analysis.remarks.evaluation import ahead
from vizkit.training.recipe import RecipeError, harder
from vizkit.training.runs.bin import throw_away
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.training.runs.measure import best_of, measure_of, speed_of
from vizkit.ui import reading
from vizkit.ui.duration import duration
from vizkit.ui.plain import plain, without_pictures
from vizkit.ui.session import allowed, chosen, model_names
from vizkit.ui.session.address import go_next, keep_valid, stay
from vizkit.ui.session.jobs import ACTIVE, JobError, jobs
from vizkit.ui.widgets import run_choice, run_curves, run_gain, run_samples
from vizkit.ui.widgets.controls import more
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.stage import PLAYED, scrubber
from vizkit.views import bundled
from vizkit.views.controls import Control
from vizkit.views.trained import learners
from vizkit.views.view import How
from vizkit.work_folder import FINAL

WORDS = {
    "starting": ":material/hourglass_top: starting",
    "preparing": ":material/hourglass_top: preparing",
    "running": ":material/model_training: in training",
    "testing": ":material/fact_check: testing",
    "stopping": ":material/front_hand: stopping after this step",
    "done": ":material/check_circle: done",
    "stopped": ":material/pause_circle: stopped",
    "failed": ":material/error: failed",
    "died": ":material/error: ended unexpectedly",
}


def view(below: Callable[[str, RunFolder], How | None]) -> None:
    """`below`: what else is drawn of the run that is shown, by its name too, under its curves; how that is read."""
    messages()
    by_name = {run.name: run for run in runs()} | {bundled.RECORDED: RunFolder(bundled.RECORDED_FOLDER)} | recorded()
    _wish(by_name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = run_choice.choose(
            list(by_name),
            bundled.RECORDED,
            "All runs here, the latest first, and those of the models that come with vizkit.",
        )
        own = name not in recorded() and name != bundled.RECORDED
        at_work = own and jobs().state(by_name[name]) in ACTIVE
        epochs = 0 if at_work else len(by_name[name].metrics())
        epoch = choose_epoch(epochs) if epochs > 1 else epochs
        axes = run_curves.choose_axes()
        with more():
            axes = run_curves.choose_log(axes)
    run = by_name[name]
    if own:
        _actions(run)
    if epoch:
        run_choice.turn(run, epoch)
        also = played(run, axes, name, epoch, own, below)
    else:
        show(run, axes)
        also = below(name, run)
    card(run)
    how(also)


def _wish(by_name: dict[str, RunFolder]) -> None:
    """The run that the session or the address names, else the one at work, else the latest, with checkpoints first."""
    at_work = jobs().active(runs_root())
    wishes = run_choice.wished(), at_work and at_work.name, *learners(), *by_name
    st.session_state[run_choice.RUN] = next(name for name in wishes if name in by_name)


# ---- a recorded run --------------------------------------------------------------------------------------------------
def recorded() -> dict[str, RunFolder]:
    """Those of the models that come with vizkit, as `vizkit.load` names them."""
    every = {name: RunFolder(bundled.FOLDER / name.partition(":")[2]) for name in bundled.names()}
    return {name: run for name, run in every.items() if run.metrics()}


def choose_epoch(count: int) -> int:
    """Up to which one it is played."""
    control = Control("number", "Epoch", "Up to which epoch the run is shown.", low=1, high=count, plays=True)
    keep_valid("run_epoch", range(1, count + 1))
    with st.container(key=f"{PLAYED}run_epoch"):
        epoch = st.slider("Epoch", 1, count, count, key="run_epoch", bind="query-params", width=150)
    with st.container(width=270):
        scrubber("run_epoch_play", "run_epoch", control, [*range(1, count + 1)], epoch)
    return epoch


def played(
    run: RunFolder,
    axes: run_curves.Axes,
    name: str,
    epoch: int,
    own: bool,
    below: Callable[[str, RunFolder], How | None],
) -> How | None:
    """As it was after an epoch. Where nothing is drawn `below`, the answers are those of the finished model."""
    metrics, result = run.metrics(), run.read("result.json")
    before = metrics[:epoch]
    if own:
        head(run, jobs().state(run))
    say(run, before)
    curves, answers, cards, rate = (*(st.container() for _ in range(3)), st.columns(2)[0])
    with curves:
        run_curves.of_run(run, [], axes, epoch, run_choice.turned_to(run), rate)
    with answers:
        if (also := below(name, run)) is None:
            early = f"; after epoch {epoch} no weights were kept", "at the end "
            run_samples.show(run, "of the finished model", *early * (epoch < len(metrics)))
    with cards:
        boxes(run, {}, before, "done", result if epoch == len(metrics) else _untested(result))
    if run.has_model and run.learns_pictures and name != bundled.RECORDED:
        with st.container(horizontal=True):
            look_buttons(f"run:{run.name}" if own else name, run)
    return also


def _untested(result: dict[str, Any]) -> dict[str, Any]:
    """Before the end the test is not known, and its box keeps its place."""
    before = {name: value for name, value in result.items() if not name.startswith("test_right")}
    return {name: value if name == "test_images" else None for name, value in before.items()}


def say(run: RunFolder, metrics: list[dict[str, Any]]) -> None:
    """Which accuracy is ahead so far, and why."""
    if metrics and run.learns_pictures:
        train, validation = ([each[f"{kind}_accuracy"] for each in metrics] for kind in ("train", "val"))
        with suppress(RecipeError):
            remark(ahead(train, validation, harder(run.recipe), run_samples.counts_of(run.recipe)))


# ---- what it does ----------------------------------------------------------------------------------------------------
def show(run: RunFolder, axes: run_curves.Axes) -> None:
    """Drawn again every second while the run is at work; when it ends, the whole page once, for the pickers."""
    at_work = jobs().state(run) in ACTIVE

    @st.fragment(run_every=1.0 if at_work else None)
    def live() -> None:
        stay("train_view", "Watch")
        state = jobs().state(run)
        if at_work and state not in ACTIVE:
            st.rerun()
        head(run, state)
        boxes(run, run.status, run.metrics(), state, run.read("result.json"))
        say(run, run.metrics())
        run_curves.of_run(run, jobs().points(run), axes)

    @st.fragment(run_every=5.0 if at_work else None)
    def samples() -> None:
        stay("train_view", "Watch")
        run_samples.show(run)

    live()
    samples()


def head(run: RunFolder, state: str) -> None:
    status, metrics = run.status, run.metrics()
    message = status.get("message", "") if state in ("preparing", "testing", *FINAL) else ""
    st.markdown(f"**{WORDS[state]}**" + (f" · {plain(message)}" if message else ""))
    if state == "died":
        st.warning(plain(_ended_unexpectedly(run, len(metrics))), icon=":material/error:")
    share, words = progress(status, state, len(metrics))
    if state in ACTIVE or share < 1:
        st.progress(share, text=words)


def boxes(
    run: RunFolder, status: dict[str, Any], metrics: list[dict[str, Any]], state: str, result: dict[str, Any]
) -> None:
    with st.container(horizontal=True):
        for label, value, more in [*numbers(status, metrics, state, result), *run_gain.box(result)]:
            st.metric(label, value, border=True, help=more, width=170)
    run_gain.say(run, result)


def _ended_unexpectedly(run: RunFolder, epochs: int) -> str:
    goes_on = f"resume goes on after epoch {epochs}" if epochs else "resume begins anew"
    return f"This run ended unexpectedly; {goes_on}. {jobs().last_words(run)}".strip()


def progress(status: dict[str, Any], state: str, epochs_done: int) -> tuple[float, str]:
    """The share of all steps, and where that is in words."""
    epochs = status.get("epochs") or 0
    if not epochs:
        return 0.0, "not begun"
    if state != "running" or not status.get("steps"):
        return min(1.0, epochs_done / epochs), f"{epochs_done} of {epochs} epochs"
    step = status["step"] + 1
    share = (status["epoch"] + step / status["steps"]) / epochs
    return min(1.0, share), f"epoch {status['epoch'] + 1} of {epochs} · step {step} of {status['steps']}"


def progress_line(run: RunFolder, state: str) -> None:
    """One run of several: how far it is, and what it has reached. `state`: "" where it has not begun."""
    if not state:
        st.progress(0.0, text=f"**{plain(run.name)}** · waits")
        return
    metrics = run.metrics()
    share, words = progress(run.status, state, len(metrics))
    left = run.status.get("seconds_left") if state == "running" else None
    parts = [f"**{plain(run.name)}**", WORDS[state], words, f"{duration(left)} left" if left else ""]
    if metrics:
        parts.append(f"validation {said_of(metrics)}")
    if state in ("died", "failed"):
        parts.append(plain(jobs().last_words(run) if state == "died" else run.status.get("message", "")))
    st.progress(1.0 if state == "done" else share, text=" · ".join(filter(None, parts)))


def numbers(
    status: dict[str, Any], metrics: list[dict[str, Any]], state: str, result: dict[str, Any]
) -> list[tuple[str, str, str]]:
    """(label, value, help) of the boxes."""
    boxes = []
    speed = status.get("images_per_s") if state == "running" else speed_of(metrics)
    if state == "running" and status.get("seconds_left") is not None:
        boxes.append(("Time left", duration(status["seconds_left"]), "At the present speed, with validation."))
    elif metrics:
        boxes.append(("Time taken", duration(sum(line["seconds"] for line in metrics)), "All epochs, with validation."))
    if speed:
        more = "Training images that it learns from: at present, or of one that has ended the median over its epochs."
        boxes.append(("Images a second", f"{speed:,.0f}", more))
    if metrics:
        title = measure_of(metrics).title
        more = f"On validation data, {title} of the best epoch, whose weights are kept."
        boxes.append((f"Best, epoch {best_of(metrics)['epoch']}", said_of(metrics), more))
    measure = measure_of(metrics)
    if (test := f"test_{measure.name}") in result:
        boxes.append(
            (
                "Test",
                "–" if result[test] is None else measure.words(result[test]),
                f"{measure.title[0].upper()}{measure.title[1:]} of "
                f"{result['test_images']:,} examples that had no part in training.",
            )
        )
    return boxes


def said_of(metrics: list[dict[str, Any]]) -> str:
    """What the best epoch reached."""
    measure = measure_of(metrics)
    return measure.words(best_of(metrics)[f"val_{measure.name}"])


# ---- what can be done with it ----------------------------------------------------------------------------------------
def _actions(run: RunFolder) -> None:
    state = jobs().state(run)
    with st.container(horizontal=True, vertical_alignment="center"):
        if state in ACTIVE and jobs().own(run):
            st.button(
                "Stop training",
                icon=":material/stop:",
                key="run_stop",
                on_click=jobs().stop,
                args=(run,),
                disabled=state == "stopping" or not allowed.jobs(),
                help="The present step is finished first.",
            )
        elif state in ACTIVE:
            st.caption("Started elsewhere on this machine, by the command line perhaps: stop it there.")
        elif state != "done":
            st.button(
                "Resume",
                icon=":material/play_arrow:",
                key="run_resume",
                on_click=resume,
                args=(run,),
                disabled=not allowed.jobs(),
                help="Goes on after the last finished epoch, with the same recipe.",
            )
        if state not in ACTIVE and allowed.deleting():
            with st.popover("Delete", icon=":material/delete:"):
                st.markdown(
                    f"Type **{plain(run.name)}** to delete it with its weights and curves. The bin keeps it 30 days."
                )
                st.text_input("Name of the run", key="run_delete_name", placeholder=run.name)
                st.button("Delete", key="run_delete", type="primary", on_click=delete, args=(run,))
                if sentence := st.session_state.pop("_run_kept", None):
                    st.warning(plain(sentence), icon=":material/front_hand:")


def messages() -> None:
    """What came of the last button."""
    if sentence := st.session_state.pop("_run_refused", None):
        st.warning(plain(sentence), icon=":material/front_hand:")
    if sentence := st.session_state.pop("_run_said", None):
        st.success(plain(sentence), icon=":material/check:")


def card(run: RunFolder) -> None:
    """The story of a finished run in words."""
    if (file := run.path / "card.md").is_file():
        with st.expander("Card", icon=":material/description:"):
            st.markdown(without_pictures(file.read_text(encoding="utf-8", errors="replace")))


def resume(run: RunFolder) -> None:
    try:
        jobs().start(run)
    except (JobError, RecipeError) as error:
        st.session_state["_run_refused"] = str(error)


def look_buttons(source: str, run: RunFolder) -> None:
    """What is done with a finished model: on its own pictures, beside the others, on other pictures."""
    st.button(
        "Look inside on its own images",
        icon=":material/visibility:",
        key="run_look",
        on_click=_look_inside,
        args=(source, run),
        help="Opens it in Explore, on an image of the kind that it has learned.",
    )
    st.button(
        "Evaluate beside the others",
        icon=":material/leaderboard:",
        key="run_evaluate",
        on_click=_evaluate,
        args=(source, run),
        help="Opens Evaluate with this model, where others were judged on the same images; beside it the one that it "
        "went on from.",
    )
    st.button(
        "Fine-tune it",
        icon=":material/tune:",
        key="run_tune",
        on_click=tune,
        args=(source,),
        help="Opens the form of a new run that goes on from its weights.",
    )


def tune(source: str) -> None:
    """The form of a new run goes on from this model."""
    st.session_state.pop("_train_filled", None)
    chosen.choose_first(source)
    st.session_state.update({"train_view": "Start", "train_task": "Fine-tune a model"})


def _look_inside(source: str, run: RunFolder) -> None:
    run_samples.choose_own(run)
    _open(source, "pages/explore.py")


def _evaluate(source: str, run: RunFolder) -> None:
    with suppress(RecipeError):
        if begun := model_names.named_here(run.recipe.model):
            chosen.choose_first(begun)
    _open(source, "pages/evaluate.py")


def _open(source: str, page: str) -> None:
    chosen.choose_first(source)
    go_next(page)


def delete(run: RunFolder) -> None:
    """Into the bin, once its name was typed: only a folder of a run, right inside the folder of runs."""
    if not allowed.deleting():
        st.session_state["_run_refused"] = allowed.NO_DELETING
        return
    if (st.session_state.get("run_delete_name") or "").strip() != run.name:
        st.session_state["_run_kept"] = "Nothing was deleted: type the name of the run first, exactly."
        return
    inside = run.path.parent.resolve() == runs_root().resolve() and not run.path.is_symlink()
    if not inside or not (run.path / "recipe.json").is_file() or jobs().state(run) in ACTIVE:
        st.session_state["_run_refused"] = f"{run.name} cannot be deleted from here."
        return
    try:
        throw_away(run)
        st.session_state.update({"run_delete_name": "", "_run_said": f"{run.name} lies in the bin for 30 days."})
    except OSError as error:
        st.session_state["_run_refused"] = f"{run.name} cannot be deleted: {error.strerror or type(error).__name__}."


def how(also: How | None) -> None:
    """`also`: of what is drawn below the curves."""
    reading.how(
        "The loss should fall and the accuracy rise. When validation stays behind while training goes on improving, "
        "the model overfits its training images; when both stand still early, try a larger or smaller learning rate."
        + (f"\n\n{also.read}" if also else ""),
        r"\text{accuracy} = \tfrac1N \sum_i [\arg\max_c p(c \mid x_i) = y_i], \quad "
        r"\text{loss} = -\tfrac1N \sum_i \log p(y_i \mid x_i)",
        "a fair comparison of the two curves: training images are augmented and judged while the weights still "
        "change, validation images are neither. Validation has chosen the best epoch, so only the test is unbiased."
        + (f" Nor {also.not_shown}" if also else ""),
        "Goodfellow et al. 2016, § 5.2–5.3 and 7.8",
    )
