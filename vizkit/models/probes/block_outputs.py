"""What leaves every block of a model, for a batch of images: of any model, with nothing in it changed.

Hooks are put on a second model that shares all weights, so other threads see nothing of them.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.probes.flow import watched
from vizkit.models.recording.forward import run
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

Outputs = dict[str, Float[Tensor, "image feature"]]


def blocks_of(model: nn.Module) -> list[str]:
    """Names of the blocks: the numbered members of lists and sequences that have parts themselves and hold no other
    such member, as the bottlenecks of a ResNet and the blocks of a transformer."""
    numbered = [
        name
        for name, module in model.named_modules()
        if name.rpartition(".")[2].isdecimal() and [*module.children()] and [*module.parameters()]
    ]
    return [name for name in numbered if not any(other.startswith(f"{name}.") for other in numbered)]


def block_outputs(loaded: Loaded) -> Callable[[Float[Tensor, "image channel height width"]], Outputs]:
    """A function of a batch that gives what leaves each block by its name, in the order of the pass; of a model with
    fewer than two blocks what leaves its stages. Raises NotApplicable for models that have neither."""
    names = blocks_of(loaded.model)
    if len(names) < 2:
        return lambda pixels: _stages(loaded, pixels)
    heard: Outputs = {}

    def hear(name: str, _: tuple, out: object) -> None:
        tensor = out[0] if isinstance(out, tuple | list) else out
        if isinstance(tensor, Tensor):
            heard[name] = tensor.detach()

    model = watched(loaded.model, names, hear)

    @torch.no_grad()
    def outputs(pixels: Tensor) -> Outputs:
        heard.clear()
        model(pixels.to(loaded.device))
        return _flat(heard, len(pixels))

    return outputs


@torch.no_grad()
def _stages(loaded: Loaded, pixels: Tensor) -> Outputs:
    try:
        _, maps, _, _ = run(loaded.model, pixels.to(loaded.device), True)
    except (AttributeError, NotImplementedError, TypeError):
        maps = []
    if len(maps) < 2:
        raise NotApplicable(f"{loaded.name} has no blocks or stages whose features could be compared.")
    return _flat({f"stage {number}": values for number, values in enumerate(maps, 1)}, len(pixels))


def _flat(outputs: dict[str, Tensor], images: int) -> Outputs:
    """Windows of one image, and its places, side by side."""
    whole = {name: out for name, out in outputs.items() if out.dim() >= 2 and len(out) % images == 0}
    return {name: out.reshape(images, -1).cpu() for name, out in whole.items()}
