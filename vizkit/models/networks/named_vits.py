"""The ViT from its parts in the usual sizes, registered with timm, and timm's own weights in our names for them.

Ours keeps W_Q, W_K and W_V apart; timm stacks them in one matrix, `qkv`. All else is the same under another name.
Patches have 16 pixels, those of the huge one 14: 5.7, 22, 86, 304 and 632 million parameters.
"""

import re
from collections.abc import Mapping
from typing import Any

from timm.layers import resample_abs_pos_embed
from timm.models import generate_default_cfgs
from torch import Tensor, nn

from vizkit.models.networks.sizes import config, register
from vizkit.models.networks.vit_from_parts import ViT

OTHER_NAMES = {"attn.proj": "attn.out", "mlp.fc1": "mlp.first", "mlp.fc2": "mlp.second"}
OTHER_NAMES |= {"ls1.gamma": "scale1", "ls2.gamma": "scale2"}
_OF_BLOCK = re.compile(r"^blocks\.\d+\.")
_NAME = re.compile("|".join(re.escape(name) for name in OTHER_NAMES))


def from_timm(state: Mapping[str, Tensor], model: nn.Module | None = None) -> dict[str, Tensor]:
    """The weights of a timm ViT as ours; our own pass unchanged. ValueError where timm's ViT has parts that ours lacks
    (registers, a gated MLP, a normalisation before the blocks or after the pooling).
    """
    weights: dict[str, Tensor] = {}
    for name, value in state.items():
        if ".attn.qkv." in name:
            kinds = zip(("query", "key", "value"), value.chunk(3), strict=True)
            weights |= {name.replace("qkv", kind): part for kind, part in kinds}
        else:
            weights[_NAME.sub(lambda match: OTHER_NAMES[match[0]], name)] = value
    if model is not None:
        strange = sorted(weights.keys() - model.state_dict().keys())
        if strange:
            parts = dict.fromkeys(_OF_BLOCK.sub("", name).rpartition(".")[0] or name for name in strange)
            raise ValueError(f"a ViT from parts has no {', '.join(parts)}; this timm model is built differently")
        _resample(weights, model)
    return weights


def _resample(state: dict[str, Tensor], model: Any) -> None:
    """Positions learned on another grid, stretched to the model's as timm does: bicubic, antialiased."""
    table, own = state.get("pos_embed"), getattr(model, "pos_embed", None)
    if table is not None and own is not None and table.shape != own.shape:
        grid, special = model.patch_embed.grid_size, model.num_prefix_tokens
        state["pos_embed"] = resample_abs_pos_embed(table, new_size=grid, num_prefix_tokens=special)


# ImageNet-21k, then ImageNet-1k (Steiner et al. 2021, arXiv 2106.10270); the huge one knows 21,843 classes only.
default_cfgs = generate_default_cfgs(
    {
        "vit_parts_tiny.augreg_in21k_ft_in1k": config(hf_hub_id="timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k"),
        "vit_parts_small.augreg_in21k_ft_in1k": config(hf_hub_id="timm/vit_small_patch16_224.augreg_in21k_ft_in1k"),
        "vit_parts_base.augreg2_in21k_ft_in1k": config(hf_hub_id="timm/vit_base_patch16_224.augreg2_in21k_ft_in1k"),
        "vit_parts_large.augreg_in21k_ft_in1k": config(hf_hub_id="timm/vit_large_patch16_224.augreg_in21k_ft_in1k"),
        "vit_parts_huge": config(),
    }
)
register(ViT, default_cfgs, __name__, pretrained_filter_fn=from_timm)
