"""One block of a transformer taken apart: its attention, and the MLP after it."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.probes.flow import watched
from vizkit.models.probes.parts import Parts, Stream, attention_parts
from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


@dataclass(frozen=True)
class MLPHalf:
    """Of all tokens of the image: what the MLP is given, what it has between its two layers, what it returns, and what
    leaves the block."""

    given: Float[Tensor, "token dim"]
    hidden: Float[Tensor, "token hidden"]
    made: Float[Tensor, "token dim"]
    leaving: Float[Tensor, "token dim"]


@dataclass(frozen=True)
class BlockParts:
    """The attention of a block (of a Swin in one window), and the MLP of the same tokens, `ids`."""

    attention: Parts
    stream: Stream
    mlp: MLPHalf
    ids: Tensor


def last_linear(mlp: nn.Module) -> str | None:
    """The name of the layer that reads the hidden neurons of an MLP; None where there is no other before it."""
    names = [name for name, part in mlp.named_modules() if isinstance(part, nn.Linear)]
    return names[-1] if len(names) > 1 else None


@torch.no_grad()
def mlp_half(loaded: Loaded, pixels: Tensor, attention: str) -> MLPHalf:
    """`attention`: the path of the attention layer inside the block."""
    block = attention.rpartition(".")[0]
    mlp = getattr(loaded.model.get_submodule(block), "mlp", None)
    last = None if mlp is None else last_linear(mlp)
    if last is None:
        raise NotApplicable(f"Layer {attention} of {loaded.name} stands in no block with an MLP after it.")
    seen: dict[str, tuple[Tensor, Tensor]] = {}

    def see(path: str, inputs: tuple, out: Any) -> None:
        seen[path] = inputs[0], out

    paths = (block, f"{block}.mlp", f"{block}.mlp.{last}")
    watched(loaded.model, paths, see)(pixels.to(loaded.device, loaded.dtype))
    (_, leaving), (given, made), (hidden, _) = (seen[path] for path in paths)
    return MLPHalf(*(precise(each.flatten(0, -2)).cpu() for each in (given, hidden, made, leaving)))


def block_parts(loaded: Loaded, pixels: Tensor, layer: int, *, window: int = 0) -> BlockParts:
    """The block around attention layer `layer`, from 0, for one image, (1, channel, height, width). NotApplicable for
    blocks in another order."""
    parts = attention_parts(loaded, pixels, layer, window=window)
    mlp = mlp_half(loaded, pixels, parts.name)
    stream, ids = parts.stream, parts.query_ids[parts.query_ids >= 0]
    if stream is None or parts.arriving is None or len(mlp.leaving) != len(parts.tokens):
        raise NotApplicable(f"The residual stream around layer {layer + 1} of {loaded.name} is not to be seen.")
    return BlockParts(parts, stream, MLPHalf(mlp.given[ids], mlp.hidden[ids], mlp.made[ids], mlp.leaving[ids]), ids)
