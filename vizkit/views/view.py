"""A view: a record of settings that knows what it shows of a subject. Every host draws it from that alone."""

from dataclasses import asdict, dataclass, field, fields
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from vizkit.from_json import LATER

if TYPE_CHECKING:
    from vizkit.views.blocks import Block, Blocks


WIDTH = 100  # characters of a manual's line
INDENT: Any = {"initial_indent": " " * 8, "subsequent_indent": " " * 8}


@dataclass(frozen=True)
class How:
    """How a figure is read, in two sentences; its formula in LaTeX; what it does not show; where it is from."""

    read: str
    formula: str
    not_shown: str
    source: str


class Manual:
    """The docstring of a view, made when somebody reads it: its own, how it is read, and what each field may be."""

    def __init__(self, own: str) -> None:
        self.own = own.strip()

    def __get__(self, view: "View | None", cls: "type[View]") -> str:
        if not hasattr(cls, "how") or "__dataclass_params__" not in vars(cls):  # not finished
            return self.own
        how, parts = cls.how, [part for part in fields(cls) if "control" in part.metadata]
        said = [self.own, fill(how.read, WIDTH), fill(f"It does not show {how.not_shown}", WIDTH)]
        said += [fill(f"Source: {how.source}.", WIDTH), *(["Settings:"] if parts else [])]
        for part in parts:
            words = part.metadata["control"].described(part.default, "(row, column) from 0")
            said.append(f"    {part.name} = {part.default!r}\n{fill(words, WIDTH, **INDENT)}")
        return "\n\n".join(said)


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class View:
    """Every subclass is a frozen dataclass: what it annotates is a setting, other values are of the class.

    `how`: how it is read. `together`: `show` is given all models at once, as a sequence of subjects; else it is
    shown for each of them by itself, or, with `alone`, for one of them, which a page asks for; with `among` too it says
    something of the others, which are `beside` it. `overlays`: whether it lays maps over the image, so that a page
    asks how they are drawn. `slides`: the field of which every value can be saved as a figure of its own, "" for none.
    `bare`: something is left of it where nobody gives a model and an image. `by_name`: models are meant by their names
    alone, `Subject.chosen`, and none is opened.
    `staged`: shown as its figure and its sentence alone, on whatever host. `after_step`: of a model that is a run, what
    it showed then, played over all steps that it kept, on one scale (`views.train.after_step`)."""

    staged: bool = field(default=False, kw_only=True, metadata=LATER)
    after_step: int | None = field(default=None, kw_only=True, metadata=LATER)

    how: ClassVar[How]
    together: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    among: ClassVar[bool] = False
    overlays: ClassVar[bool] = True
    slides: ClassVar[str] = ""
    bare: ClassVar[bool] = False
    by_name: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        cls.__doc__ = Manual(cls.__doc__ or "")  # pyright: ignore[reportAttributeAccessIssue] - read as a text
        dataclass(frozen=True)(cls)

    def meant(self, of: Any) -> Any:
        """The subject that it is of, where its settings name another model than the one that it is given."""
        return of

    def show(self, of: Any) -> "Blocks":
        """What is seen, part by part in the order of the page. Raises NotApplicable with a sentence where it has no
        meaning for this subject."""
        raise NotImplementedError

    def content(self, of: Any) -> "Blocks":
        """What a host draws: all of it, or of a view that is `staged` its figure and its sentence."""
        if not self.staged:
            return self.show(of)
        from vizkit.views.staged import staged

        return staged(self.show(of), self.leads)

    def record(self) -> dict[str, Any]:
        """Its settings by name, as a file has them; the step of a run where it names one."""
        own = asdict(self)
        return own if self.after_step is not None else {name: own[name] for name in own if name != "after_step"}

    def leads(self, block: "Block") -> bool:
        """Of a figure that is shown, whether it is the one for a stage; the first is, where a view does not say."""
        return True

    def answering(self, of: Any) -> Any:
        """The subject whose answers are shown: of another image where the model knows nothing of this one."""
        return of

    def title(self, of: Any) -> str:
        """Of a saved figure: what it is of, with its settings."""
        raise NotImplementedError

    @classmethod
    def summary(cls) -> str:
        """What it shows, in one sentence: the first of the class's own words."""
        return (cls.__doc__ or "").partition("\n")[0].strip()
