"""Coarser tokens: two ways to fewer patches, a coarse grid beside the fine one, or averaging between the blocks."""

from typing import ClassVar

from vizkit.models import family_of
from vizkit.views.architecture.dual import ALPHAS, exactly, named, streams_of, two_grids
from vizkit.views.architecture.gradual import fewer_tokens
from vizkit.views.blocks import Blocks
from vizkit.views.controls import Subjects, head, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

USUAL = 0.5  # of α


def averages(of: Subject) -> bool:
    return family_of(of.loaded.model) == "gradual_reduction"


def alphas(of: Subjects) -> tuple[float, ...]:
    """The usual one alone where no scores of two grids are mixed: then there is nothing to turn."""
    return (USUAL,) if of and all(map(averages, of)) else ALPHAS


class CoarserTokens(View):
    """Coarse patches beside fine ones, or tokens that are averaged between the blocks, as the model does."""

    alpha: float = number(
        "α",
        lambda of: alphas(of)[0],
        lambda of: alphas(of)[-1],
        USUAL,
        "1: the scores of the fine stream alone. 0: those of the coarse one. The step nearest to the model's own α is "
        "that α exactly.",
        at=ALPHAS,
        plays=True,
        key="dual_alpha",
    )
    head: int | None = head(key="dual_head")

    alone: ClassVar = True
    how: ClassVar = How(
        "A dual-scale ViT cuts the image twice. Each coarse patch stands beside the fine ones inside it, both streams "
        "run through the same blocks, and then one attention mixes their scores: at α = 1 only those of the fine "
        "stream count, at α = 0 only those of the coarse one; the values are the fine stream's at any α. A "
        "gradual-reduction ViT averages neighbouring tokens in pairs between its blocks, so that a token stands for a "
        "rectangle that doubles; special tokens are not averaged. Each rectangle is drawn in the mean colour of its "
        "pixels, and contrast is the variance of the colours.",
        r"S = \alpha\,S^{(\mathrm{fine})} + (1-\alpha)\,S^{(\mathrm{coarse})}, \qquad "
        r"N \to \tfrac{N}{2}: \; z'_{k} = \tfrac12\,(z_{2k-1} + z_{2k}), \; "
        r"2N^2D \to \tfrac14 \cdot 2N^2D",
        "what a model would do that was trained with another α, and what a token's vector holds: attention has mixed "
        "in the rest of the image, and vectors are averaged, not colours.",
        "Badzohreh 2024, a thesis without code; where it is silent, our reading: see networks/dual_scale.py and "
        "networks/gradual_reduction.py",
    )

    def title(self, of: Subject) -> str:
        if averages(of):
            return "The image as fewer and fewer tokens"
        own = streams_of(of).alpha
        return f"Two grids merged: {named(exactly(self.alpha, own), own)}"

    def show(self, of: Subject) -> Blocks:
        yield from fewer_tokens(of) if averages(of) else two_grids(of, self.alpha, self.head)
