"""Which class of one model is which class of another one, by name: the same words, never a guess.

ImageNet writes the synonyms of a class with commas ("tabby, tabby cat") and uses some words twice: "crane" is a bird
and a machine, both under this very name, so it is unknown which of the two another list means by it.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

Matched = tuple[int | None, ...]
Member = tuple[int, int]  # (model, index among its classes)

_SPACES = re.compile("[\\s_\u2010-\u2015-]+")  # folders write spaces as underscores or hyphens


def match(names: Sequence[str], known: Sequence[str]) -> Matched:
    """For each of `names` its index in `known`; None where there is none, or where it could be more than one.

    Case, underscores and hyphens do not matter. The whole name counts first, then a synonym that both have; no two of
    `names` get the same class. A list finds itself place by place, even where it has a name twice.
    """
    mine, theirs = [_normal(name) for name in names], [_normal(name) for name in known]
    if mine == theirs:
        return tuple(range(len(names)))
    by_name = _one_to_one([{name} for name in mine], [{name} for name in theirs])
    left, free = [i for i, k in enumerate(by_name) if k is None], sorted(set(range(len(theirs))) - set(by_name))
    more = _one_to_one([_synonyms(mine[i]) for i in left], [_synonyms(theirs[k]) for k in free])
    by_synonym = {i: free[k] for i, k in zip(left, more, strict=True) if k is not None}
    return tuple(by_synonym.get(i, k) for i, k in enumerate(by_name))


def _normal(name: str) -> str:
    """A name without case, forms of letters and kinds of space: "Water_Strider" is "water strider"."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _SPACES.sub(" ", folded).strip()


def _synonyms(name: str) -> set[str]:
    return {part.strip() for part in name.split(",")}


def _one_to_one(names: Sequence[set[str]], known: Sequence[set[str]]) -> list[int | None]:
    """Pairs that share a word of which neither shares one with anybody else."""
    having: defaultdict[str, set[int]] = defaultdict(set)
    for index, words in enumerate(known):
        for word in words - {""}:
            having[word].add(index)
    candidates = [set().union(*(having.get(word, ()) for word in words)) for words in names]
    times = Counter(index for each in candidates for index in each)
    return [min(each) if len(each) == 1 and times[min(each)] == 1 else None for each in candidates]


# ---- several models --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Agreed:
    """The classes of several models as one list. `names`: one for each class; `of`: for each model the class in `names`
    of each of its own classes."""

    names: tuple[str, ...]
    of: tuple[tuple[int, ...], ...]

    def shared(self, *models: int) -> tuple[int, ...]:
        """The classes that all of `models` know, all models when none is named; ascending."""
        chosen = models or range(len(self.of))
        return tuple(sorted(set.intersection(*(set(self.of[model]) for model in chosen)))) if self.of else ()

    def places(self, model: int, classes: Sequence[int]) -> list[int]:
        """Where a model has these classes among its own; KeyError for one that it does not know."""
        own = {joint: index for index, joint in enumerate(self.of[model])}
        return [own[joint] for joint in classes]


def agreeing(labels: Sequence[Sequence[str]]) -> Agreed:
    """One list of classes for models whose own are `labels`: two are one class where `match` finds them.

    Where a chain of matches would make two classes of one model the same, all of the chain stay apart. A model whose
    `labels` are empty shares nothing.
    """
    number: dict[Member, int] = {}
    names: list[str] = []
    for chain in _chains(labels):
        torn = len({model for model, _ in chain}) < len(chain)
        for members in [[each] for each in chain] if torn else [chain]:
            number |= dict.fromkeys(members, len(names))
            model, index = members[0]
            names.append(labels[model][index])
    return Agreed(tuple(names), tuple(tuple(number[m, i] for i in range(len(own))) for m, own in enumerate(labels)))


def _chains(labels: Sequence[Sequence[str]]) -> list[list[Member]]:
    """The classes of all models, those together that matches join, in the order of the first model's, then the rest."""
    parent: dict[Member, Member] = {(m, i): (m, i) for m, own in enumerate(labels) for i in range(len(own))}

    def root(each: Member) -> Member:
        while parent[each] != each:
            parent[each] = each = parent[parent[each]]
        return each

    for a, b in combinations(range(len(labels)), 2):
        for index, other_index in enumerate(match(labels[a], labels[b])):
            if other_index is not None:
                first, second = sorted((root((a, index)), root((b, other_index))))
                parent[second] = first
    joined: defaultdict[Member, list[Member]] = defaultdict(list)
    for each in parent:
        joined[root(each)].append(each)
    return list(joined.values())
