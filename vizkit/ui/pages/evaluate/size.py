"""The view Data size: test accuracy against the number of training pictures, for a CNN, a ViT, a DeiT and a Swin."""

from dataclasses import dataclass

import streamlit as st

from vizkit.figure.evaluation.data_size import Line, data_size
from vizkit.training.experiments.data_size import MODELS, Lead, Outcome, Study, curves, lead, needed, studies
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.ui import reading
from vizkit.ui.pages.evaluate import size_runs
from vizkit.ui.pages.evaluate.size_runs import facts, family_of, parameters_of, working
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart


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
            st.info("No run of this experiment has come to its end yet. Train them below.",
                    icon=":material/arrow_downward:")  # fmt: skip
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
    names = [group.name for group in groups]
    keep_valid("size_runs", names)
    name = st.selectbox("Runs", names, key="size_runs", bind="query-params", width=460,
                        help="Of the shipped experiment, and of those that you have trained here.")  # fmt: skip
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
    plot(study, known.chance if known else None)
    st.markdown("  \n".join(verdict(study)))
    table(study)
    st.caption(conditions(study, parameters(study) if known else ""))
    by_epoch(study)


KNOWN, BY_HEART = 0.9, 0.2  # shares: of the training pictures right; how much fewer of unseen ones


def plot(study: Study, chance: float | None) -> None:
    lines = []
    for family in MODELS:
        of = [outcome for outcome in study.outcomes if outcome.family == family]
        if of:
            seeds = [tuple(outcome.tests.values()) for outcome in of]
            lines.append(Line(family, [outcome.images for outcome in of], [outcome.mean for outcome in of],
                              [outcome.error for outcome in of], seeds))  # fmt: skip
    ends = ", ".join(f"{line.family} {line.mean[0]:.0%} to {line.mean[-1]:.0%}" for line in lines)
    chart(data_size(lines, chance, study.sizes), "size_chart", f"Test accuracy against training images: {ends}")


def table(study: Study) -> None:
    import pandas as pd

    rows = [{"Family": family, **{f"{images:,} images": cell(study.at(family, images)) for images in study.sizes}}
            for family in MODELS if any(outcome.family == family for outcome in study.outcomes)]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content",
                 column_config={"Family": st.column_config.TextColumn(pinned=True)})  # fmt: skip


def cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "–"
    tests = outcome.tests.values()
    spread = f" ({100 * min(tests):.1f} … {100 * max(tests):.1f})" if len(tests) > 1 else ""
    return f"{100 * outcome.mean:.1f} ± {100 * outcome.error:.1f} %{spread}"


def verdict(study: Study) -> list[str]:
    """What the numbers allow to say, and no more."""
    leads = [first for images in (study.sizes[0], study.sizes[-1]) if (first := lead(study, images))]
    return [
        *(f":material/flag: {_lead_in_words(first)}" for first in leads),
        *(
            f":material/compare_arrows: {sentence}"
            for sentence in (gaps(study), hunger(study), limits(study))
            if sentence
        ),
    ]


def _lead_in_words(lead: Lead) -> str:
    with_images, best, second = f"With **{lead.images:,} images** the", lead.best, lead.second
    if lead.significant:
        return (f"{with_images} **{best.family}** leads: {best.mean:.1%} of the test pictures right, "
                f"{100 * lead.gain:.1f} points above the {second.family}, {lead.gain / max(lead.error, 1e-9):.1f} "
                "standard errors.")  # fmt: skip
    return (f"{with_images} {best.family} ({best.mean:.1%}) and the {second.family} ({second.mean:.1%}) do not differ "
            f"significantly: two standard errors are {200 * lead.error:.1f} points.")  # fmt: skip


def gaps(study: Study) -> str:
    """The ViT against the CNN, at every number of pictures that both know."""
    pairs = [(images, vit.mean - cnn.mean) for images in study.sizes
             if (vit := study.at("ViT", images)) and (cnn := study.at("CNN", images))]  # fmt: skip
    parts = [f"{100 * gap:+.1f} points with {images:,}".replace("-", "−") for images, gap in pairs]
    return f"The **ViT against the CNN**: {', '.join(parts)} images." if len(parts) > 1 else ""


def hunger(study: Study) -> str:
    """From how many pictures the ViT reaches what the CNN reached from fewer."""
    rows = [outcome for outcome in study.outcomes if outcome.family == "CNN" and outcome.images < study.sizes[-1]]
    if not rows or study.at("ViT", study.sizes[-1]) is None:
        return ""
    reference = rows[-1]
    count = needed(study, "ViT", reference.mean)
    reached = (
        f"What the **CNN** reached from **{reference.images:,}** images ({reference.mean:.1%}), the **ViT** reached"
    )
    if count is None:
        return f"{reached} from none of these numbers, not from {study.sizes[-1]:,} either."
    return f"{reached} from **{count:,}**." if count != reference.images else f"{reached} from as many."


def limits(study: Study) -> str:
    """Where the ViT learned its pictures by heart, and where it was stopped before it knew even them."""
    parts = []
    for images in study.sizes:
        learned, unseen = (_end_of(study, images, what) for what in ("train_accuracy", "val_accuracy"))
        if learned is None or unseen is None:
            continue
        if learned > KNOWN and unseen < learned - BY_HEART:
            parts.append(f"{images:,} images by heart ({learned:.0%} of them right, {unseen:.0%} of unseen ones)")
        elif learned < KNOWN and images == study.sizes[-1]:
            parts.append(f"{images:,} not to the end ({learned:.0%} and {unseen:.0%}): there more steps would help too")
    return f"The **ViT** learned {'; '.join(parts)}." if parts else ""


def _end_of(study: Study, images: int, what: str) -> float | None:
    return next((line.mean[-1] for line in curves(study, images, what) if line.name == "ViT"), None)


def conditions(study: Study, models: str) -> str:
    """What it was run on, as the recipes and results say it."""
    least, most = study.shown
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    tests = min(outcome.test_images for outcome in study.outcomes)
    seeds = f"Seed{'s' if len(study.seeds) > 1 else ''} {', '.join(map(str, study.seeds))}"
    recipe = study.runs[0].recipe
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return (f"Run on: {recipe.data}{side}; {models}every run was shown {shown} pictures in {study.epochs} epochs, "
            f"small sets again and again, each time turned and shifted anew. {seeds}; ± is one standard error of "
            f"a share of {tests:,} test pictures. The epoch was chosen on validation pictures of which "
            "no run learned; they may outnumber the smallest training sets.")  # fmt: skip


def parameters(study: Study) -> str:
    """How large each family's model is."""
    counts = {family: parameters_of(run.recipe.to_json()) for run in study.runs
             if (family := family_of(run))}  # fmt: skip
    words = [f"{family} {count / 1e6:.1f} M" for family, count in counts.items() if count]
    return f"small models ({', '.join(words)} parameters); " if words else ""


def by_epoch(study: Study) -> None:
    """Training against validation accuracy: what is learned by heart."""
    with st.expander("By epoch: learned, or learned by heart?", icon=":material/show_chart:"):
        from vizkit.figure.training.learning_curves import learning_curves

        names = {f"{images:,} images": images for images in study.sizes}
        keep_valid("size_epochs", names)
        name = st.segmented_control("Training images", list(names), default=next(iter(names)), required=True,
                                    key="size_epochs", bind="query-params")  # fmt: skip
        for column, what, heading in zip(st.columns(2), ("train_accuracy", "val_accuracy"),
                                         ("On its training pictures, augmented", "On validation pictures"),
                                         strict=True):  # fmt: skip
            with column:
                st.markdown(f"**{heading}**")
                figure = learning_curves(curves(study, names[str(name)], what), "accuracy", percent=True, whole=True)
                chart(figure, f"size_{what}", f"{heading}, by epoch, {name}")
        st.caption("An epoch shows every run as many pictures. A high accuracy on the left with a low one on the right "
                   "is a set learned by heart. On training pictures a DeiT's class head is judged alone.")  # fmt: skip


def how() -> None:
    reading.how(
        "Each line is one architecture that learned from 1, 5, 20 and 100 % of the same pictures, and each point the "
        "share of unseen test pictures that it then named. A line that is low on the left and rises to the right needs "
        "many pictures: a convolution has locality and translation equivariance built in, a transformer has to learn "
        "them from the pictures.",
        r"\text{s.e.} = \sqrt{p(1-p)/N_\text{test}}",
        "what large models do on photographs, where the crossing lies at millions of pictures; what more epochs, "
        "another augmentation or published weights would change; and how much another seed would, where there is one.",
        "Dosovitskiy et al. 2020, § 4.3 and fig. 3; Touvron et al. 2021; d'Ascoli et al. 2021",
    )
