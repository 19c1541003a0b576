"""Generic relevance, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method
from vizkit.analysis.attribution.methods.rollout import applies

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.generic_relevance import generic_relevance

    return generic_relevance(given.trace, given.query)


METHOD = Method(
    name="generic_relevance",
    title="Generic relevance",
    needs="target",
    run=run,
    applies=applies,
    asks="Which places gain relevance for the answer when it is added up layer by layer?",
    caveat="What attention does against the answer is set to zero; values and MLPs are left out.",
    differs="A token that gains nothing keeps the row of the identity, also where gains are divided by their sums "
    "(eqs. 8 and 9, for encoder and decoder): there the authors' code divides 0 by 0, which gives no number.",
    source="Chefer et al. 2021 (arXiv 2103.15679), eq. 5 and 6",
)
