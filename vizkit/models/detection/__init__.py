"""Models that find things: DETR from its parts, its matching and its losses, weights of transformers' models."""
