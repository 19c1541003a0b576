"""The dual-scale ViT of `vizkit.models.networks.dual_scale`: two streams of tokens, then one.

Both streams are traced. A fine token is its patch. A coarse token is one of the copies of a coarse patch, and its cell
that of the fine patch it is aligned with: it stands for the pixels of the whole coarse patch around that cell.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vizkit.geometry import cell_of, id_of
from vizkit.models.families.translate import Translated, attention_of, cam_features, features_of
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.kinds import home
from vizkit.models.recording.recorder import Keep
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Attention, NotApplicable, Tokens

TITLE, SAME_ROWS, IN_TOKENS = "dual scale", True, True
MODULES = ("dual_scale",)
COARSE = "coarse patches"


def tokens_of(model: nn.Module, size_hw: tuple[int, int]) -> tuple[Tokens]:
    return (stream(model),)


def expected(model: nn.Module) -> int:
    return len(_streams_of(model))


def step_px(model: Any, size_hw: tuple[int, int]) -> int:
    return int(model.step_px)


def stream(model: Any, coarse: bool = False) -> Tokens:
    """The fine tokens, or the copies of the coarse ones, in the order of the fine patches' cells."""
    rows, columns = model.patch_embed.grid_size
    return Tokens(
        COARSE if coarse else "fine patches", (), (rows, columns), stride=float(model.patch_embed.patch_size[1])
    )


def kept(model: nn.Module, keep: Keep) -> Keep:
    """The layers run on aligned rows."""
    rows_of: list[int] = model.rows_of.tolist()  # pyright: ignore
    if keep.rows is None:
        return keep
    return replace(keep, rows=tuple(rows_of[i] for i in keep.rows if 0 <= i < len(rows_of)) or (0,))


def translated(loaded: Loaded, size_hw: tuple[int, int], result: Pass) -> Translated:
    model: Any = loaded.model
    fine, coarse, ids = stream(model), stream(model, coarse=True), model.order[None].cpu()
    attention = []
    for call, is_coarse in zip(result.calls, _streams_of(model), strict=False):
        if call.weights is not None:
            tokens = coarse if is_coarse else fine
            attention.append(
                attention_of(call, tokens, tokens, ids, ids, f"{call.path} (coarse)" if is_coarse else None)
            )
    features = [features_of(f"blocks.{i}", values, None, fine) for i, values in enumerate(result.maps)]
    # What the head receives is in the order of the patches already, what the last attention receives is not.
    aligned = [
        (name, *(t if name == "before the head" else t[model.rows_of] for t in two)) for name, *two in result.deciding
    ]
    cam = cam_features(replace(result, deciding=tuple(aligned)), fine)
    note = (
        f"Blocks 1 to {model.merge_block - 1} run twice, on fine and on coarse patches. Each coarse patch stands "
        f"{model.ratio**2} times, at the cells of the fine patches inside it; rollout and relevance follow the fine "
        "stream, which alone gives the values."
    )
    return Translated(attention, features, expected(model), (note,), cam=cam)


def _streams_of(model: Any) -> list[bool]:
    """Whether a call of the forward pass is one on the coarse stream: fine and coarse by turns, then one stream."""
    before = model.merge_block - 1
    return [False, True] * before + [False] * (len(model.blocks) - before)


# ---- what the page asks for besides the trace ------------------------------------------------------------------------
@dataclass(frozen=True)
class Partners:
    """One coarse patch and the fine ones inside it, by their ids on either grid, counted row by row from 0."""

    coarse_id: int
    fine_ids: tuple[int, ...]
    coarse: Tokens
    fine: Tokens


def partners(loaded: Loaded, fine_id: int) -> Partners:
    """Which patches are aligned with a fine one; ValueError where there is no such token."""
    model = dual(loaded)
    fine, ratio = stream(model), model.ratio
    cell = cell_of(fine, fine_id)
    if cell is None or fine.grid is None:
        raise ValueError(f"There is no fine patch {fine_id}: there are {len(fine)}.")
    coarse = Tokens(COARSE, (), (fine.grid[0] // ratio, fine.grid[1] // ratio), stride=fine.stride * ratio)
    corner = (cell[0] // ratio * ratio, cell[1] // ratio * ratio)
    inside = [id_of(fine, (corner[0] + r, corner[1] + c)) for r in range(ratio) for c in range(ratio)]
    return Partners(id_of(coarse, (cell[0] // ratio, cell[1] // ratio)), tuple(inside), coarse, fine)


@dataclass(frozen=True)
class Streams:
    """What enters the merging block, and both scores in it. Scores are Q Kᵀ / √d_k, the ids those of the fine patches.

    S = α · fine_scores + (1 − α) · coarse_scores goes into the softmax; `alpha` is the model's own.
    """

    entering: tuple[Float[Tensor, "1 token channel"], Float[Tensor, "1 token channel"]]
    fine_scores: Float[Tensor, "head query key"]
    coarse_scores: Float[Tensor, "head query key"]
    alpha: float
    learned: bool
    layer: str
    tokens: Tokens

    def merged(self, alpha: float) -> Float[Tensor, "head query key"]:
        """S for an α of 0 to 1."""
        return alpha * self.fine_scores + (1 - alpha) * self.coarse_scores

    def attention(self, alpha: float) -> Attention:
        """softmax(S) for an α of 0 to 1, as a layer of a trace."""
        ids: Int[Tensor, "1 token"] = torch.arange(len(self.tokens))[None]
        return Attention(self.layer, self.merged(alpha).softmax(-1)[None], self.tokens, self.tokens, ids, ids)


@torch.no_grad()
def streams(loaded: Loaded, pixels: Tensor) -> Streams:
    """Run one image, (1, channel, height, width), up to the merging block."""
    model = dual(loaded)
    *_, (fine, coarse) = model.streams(pixels.to(loaded.device))
    block, rows = model.blocks[model.merge_block - 1], model.rows_of
    scores = (block.attn.scores(block.norm1(x))[0] * block.attn.scale for x in (fine, coarse))
    fine_scores, coarse_scores = (of_scale[:, rows][:, :, rows].float().cpu() for of_scale in scores)
    return Streams(
        entering=(fine, coarse),
        fine_scores=fine_scores,
        coarse_scores=coarse_scores,
        alpha=float(model.balance()),
        learned=model.balance.free is not None,
        layer=f"blocks.{model.merge_block - 1}.attn",
        tokens=stream(model),
    )


@torch.no_grad()
def logits_at(loaded: Loaded, streams: Streams, alpha: float) -> Float[Tensor, " label"]:
    """The model's logits with another α, 0 to 1: only the merging block and what follows it is run."""
    model = dual(loaded)
    *_, last = model.merged(*streams.entering, alpha)
    return model.forward_head(model.norm(last))[0].float().cpu()


def with_alpha(loaded: Loaded, alpha: float) -> Loaded:
    """The same model with another α, 0 to 1, for traces; the weights are shared, and `loaded` stays as it is."""
    from vizkit.models.networks import dual_scale

    clone = dual_scale.with_alpha(dual(loaded), alpha)
    return replace(copy.copy(loaded), name=f"{loaded.name}, α = {alpha:.2f}", model=clone, compared={})


def dual(loaded: Loaded) -> Any:
    if home(loaded.model) not in MODULES:
        raise NotApplicable(f"{loaded.name} has one stream of tokens; this view is for dual-scale models.")
    return loaded.model
