"""`python -m vizkit show`: any view of the app, as a picture, a page or numbers.

python -m vizkit show --list
python -m vizkit show rollout photo.jpg --model bundled:insects_vit --depth 3 -o rollout.png
python -m vizkit show rollout "sample:mayfly nymph" --model bundled:insects_vit --at 0.6,0.4 -o map.svg -o map.npz

The options of a view are its settings: what stands here follows from `vizkit/views/`.
"""

import argparse
from pathlib import Path
from typing import Any

from vizkit.commands.model_options import add_model_options, load
from vizkit.commands.output import refuse_output, writing_to
from vizkit.commands.parser import Parser
from vizkit.views import VIEWS, Entry, class_of

__all__ = ["add"]

CELL = "ROW,COLUMN from 1"
SETTING = (
    "setting "  # before the name of one among the parsed arguments, where no option of the command can be called so
)


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("show", help="any view of the app, as a picture, a page or numbers")
    command.add_argument("--list", action=_List, nargs=0, help="the views and their pages, in lines")
    views = command.add_subparsers(title="views", required=True, metavar="VIEW", parser_class=_OfView)
    for name, entry in VIEWS.items():
        views.add_parser(name, help=entry.line).entry = entry


class _List(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        width = max(map(len, VIEWS))
        for name, entry in VIEWS.items():
            print(f"{name.ljust(width)}  {entry.line}  (page {entry.page})")
        parser.exit()


class _OfView(Parser):
    """Has its options when it is asked for: those of other views need not be imported."""

    entry: Entry

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._fill()
        return super().parse_known_args(args, namespace)

    def _fill(self) -> None:
        cls = class_of(self.entry.name)
        self.description, self.epilog = cls.how.read, f"It does not show {cls.how.not_shown} Source: {cls.how.source}."
        if "picture" in self.entry.reads:
            how: Any = {"nargs": "?"} if self.entry.only else {}
            self.add_argument(
                "image", metavar="IMAGE", help="a picture file, or sample:NAME for one of vizkit's own", **how
            )
            self.add_argument("--at", type=_point, metavar="X,Y", help="a point of it, as a click there: 0.5,0.5")
            self.add_argument(
                "--edit",
                action="append",
                default=[],
                metavar="EDIT",
                help="change the picture or the model, as of trace; repeatable",
            )
        self.add_argument(
            "-o",
            "--output",
            required=True,
            action="append",
            type=Path,
            metavar="OUT",
            help="OUT.png, .svg, .html, .npz, or .zip with a slide for each step; repeatable",
        )
        if "models" in self.entry.reads:
            add_model_options(self, several=True, head="--model-head")
        _add_settings(self.add_argument_group("settings"), self.entry)
        self.set_defaults(run=_show, entry=self.entry, image=None, at=None, edit=[], model=[])


def _add_settings(group: Any, entry: Entry) -> None:
    """One option for each field."""
    from vizkit.views.controls import controls

    cls = class_of(entry.name)
    for name, control in controls(cls).items():
        default = cls.__dataclass_fields__[name].default
        usual = "" if default is None else f" ({str(default).lower() if control.kind == 'switch' else default})"
        text = f"{control.described(default, CELL)}{usual}".replace("%", "%%")
        how: dict[str, Any] = {"metavar": name.upper()}
        if control.kind == "switch":
            how = {"action": argparse.BooleanOptionalAction}
        elif control.kind == "several":
            how |= {"action": "append"}
        flag = f"--{name.replace('_', '-')}"
        group.add_argument(flag, dest=f"{SETTING}{name}", default=argparse.SUPPRESS, help=text, **how)


def _point(text: str) -> tuple[float, ...]:
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is no point such as 0.5,0.5") from None
    return x, y


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """As the view takes them. Raises ControlError for what no model allows."""
    from vizkit.views.address import from_text
    from vizkit.views.controls import controls, setting

    cls, found = class_of(arguments.entry.name), {}
    for name, control in controls(cls).items():
        typed = vars(arguments).get(f"{SETTING}{name}")
        if typed is not None:
            read = typed if isinstance(typed, bool) else from_text(control, typed)
            found[name] = setting(cls, name, typed if read is None else read)
    return found


def _show(arguments: argparse.Namespace) -> None:
    from vizkit.hosts.library import opened, show
    from vizkit.hosts.showing import SUFFIXES

    for output in arguments.output:
        refuse_output(output, SUFFIXES)
    settings = _settings(arguments)  # first, with the path: a model takes longer
    if "picture" in arguments.entry.reads and (arguments.image or not arguments.entry.only):
        opened(arguments.image, arguments.entry)
    models = [load(arguments, name) for name in arguments.model]
    shown = show(arguments.entry.name, models, arguments.image, at=arguments.at, edits=arguments.edit, **settings)
    for loaded in models:
        print(f"{loaded.name} ({loaded.source}, licence {loaded.licence})")
    print(shown)
    for output in arguments.output:
        with writing_to(output):
            shown.save(output)
        print(output)
