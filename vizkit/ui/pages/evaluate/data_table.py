"""The table of an evaluation: models against measures, who is better than whom, and what others have published."""

from typing import Any

import streamlit as st

from vizkit.analysis.comparison.published import STUDY_TABLE
from vizkit.evaluation import report
from vizkit.evaluation.outcome import Outcome, Row
from vizkit.ui import export
from vizkit.ui.plain import plain
from vizkit.ui.session.evaluations import Request
from vizkit.ui.session.shown import title
from vizkit.ui.widgets.known import chip_of, chip_of_typed, chips


def show(outcome: Outcome, request: Request) -> None:
    st.subheader(f"{len(outcome.rows):,} pictures of {plain(outcome.name)}", anchor=False)
    if not request.job.done:
        done, count = len(outcome.models), len(request.models)
        st.caption(f":material/hourglass_top: {done} of {count} models so far; the others follow as they are done.")
    for note in outcome.notes:
        st.caption(f":material/info: {plain(note)}")
    verdicts(outcome)
    import pandas as pd

    percent = st.column_config.NumberColumn(format="percent", width="small")
    st.dataframe(
        pd.DataFrame([row(model) for model in outcome.models]).style.apply(_marked, axis=1),
        hide_index=True,
        placeholder="–",
        key="eval_table",
        column_config={
            "Model": st.column_config.TextColumn(pinned=True),
            "Accuracy": st.column_config.NumberColumn(format="percent", help="Share of right first answers."),
            "95 % interval": st.column_config.TextColumn(
                help="Where the accuracy would lie for other such pictures, 95 times in 100: bootstrap over the "
                "pictures; exact binomial where all answers are right, or all are wrong."
            ),
            "Top-5": percent,
            "Loss": st.column_config.NumberColumn(format="%.3f", help="Mean cross-entropy, in nats. Less is better."),
            "ECE": st.column_config.NumberColumn(format="%.3f", help="Expected calibration error. Less is better."),
            "Images/s": st.column_config.NumberColumn(format="%.0f", help="Reading, preparing and inference together."),
            "Parameters": st.column_config.NumberColumn(format="localized"),
        },
    )
    known = {title(source): chip_of(source) for source in request.models}
    for model, classes in zip(outcome.models, outcome.classes, strict=True):
        if classes and classes == request.classes:
            known[model.name] = chip_of_typed(len(classes))
    chips(known)


def _marked(row: Any) -> list[str]:
    """The model that is shown in detail below."""
    return ["font-weight: bold" if row["Model"] == st.session_state.get("eval_model") else ""] * len(row)


def row(model: Row) -> dict[str, Any]:
    m = model.measures
    return {
        "Model": model.name,
        "Accuracy": m.accuracy.value,
        "95 % interval": f"{m.accuracy.low:.1%} to {m.accuracy.high:.1%}",
        "Top-5": m.top5,
        "Loss": m.loss,
        "ECE": m.ece,
        "Images/s": model.images_per_s,
        "Parameters": model.parameters,
        "Input": f"{model.size_hw[0]} × {model.size_hw[1]}",
        "Device": model.device,
    }


def verdicts(outcome: Outcome) -> None:
    """Which model is better than which, before all numbers."""
    for pair in outcome.pairs:
        icon = ":material/trophy:" if pair.significant else ":material/balance:"
        st.markdown(f"{icon} {plain(pair.sentence)}")


def saving(outcome: Outcome, request: Request) -> None:
    """Made when they are downloaded, but the report, which is written with the outcome of all models."""
    if not request.job.done:
        return
    stem = export.name_of_file(f"{outcome.name}_{len(outcome.rows)}")
    with st.container(horizontal=True):
        for label, make, file, kind in (
            ("Report (HTML)", (request.job.path / "report.html").read_bytes, f"{stem}.html", "text/html"),
            ("Table (CSV)", lambda: report.models_csv(outcome), f"{stem}.csv", "text/csv"),
            ("Every answer (CSV)", lambda: report.pictures_csv(outcome), f"{stem}_pictures.csv", "text/csv"),
        ):
            st.download_button(
                label, make, file, kind, icon=":material/download:", on_click="ignore", key=f"eval_save_{label}"
            )


def command(request: Request) -> None:
    with st.expander("The same as a command", icon=":material/terminal:"):
        st.code(request.in_words(), language="bash", wrap_lines=True)


def published(outcome: Outcome) -> None:
    """A study of insects, beside insects alone."""
    if not (study := report.reported(outcome)):
        return
    import pandas as pd

    with st.expander("Reported, on other data", icon=":material/menu_book:"):
        st.markdown(f"**{STUDY_TABLE.title}.** {STUDY_TABLE.measured} Source: {STUDY_TABLE.citation}.")
        number = st.column_config.NumberColumn(format="%.2f", width="small")
        st.dataframe(
            pd.DataFrame(
                [
                    {
                        "Model": model.name,
                        "Setting": model.setting,
                        "Best validation, %": model.validation,
                        "Test, %": model.test,
                    }
                    for model in study
                ]
            ),
            hide_index=True,
            column_config={"Best validation, %": number, "Test, %": number},
        )
        st.caption(
            f"Not to be compared with the table above: other pictures, other classes. It does not show "
            f"{STUDY_TABLE.does_not_show}"
        )
