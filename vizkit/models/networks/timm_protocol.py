"""The attributes and methods that timm, our training and our traces need of a network; not how it works."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from jaxtyping import Float
from timm.models._features import feature_take_indices
from torch import Tensor, nn

T = TypeVar("T")


def taken(steps: Iterable[T], count: int, indices: int | list[int] | None, *, stop_early: bool) -> tuple[list[T], T]:
    """(what the steps `indices` of `count` give, what the last one gives that is made: none after those, if
    `stop_early`)."""
    chosen, last = feature_take_indices(count, indices)
    kept = []
    for i, step in enumerate(steps):
        if i in chosen:
            kept.append(step)
        if i == (last if stop_early else count - 1):
            return kept, step
    raise ValueError(f"There are fewer than {count} steps.")


class BlockByBlock:
    """`forward`, and `forward_intermediates` as timm's ViTs have it, for a ViT with `steps`."""

    blocks: nn.Sequential
    norm: Any
    num_prefix_tokens: int
    forward_head: Any

    def steps(self, x: Tensor) -> Iterator[tuple[Tensor, Tensor, tuple[int, int]]]:
        """(tokens that leave a block, what the next one gets, the block's grid) for every block."""
        raise NotImplementedError

    def forward_features(self, x: Tensor) -> Float[Tensor, "image token channel"]:
        *_, (_, last, _) = self.steps(x)
        return self.norm(last)

    def forward(self, x: Tensor) -> Float[Tensor, "image label"]:
        return self.forward_head(self.forward_features(x))

    def forward_intermediates(
        self,
        x: Tensor,
        indices: int | list[int] | None = None,
        return_prefix_tokens: bool = False,
        norm: bool = False,
        stop_early: bool = False,
        output_fmt: str = "NCHW",
        intermediates_only: bool = False,
    ) -> Any:
        """(tokens for the head, what leaves the blocks `indices`), on the grids of those blocks."""
        special, features = self.num_prefix_tokens, []
        kept, (_, tokens, _) = taken(self.steps(x), len(self.blocks), indices, stop_early=stop_early)
        for left, _, grid in kept:
            left = self.norm(left) if norm else left
            places = left[:, special:]
            places = places.transpose(1, 2).unflatten(2, grid) if output_fmt == "NCHW" else places
            features.append((places, left[:, :special]) if return_prefix_tokens and special else places)
        return features if intermediates_only else (self.norm(tokens), features)


class WithHead(nn.Module):
    """A linear `head` of `num_classes` outputs on `head_hidden_size` numbers."""

    head_hidden_size: int

    def get_classifier(self) -> Any:
        return self.head

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        self.num_classes = num_classes
        self.head = nn.Linear(self.head_hidden_size, num_classes) if num_classes else nn.Identity()


class TimmProtocol(BlockByBlock, WithHead):
    """For a model with `embedded`, `blocks`, `norm`, `head` and `patch_embed.grid_size`."""

    embedded: Any
    patch_embed: Any

    def __init__(self, embed_dim: int, depth: int, num_classes: int, in_chans: int, patch_size: int) -> None:
        super().__init__()
        self.embed_dim = self.num_features = self.head_hidden_size = embed_dim
        self.num_classes, self.in_chans, self.patch_size = num_classes, in_chans, patch_size
        self.feature_info = [
            {"module": f"blocks.{i}", "num_chs": embed_dim, "reduction": patch_size} for i in range(depth)
        ]

    def steps(self, x: Tensor) -> Iterator[tuple[Tensor, Tensor, tuple[int, int]]]:
        tokens = self.embedded(x)
        for block in self.blocks:
            tokens = block(tokens)
            yield tokens, tokens, self.patch_embed.grid_size

    def group_matcher(self, coarse: bool = False) -> dict[str, Any]:
        """Which parameters belong to which block, for freezing and for layer-wise learning rates."""
        return {
            "stem": r"^cls_token|pos_embed|patch_embed",
            "blocks": [(r"^blocks\.(\d+)", None), (r"^norm", (99999,))],
        }

    def no_weight_decay(self) -> set[str]:
        return {"pos_embed", "cls_token"}


class StageByStage(WithHead):
    """For a network without tokens: `steps` yields what leaves each stage, the last of which the head reads.

    `features`: how many channels the last stage has, `hidden` how many numbers the classifier `head` gets.
    """

    steps: Any
    forward_head: Any
    feature_info: Any

    def __init__(self, num_classes: int, in_chans: int, *, features: int, hidden: int) -> None:
        super().__init__()
        self.num_classes, self.in_chans = num_classes, in_chans
        self.num_features, self.head_hidden_size = features, hidden

    def forward_features(self, x: Tensor) -> Tensor:
        *_, last = self.steps(x)
        return last

    def forward(self, x: Tensor) -> Float[Tensor, "image label"]:
        return self.forward_head(self.forward_features(x))

    def forward_intermediates(
        self,
        x: Tensor,
        indices: int | list[int] | None = None,
        norm: bool = False,
        stop_early: bool = False,
        output_fmt: str = "NCHW",
        intermediates_only: bool = False,
    ) -> Any:
        """(what the head gets, what leaves the stages `indices`)."""
        features, left = taken(self.steps(x), len(self.feature_info), indices, stop_early=stop_early)
        return features if intermediates_only else (left, features)
