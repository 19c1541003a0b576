"""What the views of texts share: which model of texts is shown, and the text that was typed for it."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from vizkit.analysis.remarks.sequences import of_answer
from vizkit.datasets.sequences import dates, gaps
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable, not_applicable
from vizkit.views.controls import text
from vizkit.views.sequences.known import BUNDLED
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel

P = ParamSpec("P")
T = TypeVar("T")
LONGEST = 200  # characters
FOR = " ⇐ "  # between what was clicked and the text that it is meant for
LETTERS = ("bfac........?", "hag?", "bcdaefgh....?")
FREE = (
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "translate English to German: The house is wonderful.",
    "The cat sat on the [MASK].",
)
EXAMPLES = {"dates": dates.EXAMPLES, "copy": LETTERS, "reverse": LETTERS}


def typed_text(**more: Any) -> Any:
    """The text of a view with a field `text_model`."""
    help = "A date for the models of dates, letters and dots for those that repeat; of others any text."
    return text("Text", "", help, longest=LONGEST, key="sequence_text", examples=examples, follows=True, **more)


def examples(of: Sequence[Subject], view: Any) -> Sequence[str]:
    """For the model that is chosen; the first one is shown where nothing is typed."""
    try:
        return EXAMPLES.get(opened(of[0], view.text_model)[0].data, FREE)
    except NotApplicable:
        return FREE


def opened(of: Subject, title: str) -> "tuple[SequenceModel, Hashable]":
    """(a model by its name in the picker, or as "bundled:<name>"; what tells it from others). Raises NotApplicable with
    a sentence."""
    from vizkit.models import ModelError
    from vizkit.models.sequences import open_sequence

    own = title.startswith("bundled:")
    source, written = title if own else f"bundled:{BUNDLED.get(title)}", 0
    try:
        if not own and title not in BUNDLED:
            source = of.texts[title]
            written = max((file.stat().st_mtime_ns for file in Path(source).glob("model*.safetensors")), default=0)
        key = "model of texts", source, written  # another training may have replaced the weights
        model = of.kept(key, lambda: open_sequence(source))
    except (KeyError, OSError):
        raise NotApplicable(f"{title} is not here: open its files again, or choose another model.") from None
    except ModelError as sentence:
        raise NotApplicable(str(sentence)) from None
    return replace(model, name=Path(title).name), key


@dataclass(frozen=True, eq=False)
class Typed:
    """A text in a model: `title` as people call the model, `words` its tokens of the text."""

    of: Subject
    title: str
    model: "SequenceModel"
    words: tuple[str, ...]
    key: Hashable

    def made(
        self,
        make: "Callable[Concatenate[SequenceModel, tuple[str, ...], P], T]",
        *given: P.args,
        **named: P.kwargs,
    ) -> T:
        """What a function makes of both, once for these arguments."""
        from vizkit.vocabulary import TextError

        key = (make.__module__, make.__qualname__, self.key, self.words, *given, *named.items())
        with not_applicable(TextError):
            return self.of.kept(key, lambda: make(self.model, self.words, *given, **named))

    def told(self, clicked: str) -> str:
        """What was clicked, where it is meant for this text; whoever names no text means any."""
        told, _, text = clicked.partition(FOR)
        return told if text in ("", " ".join(self.words)) else ""

    def telling(self, clicked: str) -> str:
        """As the field keeps it."""
        return f"{clicked}{FOR}{' '.join(self.words)}" if clicked else ""

    def by(self, title: str) -> "Typed":
        """The same words in another model."""
        model, key = opened(self.of, title)
        return replace(self, title=title, model=model, key=key)


def typed(of: Subject, title: str, text: str) -> Typed:
    """Raises NotApplicable with a sentence where the model, or the text in it, cannot be read."""
    from vizkit.datasets.sequences.opening import split_text
    from vizkit.vocabulary import TextError

    model, key = opened(of, title)
    own = EXAMPLES.get(model.data)
    with not_applicable(TextError):
        text = text or (own or FREE)[0]
        words = split_text(model.data, text) if own else model.split(text)
    return Typed(of, title, model, tuple(words), key)


def truth_of(read: Typed) -> tuple[str, ...]:
    """What is to be written from a text of our tasks; nothing where nobody knows."""
    if read.model.data == "dates":
        meant = dates.meant(read.words)
        return dates.iso(meant[0]) if meant else ()
    return gaps.answer(gaps.letters(read.words), read.model.data) if read.model.data in EXAMPLES else ()


def with_right_weekday(read: Typed) -> Typed | None:
    """The text with the weekday that its date had, where it names another one."""
    meant = dates.meant(read.words) if read.model.data == "dates" else None
    if meant is None or meant[1] in (None, meant[0].weekday()):
        return None
    days, right = (*dates.WEEKDAYS, *dates.WEEKDAYS_SHORT), dates.WEEKDAYS[meant[0].weekday()]
    return replace(read, words=tuple(right if word in days else word for word in read.words))


def answered(read: Typed, written: Sequence[str], forced: Mapping[int, str] | None = None) -> str:
    """What was written from a text, and whether it is right; see `remarks.sequences.of_answer`."""
    meant = dates.meant(read.words) if read.model.data == "dates" else None
    named = None if meant is None or meant[1] is None else dates.WEEKDAYS[meant[1]]
    true = None if meant is None else dates.WEEKDAYS[meant[0].weekday()]
    exists = read.model.data != "dates" or not dates.impossible(read.words)
    said = read.title, read.model.text_of(written), truth_of(read), written, named, true, forced or {}
    return of_answer(*said, exists=exists)


def facts(model: "SequenceModel") -> str:
    """How often this model is right, in words, and how large it is."""
    right, count = model.facts.get("test_accuracy"), model.facts.get("test_images")
    size = f"{model.parameters / 1000:.0f} k parameters"
    alone = ", none of which names a wrong weekday" if model.data == "dates" else ""
    return (
        f"{in_percent(right, 1)} of {count:,} unseen texts exactly right{alone} · {size}"
        if right is not None and count
        else size
    )
