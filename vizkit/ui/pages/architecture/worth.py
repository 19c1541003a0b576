"""What two scales, or fewer and fewer tokens, are worth: the shipped runs of five equal models, and one's own."""

from statistics import fmean

import streamlit as st

from vizkit.figure.training.learning_curves import Curve, learning_curves
from vizkit.training.experiments.architectures import SIZES, Size, Worth, worths
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.command_line import command
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui.plain import plain
from vizkit.ui.session.model_names import BUNDLED
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.widgets.chart import chart

SHIPPED = BUNDLED / "experiments" / "architectures"


def section() -> None:
    """Accuracy of the five variants on one data set, seed by seed, with their learning curves."""
    st.subheader("Is it worth it?")
    by_title = {size.title: (size, rows) for size in SIZES.values() if (rows := worths(size, shipped()))}
    for size in SIZES.values():
        try:
            if rows := worths(size, runs()):
                by_title[f"your runs: {size.title}"] = (size, rows)
        except RecipeError as sentence:
            st.caption(f":material/info: {plain(sentence)}")
    keep_valid("worth", list(by_title))
    name = st.selectbox("Trained on", list(by_title), key="worth", bind="query-params", width=420)
    size, rows = by_title[str(name)]
    left, right = st.columns(2)
    with left:
        curves(rows)
    with right:
        table(rows)
        st.markdown(verdict(rows))
        _how_trained(size, rows)


def shipped() -> list[RunFolder]:
    return [RunFolder(file.parent) for file in sorted(SHIPPED.glob("*/recipe.json"))]


def curves(rows: list[Worth]) -> None:
    lines = []
    for row in rows:
        by_epoch = row.validation()
        means, lows, highs = ([end(accuracies) for accuracies in by_epoch.values()] for end in (fmean, min, max))
        lines.append(Curve(row.words, [*by_epoch], means, lows, highs))
    st.markdown("**Validation accuracy by epoch**")
    figure = learning_curves(lines, "validation accuracy", percent=True)
    chart(figure, "worth_curves", f"Validation accuracy by epoch: {', '.join(row.words for row in rows)}")


def table(rows: list[Worth]) -> None:
    import pandas as pd

    percent = st.column_config.NumberColumn(format="%.1f %%")
    lines = [
        {
            "Model": row.words,
            "Test": 100 * row.mean,
            "± between seeds": None if row.deviation is None else 100 * row.deviation,
            "Seeds": len(row.runs),
            "Minutes": sum(row.minutes) / len(row.minutes),
        }
        for row in rows
    ]
    st.markdown("**Accuracy on test images**")
    st.dataframe(
        pd.DataFrame(lines),
        hide_index=True,
        height="content",
        placeholder="–",
        column_config={
            "Test": percent,
            "± between seeds": percent,
            "Minutes": st.column_config.NumberColumn(format="%.1f", help=MINUTES),
        },
    )


MINUTES = "Of training, all epochs, on the machine and beside the work that it had: an order of magnitude."


def verdict(rows: list[Worth]) -> str:
    """What the table allows to say, and no more."""
    if any(row.deviation is None for row in rows):
        return ":material/info: One seed: a difference of a percent or two may be chance."
    best, worst = max(rows, key=lambda row: row.mean), min(rows, key=lambda row: row.mean)
    spread = max(row.deviation or 0.0 for row in rows)
    gap = best.mean - worst.mean
    leads = f"**{best.words}** leads **{worst.words}** by {100 * gap:.1f} points"
    if gap <= 2 * spread:
        return (
            f":material/trending_flat: {leads}, and one model's seeds differ by as much as ± {100 * spread:.1f}: "
            "these runs show no significant difference."
        )
    return f":material/trending_up: {leads}, more than twice what the seeds of one model differ (± {100 * spread:.1f})."


def _how_trained(size: Size, rows: list[Worth]) -> None:
    recipe = rows[0].runs[0].recipe
    images = rows[0].runs[0].read("result.json").get("test_images")
    tested = f" {images:,} test images: one is {100 / images:.2f} %." if images else ""
    with st.expander("How they were trained", icon=":material/terminal:"):
        st.markdown(
            f"Width, depth, heads, pictures, optimiser and {recipe.epochs} epochs are the same for all; only model and "
            f"seed differ.{tested} Costs and speeds stand in docs/architectures.md."
        )
        st.code(command(recipe, f"runs/{rows[0].runs[0].name}"), language="bash", wrap_lines=True)
        st.code("python -m benchmarks.architectures train runs/architectures", language="bash", wrap_lines=True)
