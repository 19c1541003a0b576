"""What a set of labelled images shows first, as one model sees it."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool

from vizkit.analysis.remarks.remark import begun, counted, joined, of_all, percent

MANY = 3  # surest errors with one answer, from which that is worth telling


def on_the_map(
    model: str,
    right: int,
    known: int,
    purity: float,
    chance: float,
    by: str,
    *,
    classifies: bool = True,
    surest: tuple[int, str, int, int] = (0, "", 0, 0),
    marked: tuple[int, float] = (0, 0.0),
) -> str:
    """What `model` makes of them: `right` of the `known` images whose label it has, where it `classifies` at all.
    `purity`: the share of an image's nearest on the map with its label, and by `chance`, 0 to 1. `by`: by what images
    lie near, "features". `surest`: how many of its surest errors are shown, the answer that is most frequent among
    them, how many have it, and how many of those a planted mark. `marked`: how many images have one, and which share of
    the nearest to one of these on the map has it too."""
    none = f"{model} knows none of these labels" if classifies else f"{model} was told no labels"
    total = f"{model} is right on {of_all(right, known, 'image')}" if known else none
    shown, answer, same, planted = surest
    if marked[0] > 1 and marked[1] > 0.5:
        begin = f"{counted(marked[0], 'image')} with a planted mark lie together, by {by}"
        return f"{begin}: {percent(marked[1])} of the images nearest to one on the map have it too; {total}."
    if known and same >= max(MANY, shown / 2):
        all_of = "all with a planted mark" if planted == same else f"{planted} of them with a planted mark"
        mark = f", {all_of} in the corner" if planted else ""
        return f"{begun(of_all(same, shown, 'surest error'))} are answered “{answer}”{mark}; in all, {total}."
    near = f"on the map, by {by}, {percent(purity)} of the images nearest to one have its label"
    if purity <= 1.5 * chance:
        return f"{total}; {near}, hardly more than the {percent(chance)} of chance."
    return f"{total}; {near}, by chance it would be {percent(chance)}."


def counted_right(right: int, known: int, planted: int, learned: tuple[int, int]) -> str:
    """How `right` of `known` was counted: of the images that the model was trained on how many are right, and how many
    there are (`learned`); and by what they show where a wrong label was `planted`."""
    said = ""
    if learned[1]:
        new = of_all(right - learned[0], known - learned[1], "new one") if known > learned[1] else ""
        said = f"Right: {of_all(*learned, 'image')} that it was trained on{f' and {new}' if new else ''}. "
    by = f"{counted(planted, 'image')} with a planted wrong label {'is' if planted == 1 else 'are'} judged by what "
    return f"{said}{by}{'it shows' if planted == 1 else 'they show'}." if planted else said.strip()


def chosen(wrong: int, count: int, mistakes: Sequence[tuple[str, str]]) -> str:
    """`mistakes`: label and answer of each of those `count` images that are `wrong`."""
    begin = f"{counted(count, 'image')} chosen, with {counted(wrong, 'wrong answer') if wrong else 'no wrong answer'}"
    times, (label, answer) = max(((mistakes.count(pair), pair) for pair in mistakes), default=(0, ("", "")))
    if times < 2:
        return f"{begin}."
    return f"{begin}, most often “{label}” as “{answer}” ({times})."


def suspected(pictures: int, suspect: int, counts: Mapping[str, int]) -> str:
    """`counts`: how often each kind was found, by its name; an image may be suspect for several."""
    kinds = [f"{name}: {count}" for name, count in counts.items() if count]
    if not kinds:
        return f"Nothing in {counted(pictures, 'image')} looks wrong."
    reasons = sum(counts.values())
    why = f", for {reasons:,} reasons" if reasons > suspect else ""
    return f"{begun(of_all(suspect, pictures, 'image'))} should be looked at{why}. {begun('; '.join(kinds))}."


def mended(labels: int, left_out: int) -> str:
    """Of a mended copy: how many images have another label, and how many are left out."""
    return f"{begun(counted(labels, 'image'))} with another label, {left_out:,} left out."


def ceiling(wrong: int, pictures: int) -> str:
    """How often a model can be right where so many labels of `pictures` were planted wrong."""
    planted = f"{counted(wrong, 'label')} {'is' if wrong == 1 else 'are'} planted wrong"
    most = f"a model that knows every image would agree with {percent(1 - wrong / pictures)} of them"
    return f"This is by the labels as they are given, not by what the images show: {planted}, so {most}."


def probed(knn: float, linear: float, own: tuple[float, float, float] | None, chance: float, pictures: int) -> str:
    """Accuracies, 0 to 1: by neighbours, by a linear probe; of the model's own answers with its interval, None where
    it does not know the labels."""
    frozen = max(knn, linear)
    which = "a linear probe" if linear >= knn else "their nearest neighbours"
    begin = f"Frozen features and {which} are right on {percent(frozen)} of {counted(pictures, 'image')}"
    if own is None:
        return f"{begin}; always the commonest label would be {percent(chance)}."
    value, low, high = own
    if frozen > high:
        return f"{begin}, the model's own head on {percent(value)}: training that head anew is worth it."
    if frozen < low:
        return f"{begin}, the model's own head on {percent(value)}: it knows more of them than so few can teach anew."
    return f"{begin}, the model's own head on {percent(value)}: the two are not told apart."


def taught(label: str, answer: str, most: str, same: int, shown: int) -> str:
    """Of an image of `label` answered `answer`: the label `most` frequent among those that speak against, and how many
    of the `shown` ones are labelled like the answer (`same`)."""
    begin = f"An image of “{label}” is answered “{answer}”"
    if not shown:
        return f"{begin}, and no other image speaks for that."
    if most == answer:
        return f"{begin}: {of_all(same, shown, 'image')} that taught it most are labelled “{answer}”."
    return f"{begin}: most of those that taught it are labelled “{most}”, {of_all(same, shown, 'image')} “{answer}”."


def shared_mark(marked: int, shown: int) -> str:
    """Of an image with a planted mark: how many of the `shown` ones that speak for its error have it too."""
    return f"Planted here: a mark in its corner, which {of_all(marked, shown, 'image')} that taught it most have too."


def planted(labels: tuple[int, int, int], copies: tuple[int, int, int]) -> str:
    """Of each kind of fault how many were planted, how many of them found, and how many others suspected."""

    def said(kind: tuple[int, int, int], noun: str, plural: str) -> str:
        there, found, others = kind
        return f"{counted(there, noun, plural)}: {found} found, {counted(others, 'alarm')} without cause"

    wrong = said(labels, "wrong label", "wrong labels")
    return f"Planted here: {wrong}; {said(copies, 'near copy', 'near copies')}."


def drawn(doubts: int) -> str:
    """Of drawn insects, whose labels come of what is drawn: how many labels are doubted without cause; "" of none."""
    if not doubts:
        return ""
    err = "1 label is doubted" if doubts == 1 else f"{doubts:,} labels are doubted"
    return f"These insects are drawn, so every label is right; {err} because the model errs."


def unsure(alarms: int, false: int) -> str:
    """Beside what mends all labels at once: of so many `alarms` how many were `false`, where that is known."""
    if not false:
        return "Look at each of them first: a label that is suspect may be right."
    return f"Look at each of them first: of {counted(alarms, 'suspect label')} of this set {false:,} are right."


def marked(label: str, marks: int, of_label: int, right: tuple[int, int], others: Mapping[str, int]) -> str:
    """Of a label with a mark in the corner of so many images: how many answers are `right` with it and without, and how
    many images of which `others` have it."""
    begin = f"Planted here: a mark in the corner of {of_all(marks, of_label, 'image')} of “{label}”"
    without = of_label - marks
    said = f"{begin}; right are {right[0]} of {marks} with it and {right[1]} of {without} without."
    if not others:
        return said
    more = begun(joined([f"{counted(count, 'image')} of “{other}”" for other, count in others.items()]))
    return f"{said} {more} {'has' if sum(others.values()) == 1 else 'have'} it too."


# ---- shortcuts -----------------------------------------------------------------------------------------------------
CLEAR = 8.0  # of a cluster's score, in deviations: objects that lie anywhere stay below it (docs/dataset.md)

BESIDE = {"top": "above", "bottom": "below", "left": "left of", "right": "right of"}

Effect = Literal["falls", "rises", ""]


def place_in_words(place: Bool[np.ndarray, "row column"]) -> str:
    """Where the middle of a place lies, in thirds: "in the middle", "right of the middle"; of one that reaches the
    outer eighth there "at the right edge", "in the top left corner"; of one in pieces how many they are."""
    if (pieces := pieces_of(place)) > 1:
        return f"in {pieces} pieces"
    named, outer = list[str](), True
    for at, side, ends in zip(np.nonzero(place), place.shape, (("top", "bottom"), ("left", "right")), strict=True):
        middle = (np.mean(at) + 0.5) / side
        if abs(middle - 0.5) > 1 / 6:
            named.append(ends[int(middle > 0.5)])
            outer &= min(at.min(), side - 1 - at.max()) <= side / 8
    if not named:
        return "in the middle"
    if not outer:
        return f"{' and '.join(BESIDE[end] for end in named)} the middle"
    return f"in the {named[0]} {named[1]} corner" if len(named) > 1 else f"at the {named[0]} edge"


def mean_images(members: int, own: bool, where: str) -> str:
    """Of the three mean images of a cluster. `own`: whether its label has images outside of it."""
    whose = "the others of this label" if own else "images of other labels, as this one has no others"
    return (
        f"Mean of the {counted(members, 'image')} with where the model looks; of {whose}; and the place that they "
        f"share, {where}."
    )


def pieces_of(place: Bool[np.ndarray, "row column"]) -> int:
    """Cells that touch, also at a corner, are one piece."""
    left, pieces = set(zip(*np.nonzero(place), strict=True)), 0
    while left:
        pieces, reached = pieces + 1, [left.pop()]
        for row, column in reached:
            near = {(row + down, column + across) for down in (-1, 0, 1) for across in (-1, 0, 1)} & left
            left -= near
            reached += near
    return pieces


def shortcut(
    label: str,
    counts: tuple[int, int, int, int],
    where: str,
    score: float,
    accuracies: tuple[float, float, float] | None,
    effect: Effect,
) -> str:
    """`counts`: of the images with the place, of all of their label, of those of other labels in which the model looks
    at it as much as in the mean of these, and of all of other labels. `where`: of the place. `score`: of
    `evaluation.data_set.shortcuts.Cluster`. `accuracies`: on the images as they are, with the place covered, with
    another place covered, None where nobody tried; `effect`: what covering the place does to them beyond chance."""
    members, of_label, alike, others = counts
    clear = score >= CLEAR
    found = (
        f"n {of_all(members, of_label, 'image')} of “{label}” the model looks at a place {where} more than in other "
        f"labels. It looks there as much in {alike:,} of their {counted(others, 'image')}."
    )
    if accuracies is None:
        return f"I{found}" if clear else f"No clear shortcut: i{found}"
    before, after, other = (percent(each) for each in accuracies)
    found += f" With the place covered {after} of the {members:,} are right instead of {before}, with another"
    found += f" place covered {other}"
    if effect == "rises":
        return f"I{found}: what lies there causes errors, so the model takes it for a sign of another label."
    if clear and effect:
        return f"I{found}: a shortcut."
    if effect:
        return f"I{found}: what lies there counts, as an object does that often lies there."
    if accuracies[1] < min(accuracies[0], accuracies[2]):
        few = counted(members, "image")
        return f"Not shown to be a shortcut: i{found}: {few} cannot tell that from chance."
    return f"No shortcut: i{found}: the answers do not depend on it alone."
