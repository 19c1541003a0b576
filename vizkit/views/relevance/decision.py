"""Which decision is explained: that for a class, or for one class against another."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vizkit.heads import DIRECTION_IN_WORDS, LIKENESS
from vizkit.traces import NotApplicable
from vizkit.views.controls import ControlError, choice
from vizkit.views.subject import Subject
from vizkit.views.view import View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models import Loaded


PREDICTED = "what each model predicts"
NOTHING = "no other class"
MOST_NAMES = 1500  # sent to a browser; of models with more classes the likeliest ones
MOST_ANSWERS = 3


def classes(of: Sequence[Subject]) -> list[str]:
    known = dict.fromkeys(name for each in of for name in classes_by_name(each.loaded, each.seen.logits))
    return [PREDICTED, *known]


def rivals(of: Sequence[Subject]) -> list[str]:
    return [NOTHING, *(classes(of)[1:] if any(each.loaded.head.exclusive for each in of) else ())]


def meant(of: Sequence[Subject], text: str) -> str:
    """The option of a class that is named otherwise: by its number, or a part of its name (`Loaded.number_of`)."""
    if text in (NOTHING, *classes(of)):
        return text
    sentences = []
    for each in of:
        count = len(each.seen.logits)
        try:
            if (number := each.loaded.number_of(text) or 0) < count:
                by_number = {own: name for name, own in classes_by_name(each.loaded, each.seen.logits).items()}
                return by_number.get(number, told_apart(each.loaded, number))
            sentences.append(f"Class {number} does not exist: {each.name} has {count} classes.")
        except ValueError as error:
            sentences.append(str(error))
    raise ControlError(next(iter(sentences), "No model has classes here."))


class Decision(View):
    """Views that explain a class, chosen by its name: models need not know the same classes."""

    target: str = choice(
        "Answer",
        classes,
        "Type to search. The class whose logit is explained: the maps show the evidence for it. Without classes: the "
        "direction of this image's embedding, that is, which patches make it what it is.",
        default=PREDICTED,
        words={PREDICTED: "each model's own"},
        key="class_a",
        meant=meant,
        listed=True,
        runs=True,
    )
    against: str = choice(
        "Against",
        rivals,
        "Explains the difference of two logits: red is evidence for the first class, blue for the second.",
        default=NOTHING,
        key="class_b",
        meant=meant,
        more=True,
        listed=True,
        runs=True,
    )

    def answer(self, of: Subject) -> "tuple[Loaded, Tensor]":
        """(the model that is asked, what it returns of the image)."""
        return of.loaded, of.seen.logits

    def asked(self, of: Subject) -> tuple[int, int | None]:
        """(class, rival) by their numbers. NotApplicable with a sentence where this model does not know one."""
        return asked(*self.answer(of), of.name, self.target, self.against)

    def what(self, of: Subject) -> str:
        """The class, and its rival."""
        loaded, (target, against) = self.answer(of)[0], self.asked(of)
        if loaded.head is LIKENESS:
            return DIRECTION_IN_WORDS
        return f"{loaded.label(target)}{'' if against is None else f' against {loaded.label(against)}'}"


def classes_by_name(loaded: "Loaded", logits: "Tensor") -> dict[str, int]:
    """The number of each class by a name that it alone has; the likeliest first where there are too many to list."""
    count = loaded.outputs or len(logits)
    numbers = range(count) if count <= MOST_NAMES else logits.topk(MOST_NAMES).indices.tolist()
    times = Counter(loaded.label(number) for number in range(count))
    names = ((number, loaded.label(number)) for number in numbers)
    return {name if times[name] == 1 else told_apart(loaded, number): number for number, name in names}


def told_apart(loaded: "Loaded", number: int) -> str:
    """A class where another is called alike."""
    return f"{loaded.label(number)} ({loaded.head.output} {number})"


def asked(loaded: "Loaded", logits: "Tensor", model: str, target: str, against: str) -> tuple[int, int | None]:
    """See `Decision.asked`; `model`: what people call it."""
    known, head = classes_by_name(loaded, logits), loaded.head
    predicted = head.target(logits)
    if {target, against} - {PREDICTED, NOTHING, *known}:  # of more classes than are listed
        known |= {told_apart(loaded, number): number for number in range(len(logits))}
    for name in (target, against):
        if name not in (PREDICTED, NOTHING, *known):
            gives = "predicts" if head.probable else "gives"
            raise NotApplicable(f"{model} has no {head.output} “{name}”; it {gives} “{loaded.label(predicted)}”.")
    number = predicted if target == PREDICTED else known[target]
    rival = None if against == NOTHING else known[against]
    if rival is not None and not head.exclusive:
        raise NotApplicable(f"{model} gives {head.gives}, so nothing is explained against another.")
    if rival == number:
        raise NotApplicable(f"{model}: both classes are “{loaded.label(number)}”; choose another.")
    return number, rival


def in_words(loaded: "Loaded", logits: "Tensor", target: int, against: int | None) -> str:
    """What is explained, with what the model answers."""
    head, values = loaded.head, loaded.head.values(logits)
    if head is LIKENESS:
        return f"for {DIRECTION_IN_WORDS}: which patches make it what it is; this model has no classes"

    def named(number: int) -> str:
        return f"{loaded.label(number)} ({head.text(float(values[number]))})"

    rival = "" if against is None else f" against {named(against)}"
    answers, answer = head.answers(logits), ""
    if head.probable and target not in answers:
        answer = f" · it predicts {', '.join(map(named, answers[:MOST_ANSWERS])) or 'none of its labels'}"
    return f"for {named(target)}{rival}{answer}"
