"""The two heads of a distilled model, and the two tokens that they read (DeiT: Touvron et al. 2021, § 4; PiT has them
too).

In training one head answers to the labels, the other to a teacher; afterwards the model gives the mean of both. Nothing
is switched here: the features are computed once and both heads read them, so that sessions that share a model do not
disturb one another.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

SPECIAL = ("cls", "dist")


@dataclass(frozen=True)
class TwoHeads:
    """Logits of both heads, and the vectors that they read: class token first, after the model's last norm."""

    cls: Float[Tensor, "image label"]
    dist: Float[Tensor, "image label"]
    read: Float[Tensor, "image 2 channel"]

    @property
    def averaged(self) -> Float[Tensor, "image label"]:
        """What the model itself answers."""
        return (self.cls + self.dist) / 2


def has_two_tokens(model: nn.Module) -> bool:
    return _has_two_heads(model) and _learned(model) is not None


def _has_two_heads(model: nn.Module) -> bool:
    heads = (getattr(model, "head", None), getattr(model, "head_dist", None))
    return all(isinstance(head, nn.Module) and not isinstance(head, nn.Identity) for head in heads)


def refuse_one_token(loaded: Loaded) -> None:
    """Raises NotApplicable, with the reason, for a model without a class and a distillation token, or no classes."""
    name = loaded.name.removeprefix("bundled:")
    if has_two_tokens(loaded.model):
        if loaded.head.exclusive:
            return
        raise NotApplicable(f"{name} gives {loaded.head.gives}, so its two heads name no class to compare.")
    if _has_two_heads(loaded.model):
        raise NotApplicable(f"{name} has two heads, but both read one pooled vector: there are no two tokens.")
    if hasattr(loaded.model, "dist_token"):
        raise NotApplicable(f"{name} has no head for its distillation token, so it gives no predictions to compare.")
    raise NotApplicable(f"{name} has no distillation token.")


@torch.no_grad()
def two_heads(loaded: Loaded, pixels: Float[Tensor, "image 3 height width"]) -> TwoHeads:
    """The logits of each head for images preprocessed for this model. Raises NotApplicable for other models."""
    refuse_one_token(loaded)
    model: nn.Module = loaded.model
    features: Tensor = model.forward_features(pixels.to(loaded.device, loaded.dtype))  # type: ignore[operator]
    read = features[:, : len(SPECIAL)]
    cls, dist = model.head(read[:, 0]), model.head_dist(read[:, 1])  # type: ignore[operator]
    return TwoHeads(cls.float(), dist.float(), read.float())


def learned_tokens(loaded: Loaded) -> Float[Tensor, "2 channel"]:
    """Both tokens as the model has learned them, before positions and before any image. Raises NotApplicable."""
    refuse_one_token(loaded)
    tokens = _learned(loaded.model)
    assert tokens is not None
    return tokens.detach().float().cpu()


def _learned(model: nn.Module) -> Tensor | None:
    cls, dist = getattr(model, "cls_token", None), getattr(model, "dist_token", None)
    if isinstance(cls, Tensor) and isinstance(dist, Tensor):
        return torch.stack([cls[0, 0], dist[0, 0]])
    # PiT keeps both in one parameter.
    return cls[0] if isinstance(cls, Tensor) and cls.shape[1] == len(SPECIAL) else None
