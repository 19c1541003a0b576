"""Named recipes of networks that find things: that of the bundled model, and its plain baseline. No torch."""

from vizkit.training.recipe import Recipe

__all__ = ["DETECTING"]

_SCENES = Recipe(
    data="scenes", images=12_000, model="detr_small", epochs=12, batch=16, lr=5e-4, weight_decay=1e-4,
    warmup_epochs=0.15, clip_norm=1.0, ema=0.999, precision="bf16", licence="mit",
)  # fmt: skip

DETECTING: dict[str, tuple[str, Recipe]] = {
    "detr-small": ("DETR with conditional queries in four groups: finds drawn insects in scenes", _SCENES),
    "detr-plain": (
        "the same with plain queries, as published",
        _SCENES.but({"model_args": {"conditional": False, "groups": 1, "dense": False}}),
    ),
}
