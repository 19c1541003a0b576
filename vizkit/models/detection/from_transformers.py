"""Weights of transformers' DETR (`facebook/detr-resnet-50` and the like) in ours, so that every step can be read."""

import re
from typing import Any

from torch import Tensor, nn

from vizkit.models.networks.detr import DETR

NAMES = (
    (r"^model\.query_position_embeddings", "queries"),
    (r"^model\.input_projection", "project"),
    (r"^model\.decoder\.layernorm", "norm"),
    (r"^class_labels_classifier", "classes"),
    (r"^bbox_predictor", "box"),
    (r"^model\.(encoder|decoder)\.layers", r"\1"),
    (r"\.self_attn_layer_norm", ".norm1"),
    (r"\.encoder_attn_layer_norm", ".norm2"),
    (r"\.self_attn\.", ".attn."),
    (r"\.encoder_attn\.", ".cross."),
    (r"\.(q|k|v)_proj", lambda match: {"q": ".query", "k": ".key", "v": ".value"}[match[1]]),
    (r"\.o(ut)?_proj", ".out"),
    (r"(\.mlp)?\.fc1", ".ffn.first"),
    (r"(\.mlp)?\.fc2", ".ffn.second"),
    (r"^(encoder\.\d+)\.final_layer_norm", r"\1.norm2"),
    (r"^(decoder\.\d+)\.final_layer_norm", r"\1.norm3"),
)
BACKBONE = "model.backbone."


class Backbone(nn.Module):
    """The library's own, giving its last map."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward_features(self, pixels: Tensor) -> Tensor:
        maps = self.encoder.model(pixels)
        return (maps.feature_maps if hasattr(maps, "feature_maps") else maps)[-1]


def from_transformers(model: Any) -> DETR:
    """Ours with the weights of a `DetrForObjectDetection`; the backbone is the library's module itself. ValueError for
    one whose positions are learned or whose layers are normalised before each part."""
    config = model.config
    if config.position_embedding_type != "sine":
        raise ValueError("The positions of this DETR are learned; those that are computed can be read.")
    backbone = Backbone(model.model.backbone)
    channels = model.model.input_projection.in_channels
    made = DETR(
        backbone,
        channels,
        config.num_labels,
        dim=config.d_model,
        heads=config.encoder_attention_heads,
        hidden=config.encoder_ffn_dim,
        encoder_depth=config.encoder_layers,
        decoder_depth=config.decoder_layers,
        queries=config.num_queries,
    )
    weights = {_ours(name): tensor for name, tensor in model.state_dict().items() if not name.startswith(BACKBONE)}
    missing = made.load_state_dict(weights, strict=False)
    if missing.unexpected_keys or any(not name.startswith("backbone.") for name in missing.missing_keys):
        raise ValueError("The weights of this DETR have other names than its authors gave them.")
    return made.to(next(model.parameters()).device).train(model.training)


def _ours(name: str) -> str:
    for pattern, new in NAMES:
        name = re.sub(pattern, new, name)
    return name
