"""Names of weights as training programs write them, made those that timm, or its own translation, knows."""

import re
from collections.abc import Mapping

from torch import Tensor

# Of DistributedDataParallel, torch.compile, Lightning and people's own wrappers.
PREFIXES = re.compile(r"^(module\.|model\.|_orig_mod\.|net\.|network\.|backbone\.|student\.|teacher\.)+")
# What stands beside the model in a training file: projections of DINO and iBOT, decoders of MAE, counts of averaging.
BESIDE = re.compile(r"^(head\.(mlp|last_layer)|dino_head|ibot_head|decoder_|decoder\.|n_averaged$|criterion\.|loss\.)")
CHUNK = re.compile(r"^blocks\.\d+\.(\d+)\.")  # DINOv2 trains its blocks in chunks, and numbers them through

MONAI = "patch_embedding.position_embeddings"  # which tells its files from others
FROM_MONAI = {
    "patch_embedding.patch_embeddings.": "patch_embed.proj.",
    "patch_embedding.position_embeddings": "pos_embed",
    "classification_head.0.": "head.",
    "classification_head.": "head.",
    ".attn.out_proj.": ".attn.proj.",
    ".mlp.linear1.": ".mlp.fc1.",
    ".mlp.linear2.": ".mlp.fc2.",
}


def renamed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights without the prefixes of their wrappers, and without what only the training needed."""
    names = {name: PREFIXES.sub("", name) for name in state}
    weights = {new: state[old] for old, new in names.items() if not BESIDE.match(new)}
    while len(first := {name.partition(".")[0] for name in weights}) == 1 and not _has_bare_names(weights):
        weights = {name.removeprefix(f"{next(iter(first))}."): value for name, value in weights.items()}
    blocks = [name for name in weights if name.startswith("blocks.")]
    if all(CHUNK.match(name) for name in blocks):
        weights = {CHUNK.sub(r"blocks.\1.", name): value for name, value in weights.items()}
    return weights


def _has_bare_names(weights: Mapping[str, Tensor]) -> bool:
    return any("." not in name for name in weights)


def from_monai(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """MONAI's ViT (`monai.networks.nets.ViT`) in timm's names. Its cross attention is there but never runs."""
    found = {}
    for name, value in weights.items():
        if "cross_attn" in name:
            continue
        for theirs, ours in FROM_MONAI.items():
            name = name.replace(theirs, ours)
        found[name] = value
    return found
