"""Do the two heads of a distilled model agree with the labels and with the teacher?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vizkit.commands.options import Device, Images, Seed, Split, writes
from vizkit.commands.output import markdown, markdown_page, progress, write_output

if TYPE_CHECKING:
    from vizkit.training.experiments.answers import Answered


ABOUT = """\
Share of images on which the first answer is the label, or the teacher's first answer; ± one standard error of a
share. Rows of the same images are paired, so their differences are surer than two errors suggest.
Such a table is in Touvron et al. 2021, § 5.2."""


def agreement(
    *,
    model: str,
    teacher: str | None = None,
    beside: list[str] | None = None,
    data: list[str] | None = None,
    split: Split = "test",
    images: Images = None,
    seed: Seed = 0,
    device: Device = None,
    output: Annotated[Path | None, writes()] = None,
) -> None:
    """How often a distilled model's heads agree with label and teacher.

    vizkit agreement --model bundled:insects_deit --teacher bundled:insects_cnn --images 2000 -o agreement.md

    Args:
        model: A model with a class and a distillation token.
        teacher: The model it has learned from.
        beside: Another model, for comparison; repeatable.
        data: Insects, digits, a folder; repeatable.
        output: TABLE.md, as Markdown.
    """
    import vizkit
    from vizkit.datasets.opening import open_set
    from vizkit.training.experiments.answers import ask

    student = vizkit.load(model, device=device)
    others = {_title(name): vizkit.load(name, device=device) for name in beside or ()}
    taught_by = vizkit.load(teacher, device=device) if teacher else None
    parts = []
    for name in data or ["insects"]:
        pictures = open_set(name, split, images=images, size_px=max(student.preprocessing.size_hw), seed=seed)
        with progress("image", name, len(pictures)) as tell:
            answered = ask(student, taught_by, pictures, others, tell=tell)
        parts.append(f"{answered.images:,} images of {name}, {split}:\n\n{_tabled(answered, teacher)}")
    if output is None:
        print("\n\n".join(parts))
        return
    write_output(output, markdown_page("Agreement with the label and with the teacher", ABOUT, *parts))
    print(f"{output}: {len(parts)} table{'s' if len(parts) > 1 else ''}")


def _title(name: str) -> str:
    return name.removeprefix("bundled:")


def _tabled(answered: "Answered", teacher: str | None) -> str:
    """A Markdown table, in percent with the standard error."""
    from vizkit.analysis.distillation.agreement import Row, share, standard_error, table
    from vizkit.training.experiments.answers import CLASS, DIST

    def percent(part: float | None) -> str:
        if part is None:
            return "–"
        return f"{part:.2%} ± {standard_error(part, answered.images):.2%}".replace("%", " %")

    rows = table(answered.answers, answered.labels, answered.teacher)
    if answered.teacher is not None:
        rows.append(Row(f"teacher, {_title(teacher or '')}", share(answered.teacher, answered.labels), None))
    cells = [[row.name, percent(row.with_label), percent(row.with_teacher)] for row in rows]
    both = share(answered.answers[CLASS], answered.answers[DIST])
    table_of = markdown(["", "with the label", "with the teacher"], cells)
    return f"{table_of}\n\nThe two tokens agree with each other on {percent(both)}."
