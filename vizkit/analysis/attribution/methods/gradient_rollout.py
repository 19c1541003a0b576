"""Gradient rollout, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method
from vizkit.analysis.attribution.methods.rollout import applies

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.gradient_rollout import gradient_rollout

    return gradient_rollout(given.trace, given.query)


METHOD = Method(
    name="gradient_rollout",
    title="Gradient rollout",
    needs="target",
    run=run,
    applies=applies,
    shares=True,
    asks="From which places can anything reach what the head reads by attention that raises the answer?",
    caveat="The gradient is that of this very image; the identity of every layer hides weak paths.",
    differs="Each head's A ⊙ gradient loses what is below zero, then comes the mean over heads, as in Chefer et al.'s "
    "code; jacobgil/vit-explain takes the mean first, in which heads can cancel, and sets nine tenths of it to zero.",
    even="Where the head reads the mean of all places, the identity of every layer passes all of them on alike.",
    source="Abnar & Zuidema 2020 with the mean of relu(A ⊙ gradient) of Chefer et al. 2021 (arXiv 2103.15679)",
)
