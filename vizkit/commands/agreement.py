"""`python -m vizkit agreement`: do the two heads of a distilled model agree with the labels and with the teacher?

python -m vizkit agreement --model bundled:insects_deit --teacher bundled:insects_cnn --images 2000 -o docs/agreement.md
"""

import argparse
import shlex
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vizkit
from vizkit.commands.model_options import add_device
from vizkit.commands.output import refuse_output, write_output

if TYPE_CHECKING:
    from vizkit.models import Loaded
    from vizkit.training.experiments.answers import Answered

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("agreement", help="how often a distilled model's heads agree with label and teacher")
    command.add_argument("--model", required=True, metavar="NAME", help="a model with a class and a distillation token")
    command.add_argument("--teacher", metavar="NAME", help="the model it has learned from")
    command.add_argument("--beside", action="append", default=[], metavar="NAME", help="another model, for comparison")
    command.add_argument(
        "--data", action="append", metavar="SET", help="insects, digits, a folder (insects); repeatable"
    )
    command.add_argument("--split", default="test", choices=("train", "val", "test"), help="of the data (test)")
    command.add_argument("--images", type=int, metavar="N", help="at most so many pictures")
    command.add_argument("--seed", type=int, default=0, help="of drawn or divided data (0)")
    add_device(command)
    command.add_argument("-o", "--output", type=Path, metavar="TABLE.md", help="write the tables, as Markdown")
    command.set_defaults(run=_agreement)


def _agreement(arguments: argparse.Namespace) -> None:
    output: Path | None = arguments.output
    refuse_output(output)

    from tqdm import tqdm

    from vizkit.datasets.opening import open_set
    from vizkit.training.experiments.answers import ask

    names = [arguments.model, *arguments.beside, *([arguments.teacher] if arguments.teacher else [])]
    loaded: dict[str, Loaded] = {name: vizkit.load(name, device=arguments.device) for name in names}
    student, teacher = loaded[arguments.model], loaded[arguments.teacher] if arguments.teacher else None
    beside = {_title(name): loaded[name] for name in arguments.beside}
    parts = []
    for data in arguments.data or ["insects"]:
        size_px = max(student.preprocessing.size_hw)
        pictures = open_set(data, arguments.split, images=arguments.images, size_px=size_px, seed=arguments.seed)
        with tqdm(desc=data, total=len(pictures), unit="image", disable=None, dynamic_ncols=True) as bar:

            def tell(done: int, bar: tqdm = bar) -> None:
                bar.update(done - bar.n)

            answered = ask(student, teacher, pictures, beside, tell=tell)
        parts.append(
            f"{answered.images:,} pictures of {data}, {arguments.split}:\n\n{_tabled(answered, arguments.teacher)}"
        )
    text = "\n\n".join(parts)
    if output is None:
        print(text)
        return
    write_output(output, page(arguments, text))
    print(f"{output}: {len(parts)} table{'s' if len(parts) > 1 else ''}")


def _title(name: str) -> str:
    return name.removeprefix("bundled:")


def _tabled(answered: "Answered", teacher: str | None) -> str:
    """A Markdown table, in percent with the standard error."""
    from vizkit.analysis.distillation.agreement import Row, share, table
    from vizkit.training.experiments.answers import CLASS, DIST

    rows = table(answered.answers, answered.labels, answered.teacher)
    if answered.teacher is not None:
        rows.append(Row(f"teacher, {_title(teacher or '')}", share(answered.teacher, answered.labels), None))
    lines = ["| | with the label | with the teacher |", "|---|---:|---:|"]
    for row in rows:
        cells = (_percent(each, answered.images) for each in (row.with_label, row.with_teacher))
        lines.append(f"| {row.name} | {' | '.join(cells)} |")
    both = share(answered.answers[CLASS], answered.answers[DIST])
    return "\n".join([*lines, "", f"The two tokens agree with each other on {_percent(both, answered.images)}."])


def _percent(share: float | None, images: int) -> str:
    from vizkit.analysis.distillation.agreement import standard_error

    return "–" if share is None else f"{share:.2%} ± {standard_error(share, images):.2%}".replace("%", " %")


def page(arguments: argparse.Namespace, text: str) -> str:
    options: Sequence[str] = [
        *("--model", arguments.model),
        *(("--teacher", arguments.teacher) if arguments.teacher else ()),
        *(word for name in arguments.beside for word in ("--beside", name)),
        *(word for name in arguments.data or () for word in ("--data", name)),
        *(("--split", arguments.split) if arguments.split != "test" else ()),
        *(("--images", str(arguments.images)) if arguments.images else ()),
        *(("--seed", str(arguments.seed)) if arguments.seed else ()),
    ]
    command = f"python -m vizkit agreement {shlex.join(options)} -o {shlex.quote(arguments.output.as_posix())}"
    return f"""# Agreement with the label and with the teacher

Share of pictures on which the first answer is the label, or the teacher's first answer; ± one standard error of a
share. Rows of the same pictures are paired, so their differences are surer than two errors suggest.

{text}

`{command}`

torch {version("torch").partition("+")[0]}, timm {version("timm")}. Such a table is in Touvron et al. 2021, § 5.2.
"""
