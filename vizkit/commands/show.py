"""Any view of the app, as a figure, a page or numbers: its options are its settings, as `vizkit/views/` has them."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from cyclopts import App, Group, Parameter

from vizkit.commands.options import BESIDE, OUTPUT, BesideSettings, BesideStep, Edits, Models, application, with_options
from vizkit.commands.output import aligned, refuse_output, writing_to
from vizkit.views import FORMER, VIEWS, Entry, class_of

CELL = "ROW,COLUMN from 1"
SETTING = "setting_"  # before the name of one, where no option of the command can be called so
MODELS = ("model", "opening")
PICTURE = ("image", "at", "edit")


def show(asked: Sequence[str] = ()) -> App:
    """The command; of the views only those among the words `asked` are imported."""
    if asked and asked[0] in FORMER:
        raise ValueError(
            f"{asked[0]} is now {FORMER[asked[0]][1].name}: see vizkit show {FORMER[asked[0]][1].name} --help."
        )
    if asked and asked[0] not in VIEWS and not asked[0].startswith("-"):
        raise ValueError(f"There is no view {asked[0][:60]!r}: see --list.")
    views = application("show", "Any view of the app, as a figure, a page or numbers.")
    for name, entry in VIEWS.items():
        views.command(of_view(entry) if name in asked else application(name, entry.line))
    views.default(listing)
    return views


def listing(*, list: Annotated[bool, Parameter(help="The views and their pages, in lines.")] = False) -> None:
    if not list:
        raise ValueError("Give the name of a view, or --list.")
    print(aligned([(name, f"{entry.line}  (page {entry.page})") for name, entry in VIEWS.items()], left=2))


def of_view(entry: Entry) -> App:
    """The command of one view."""
    cls = class_of(entry.name)
    opened = "models" in entry.reads and not cls.by_name
    without = (*(() if "picture" in entry.reads else PICTURE), *(() if opened else MODELS))
    without += tuple(name for name in FIGURE if name in cls.__dataclass_fields__)  # which has one of its own
    without += ("layers", "heads") if "slow" in cls.__dataclass_fields__ else ("methods",)  # its maps are of methods
    text = f"{cls.how.read}\n\nIt does not show {cls.how.not_shown} Source: {cls.how.source}."
    view = application(entry.name, text)
    required = () if entry.only else ("image", "model")
    options = settings_of(entry)
    if opened and "step" in cls.__dataclass_fields__:
        without, options["opening"] = (*without, "opening"), BesideStep
    view.default(with_options(_showing(entry), options, without, required))
    return view


def settings_of(entry: Entry) -> dict[str, Any]:
    """One option for each field."""
    from vizkit.views.controls import controls

    cls, group, options = class_of(entry.name), Group("Settings"), {}
    for name, control in controls(cls).items():
        default, flag = cls.__dataclass_fields__[name].default, f"--{name.replace('_', '-')}"
        kind = {"switch": bool, "several": list[str]}.get(control.kind, str)
        usual = "" if default is None else f" ({str(default).lower() if kind is bool else default})"
        said = {"name": flag, "help": f"{control.described(default, CELL)}{usual}", "group": group}
        negative = f"--no-{flag[2:]}" if kind is bool else ()
        options[f"{SETTING}{name}"] = Annotated[kind | None, Parameter(**said, negative=negative, show_default=False)]
    return options


def _point(_: object, tokens: Sequence[Any]) -> tuple[float, float]:
    try:
        x, y = map(float, tokens[0].value.split(","))
    except ValueError:
        raise ValueError(f"{tokens[0].value[:60]!r} is no point such as 0.5,0.5.") from None
    return x, y


def _listed(kind: Any, tokens: Sequence[Any]) -> tuple[Any, ...]:
    """Commas between them; of numbers those from 1."""
    words = tuple(word.strip() for word in tokens[0].value.split(","))
    if str not in get_args(kind):
        if not all(re.fullmatch("[1-9][0-9]{0,4}", word) for word in words):
            raise ValueError(f"{tokens[0].value[:60]!r} are no numbers from 1 such as 1,4,8.")
        return tuple(map(int, words))
    return words


LISTED = Parameter(converter=_listed, n_tokens=1, show_default=False)
Numbers = Annotated[tuple[int, ...], LISTED]
FIGURE = ("layers", "heads", "methods", "only")


def _settings(entry: Entry, typed: dict[str, Any]) -> dict[str, Any]:
    """As the view takes them. Raises ControlError for what no model allows."""
    from vizkit.views.address import from_text
    from vizkit.views.controls import controls, setting

    cls, found = class_of(entry.name), {}
    for name, control in controls(cls).items():
        value = typed.get(f"{SETTING}{name}")
        if value is not None:
            read = value if isinstance(value, bool) else from_text(control, value)
            found[name] = setting(cls, name, value if read is None else read)
    return found


def _showing(entry: Entry) -> Callable[..., None]:
    def run(
        image: str = "",
        /,
        *,
        at: Annotated[tuple[float, float] | None, Parameter(converter=_point, n_tokens=1)] = None,
        edit: Edits = None,
        output: Annotated[list[Path], OUTPUT],
        staged: bool = False,
        width_mm: float | None = None,
        layers: Numbers = (),
        heads: Numbers = (),
        methods: Annotated[tuple[str, ...], LISTED] = (),
        only: Annotated[tuple[str, ...], Parameter(show_default=False)] = (),
        model: Models | None = None,
        opening: BesideSettings = BESIDE,
        **typed: Any,
    ) -> None:
        """A view of one image and some models.

        Args:
            image: An image file, or sample:NAME for one of vizkit's own.
            at: X,Y: a point of it, as a click there: 0.5,0.5.
            output: OUT.png, .svg, .html, .npz, or .zip with a slide for each step; repeatable.
            staged: Its figure and its sentence alone.
            width_mm: Of a figure, 60 to 420, with text of 7 to 9 points.
            layers: 1,4,8: of small maps these alone.
            heads: 1,4,8: of small maps these alone.
            methods: A,B,C: these small maps alone.
            only: Of small maps those that are called so on a figure; repeatable.
        """
        from vizkit.hosts.layout import Layout
        from vizkit.hosts.library import opened, show
        from vizkit.hosts.showing import SUFFIXES

        for path in output:
            refuse_output(path, SUFFIXES)
        Layout(width_mm)  # first, with the path and what is set: a model takes longer
        settings = _settings(entry, typed)
        if "picture" in entry.reads and (image or not entry.only):
            opened(image, entry)
        models = [(opening or BESIDE).load(name, several=True) for name in model or ()]
        shown = show(entry.name, models, image or None, at=at, edits=edit or [], staged=staged, **settings)
        for loaded in models:
            print(f"{loaded.name} ({loaded.source}, licence {loaded.licence})")
        print(shown)
        for path in output:
            with writing_to(path):
                shown.save(path, width_mm=width_mm, layers=layers, heads=heads, methods=methods, only=only)
            print(path)

    return run
