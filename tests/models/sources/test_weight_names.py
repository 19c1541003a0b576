"""Names of weights and the architectures that they are of, by hand; no weight is made."""

import pytest
import torch

from vizkit.models.sources import weight_names
from vizkit.models.sources.weight_names import from_monai, renamed


def state(*names):
    return {name: torch.empty(1, device="meta") for name in names}


@pytest.mark.parametrize(
    "given, ours",
    [
        (("module.model.head.weight", "module.model.cls_token"), ("head.weight", "cls_token")),
        (("head.weight", "cls_token", "model.n_averaged"), ("head.weight", "cls_token")),
        (
            ("n_averaged", "head.mlp.0.weight", "decoder.norm.weight", "decoder_pos_embed", "norm.weight", "cls_token"),
            ("norm.weight", "cls_token"),
        ),
        (
            ("vit.head.weight", "vit.blocks.0.norm1.weight", "vit.pos_embed"),
            ("head.weight", "blocks.0.norm1.weight", "pos_embed"),
        ),
        (("a.b.head.weight", "a.b.cls_token"), ("head.weight", "cls_token")),
        (
            ("blocks.0.0.norm1.weight", "blocks.1.12.norm1.weight", "cls_token"),
            ("blocks.0.norm1.weight", "blocks.12.norm1.weight", "cls_token"),
        ),
        (
            ("blocks.0.norm1.weight", "blocks.0.1.weight", "cls_token"),
            ("blocks.0.norm1.weight", "blocks.0.1.weight", "cls_token"),
        ),
        (("norm.weight", "bias"), ("norm.weight", "bias")),
        (("weight",), ("weight",)),
        (("head", "head.weight"), ("head", "head.weight")),
        ((), ()),
        (("n_averaged",), ()),
    ],
)
def test_names_without_their_wrappers(given, ours):
    weights = state(*given)
    found = renamed(weights)
    assert tuple(found) == ours
    wrapped = {id(value): name.split(".")[-2:] for name, value in weights.items()}
    assert all(wrapped[id(value)][-1] == name.split(".")[-1] for name, value in found.items())


def test_names_of_monai():
    found = from_monai(
        state(
            "patch_embedding.patch_embeddings.weight",
            "blocks.0.cross_attn.out_proj.weight",
            "patch_embedding.position_embeddings",
            "blocks.0.attn.out_proj.weight",
            "blocks.0.mlp.linear1.bias",
            "blocks.0.mlp.linear2.bias",
            "classification_head.0.weight",
        )
    )
    assert list(found) == [
        "patch_embed.proj.weight",
        "pos_embed",
        "blocks.0.attn.proj.weight",
        "blocks.0.mlp.fc1.bias",
        "blocks.0.mlp.fc2.bias",
        "head.weight",
    ]
    assert list(from_monai(state("classification_head.weight"))) == ["head.weight"]
    assert weight_names.MONAI in weight_names.FROM_MONAI
