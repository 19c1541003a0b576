"""A Swin without its shift, or without its relative positions: what each of them is good for.

Both were taken out before training by Liu et al. 2021 (arXiv 2103.14030, table 4); here a trained model loses them.
"""

from dataclasses import replace

from vizkit.models.families import swin
from vizkit.models.probes.positions import without_bias
from vizkit.models.sources.loaded import Loaded, copy_with
from vizkit.traces import NotApplicable


def changed(loaded: Loaded, *, shift: bool = True, bias: bool = True) -> Loaded:
    """A second model; `loaded` is untouched.

    `shift=False`: no block rolls or masks, all windows lie as in the first. `bias=False`: relative positions add
    nothing to the scores (version 2: the same to all, which softmax ignores).

    All weights are shared, so it costs next to no memory. NotApplicable for models that are no Swin.
    """
    if not swin.matches(loaded.model):
        raise NotApplicable(f"{loaded.name} is not a Swin: it has no shift to switch off.")
    model = copy_with(loaded.model)
    for module in model.modules():
        if not shift and hasattr(module, "shift_size"):
            # timm keeps the shift as a tuple and the mask beside it; torchvision a list, and makes the mask anew.
            module.shift_size = type(module.shift_size)((0, 0))
            if getattr(module, "attn_mask", None) is not None:
                module.attn_mask = None
            if hasattr(module, "target_shift_size"):
                module.target_shift_size = (0, 0)
        if not bias:
            without_bias(module)
    without = [name for name, kept in (("shift", shift), ("bias", bias)) if not kept]
    name = f"{loaded.name} without {' and '.join(without)}" if without else loaded.name
    return replace(loaded, name=name, model=model, compared={})
