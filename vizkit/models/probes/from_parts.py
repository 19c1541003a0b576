"""A ViT taken apart with our own code: what goes into each part of `networks.vit_from_parts`, and what comes out.

timm's ViTs are rebuilt from our parts with their own weights, so that the code that is read is the code that runs.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.check import logit_tolerance, precision_of_pass
from vizkit.models.networks.named_vits import from_timm
from vizkit.models.networks.vit_from_parts import ViT
from vizkit.models.probes.flow import watched
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


@dataclass(frozen=True)
class Passed:
    """What one module was given and what it returned, without the image axis."""

    given: Tensor
    made: Tensor


@dataclass(frozen=True)
class Inside:
    """Every part of a ViT on one image. `passed`: by the module's path; `embedded`: patches with class token and
    positions. `logit_error`: the largest difference from the logits of the model that was rebuilt; 0 for our own.
    """

    model: ViT
    pixels: Float[Tensor, "channel height width"]
    passed: dict[str, Passed]
    embedded: Float[Tensor, "token dim"]
    logits: Float[Tensor, " label"]
    logit_error: float


@torch.no_grad()
def inside(loaded: Loaded, pixels: Tensor) -> Inside:
    """Run one image, (1, channel, height, width), through the parts. NotApplicable for models built differently."""
    pixels = pixels.to(loaded.device, loaded.dtype)
    model = _rebuilt(loaded, (pixels.shape[-2], pixels.shape[-1]))
    passed: dict[str, Passed] = {}

    def see(path: str, inputs: tuple, out: Any) -> None:
        passed[path] = Passed(inputs[0][0].float().cpu(), out[0].float().cpu())

    parts = [f"blocks.{i}{part}" for i in range(len(model.blocks)) for part in ("", ".attn", ".mlp")]
    logits = watched(model, ("patch_embed", *parts, "norm"), see)(pixels)[0].float().cpu()
    theirs = logits if isinstance(loaded.model, ViT) else loaded.model(pixels)[0].float().cpu()
    error = float((logits - theirs).abs().max())
    if error > logit_tolerance(precision_of_pass(model, pixels.device)) * max(1.0, float(theirs.abs().max())):
        raise NotApplicable(f"{loaded.name} gives other logits when rebuilt from these parts; it is built differently.")
    embedded = passed["blocks.0"].given if len(model.blocks) else passed["norm"].given
    return Inside(model, pixels[0].float().cpu(), passed, embedded, logits, error)


def _rebuilt(loaded: Loaded, size_hw: tuple[int, int]) -> ViT:
    """A ViT from our parts with the weights of `loaded`; our own as it is.

    `size_hw` of the input: timm's `dynamic_img_size` stretches the learned positions to it at every pass.
    """
    theirs: Any = loaded.model
    if isinstance(theirs, ViT):
        return theirs
    other = f"{loaded.name} has other parts than a plain ViT"
    try:
        pools = {"token": "cls", "avg": "mean"}
        first, state = theirs.blocks[0], theirs.state_dict()
        model = ViT(
            img_size=size_hw,
            patch_size=theirs.patch_embed.patch_size[0],
            in_chans=state["patch_embed.proj.weight"].shape[1],
            num_classes=theirs.num_classes,
            embed_dim=theirs.embed_dim,
            depth=len(theirs.blocks),
            num_heads=first.attn.num_heads,
            mlp_ratio=first.mlp.fc1.out_features / theirs.embed_dim,
            pool=pools[theirs.global_pool],  # type: ignore[arg-type]
            layer_scale="blocks.0.ls1.gamma" in state,
        )
        model.load_state_dict(from_timm(state, model))
    except ValueError as error:
        raise NotApplicable(f"{other}: {error}.") from None
    except (AttributeError, KeyError, IndexError, TypeError, RuntimeError):
        raise NotApplicable(f"{other}; choose a ViT with or without class token.") from None
    return model.eval().requires_grad_(False).to(loaded.device, loaded.dtype)
