"""The view Data size: test accuracy against the number of training pictures, for an MLP, a CNN, a Swin, a ViT and
DeiTs with several teachers."""

from dataclasses import dataclass

import streamlit as st

from vizkit.figure.evaluation.data_size import Line, data_size
from vizkit.training.experiments.data_size import METHODS
from vizkit.training.experiments.size_findings import UNTAUGHT, findings
from vizkit.training.experiments.size_results import Outcome, Study, curves, method_of, studies
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.ui import reading
from vizkit.ui.pages.evaluate import size_runs
from vizkit.ui.pages.evaluate.size_runs import facts, parameters_of, working
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark


@dataclass(frozen=True)
class Group:
    """One study as the picker names it."""

    name: str
    study: Study


def view(page: Page) -> None:
    del page  # it shows runs, not the chosen models
    live()
    how()


def live() -> None:
    """Drawn again every two seconds while runs are at work; when they begin or end, the whole page once."""
    at_work = working()

    @st.fragment(run_every=2.0 if at_work else None)
    def drawn() -> None:
        if at_work != working():
            st.rerun()
        study = chosen()
        if study is None:
            st.info(
                "No run of this experiment has come to its end yet. Train them below.", icon=":material/arrow_downward:"
            )
        else:
            results(study)
        size_runs.experiment()

    drawn()


# ---- which runs ------------------------------------------------------------------------------------------------------
def chosen() -> Study | None:
    """Shipped runs first; one's own of the same setting may lie over them, seed beside seed."""
    groups = offered()
    if not groups:
        return None
    if len(groups) == 1:
        return groups[0].study
    names = [group.name for group in groups]
    keep_valid("size_runs", names)
    name = st.selectbox(
        "Runs",
        names,
        key="size_runs",
        bind="query-params",
        width=460,
        help="Of the shipped experiment, and of those that you have trained here.",
    )
    return groups[names.index(str(name))].study


def offered() -> list[Group]:
    shipped = [RunFolder(file.parent) for file in sorted(size_runs.SHIPPED.glob("*/recipe.json"))]
    own = [run for folder in sorted(runs_root().glob("data_size*")) for run in runs(folder)]
    groups = [Group(f"{title(study)} · shipped", study) for study in _with_results(shipped)]
    for study in _with_results(own):
        groups.append(Group(f"{title(study)} · yours", study))
        twin = next((group.study for group in groups if group.name == f"{title(study)} · shipped"), None)
        if twin is not None and not set(twin.seeds) & set(study.seeds):
            (both,) = studies([*twin.runs, *study.runs])
            groups.append(Group(f"{title(study)} · shipped and yours", both))
    return groups


def _with_results(folders: list[RunFolder]) -> list[Study]:
    return [study for study in studies(folders) if study.outcomes]


def title(study: Study) -> str:
    name = study.data.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f"{name} · {study.sizes[0]:,} to {study.sizes[-1]:,} images"


# ---- what they tell --------------------------------------------------------------------------------------------------
def results(study: Study) -> None:
    known = facts(study.data, study.data_seed)
    for said in findings(study):
        remark(said)
    plot(study, known.chance if known else None)
    table(study)
    st.caption(conditions(study, parameters(study) if known else ""))
    by_epoch(study)


def plot(study: Study, chance: float | None) -> None:
    lines = [line_of(method, of) for method in METHODS if (of := study.of(method))]
    ends = ", ".join(f"{line.name} {line.mean[0]:.0%} to {line.mean[-1]:.0%}" for line in lines)
    chart(data_size(lines, chance, study.sizes), "size_chart", f"Test accuracy against training images: {ends}")


def line_of(method: str, outcomes: list[Outcome]) -> Line:
    estimates = [outcome.estimate for outcome in outcomes]
    about = METHODS[method]
    return Line(
        method,
        method.split()[0],
        [outcome.images for outcome in outcomes],
        [each.mean for each in estimates],
        [max(0.0, each.low) for each in estimates],
        [min(1.0, each.high) for each in estimates],
        dash="dot" if about.distillation == "soft" else "solid",
        hollow=about.teacher == "same",
        main=not about.teacher,
    )


def table(study: Study) -> None:
    import pandas as pd

    rows = [
        {"Method": method, **{f"{images:,} images": cell(study.at(method, images)) for images in study.sizes}}
        for method in METHODS
        if study.of(method)
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content",
        column_config={"Method": st.column_config.TextColumn(pinned=True)},
    )


def cell(outcome: Outcome | None) -> str:
    return "–" if outcome is None else outcome.words


def conditions(study: Study, models: str) -> str:
    """What it was run on, as the recipes and results say it."""
    least, most = study.shown
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    seeds = f"Seed{'s' if len(study.seeds) > 1 else ''} {', '.join(map(str, study.seeds))}"
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return (
        f"{study.data}{side}; {models}every run was shown {shown} pictures, small sets again and again. {seeds}; ± "
        f"and bands are {study.intervals}."
    )


def parameters(study: Study) -> str:
    """How large the model of each method without a teacher is."""
    one = {method: run for run in study.runs if (method := method_of(run)) in UNTAUGHT}  # all of a method are alike
    counts = {method: parameters_of(run.recipe.to_json()) for method, run in one.items()}
    words = [f"{method} {count / 1e6:.2f} M" for method, count in counts.items() if count]
    return f"small models ({', '.join(words)} parameters); " if words else ""


def by_epoch(study: Study) -> None:
    """Training against validation accuracy: what is learned by heart."""
    with st.expander("By epoch: learned, or learned by heart?", icon=":material/show_chart:"):
        from vizkit.figure.training.learning_curves import learning_curves

        names = {f"{images:,} images": images for images in study.sizes}
        keep_valid("size_epochs", names)
        name = st.segmented_control(
            "Training images",
            list(names),
            default=next(iter(names)),
            required=True,
            key="size_epochs",
            bind="query-params",
        )
        for column, what, heading in zip(
            st.columns(2),
            ("train_accuracy", "val_accuracy"),
            ("On its training pictures, augmented", "On validation pictures"),
            strict=True,
        ):
            with column:
                st.markdown(f"**{heading}**")
                figure = learning_curves(curves(study, names[str(name)], what), "accuracy", percent=True, whole=True)
                chart(figure, f"size_{what}", f"{heading}, by epoch, {name}")
        st.caption(
            "An epoch shows every run as many pictures. A high accuracy on the left with a low one on the right "
            "is a set learned by heart. A ViT and a DeiT see half of the patches while they train, and a "
            "DeiT's class head is judged alone."
        )


def how() -> None:
    reading.how(
        "Each line is one method that learned from 100 to 12,000 of the same pictures, and each point the share of "
        "unseen test pictures that it then named. A line that is low on the left and rises to the right needs many "
        "pictures: a convolution has locality and translation equivariance built in, a transformer has to learn them "
        "from the pictures. A DeiT's teacher is the CNN of the same pictures (hollow) or that of all of them (filled).",
        r"\pm\, t_{.975}(\nu)\,\sqrt{\tfrac{s^2}{n_\text{seeds}} + \tfrac{p(1-p)}{N_\text{test}}},\quad "
        r"\nu = \frac{(V_\text{seeds} + V_\text{test})^2}{V_\text{seeds}^2/(n_\text{seeds}-1)}",
        "what large models do on photographs, where the crossing lies at millions of pictures; what more epochs or "
        "another augmentation would change; and what other training pictures would, for all seeds have the same ones.",
        "Dosovitskiy et al. 2020, § 4.3 and fig. 3; Touvron et al. 2021; d'Ascoli et al. 2021",
    )
