"""The attributes and methods that timm, our training and our traces need of a ViT; not how a ViT works."""

from typing import Any

from timm.models._features import feature_take_indices
from torch import Tensor, nn


class TimmProtocol(nn.Module):
    """For a model with `embedded`, `blocks`, `norm`, `head` and `patch_embed.grid_size`."""

    blocks: nn.Sequential

    def __init__(self, embed_dim: int, depth: int, num_classes: int, in_chans: int, patch_size: int) -> None:
        super().__init__()
        self.embed_dim = self.num_features = self.head_hidden_size = embed_dim
        self.num_classes, self.in_chans, self.patch_size = num_classes, in_chans, patch_size
        self.feature_info = [
            {"module": f"blocks.{i}", "num_chs": embed_dim, "reduction": patch_size} for i in range(depth)
        ]

    def forward_intermediates(
        self,
        x: Tensor,
        indices: int | list[int] | None = None,
        return_prefix_tokens: bool = False,
        norm: bool = False,
        stop_early: bool = False,
        output_fmt: str = "NCHW",
        intermediates_only: bool = False,
    ) -> Any:  # noqa: ANN401
        """(tokens for the head, what leaves the blocks `indices`), as timm's ViT gives them."""
        taken, last = feature_take_indices(len(self.blocks), indices)
        special: Any = self.num_prefix_tokens
        tokens, features = self.embedded(x), []  # type: ignore[operator]
        for i, block in enumerate(self.blocks):
            tokens = block(tokens)
            if i in taken:
                left = self.norm(tokens) if norm else tokens  # type: ignore[operator]
                places = left[:, special:]
                if output_fmt == "NCHW":
                    places = places.transpose(1, 2).unflatten(2, self.patch_embed.grid_size)  # type: ignore[union-attr]
                features.append((places, left[:, :special]) if return_prefix_tokens and special else places)
            if stop_early and i == last:
                break
        return features if intermediates_only else (self.norm(tokens), features)  # type: ignore[operator]

    def get_classifier(self) -> Any:  # noqa: ANN401
        return self.head

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        self.num_classes = num_classes
        self.head = nn.Linear(self.embed_dim, num_classes) if num_classes else nn.Identity()

    def group_matcher(self, coarse: bool = False) -> dict[str, Any]:
        """Which parameters belong to which block, for freezing and for layer-wise learning rates."""
        return {
            "stem": r"^cls_token|pos_embed|patch_embed",
            "blocks": [(r"^blocks\.(\d+)", None), (r"^norm", (99999,))],
        }

    def no_weight_decay(self) -> set[str]:
        return {"pos_embed", "cls_token"}
