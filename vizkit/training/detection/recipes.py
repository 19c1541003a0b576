"""Named recipes of networks that find things: that of the bundled model, its plain baseline, its masks. No torch."""

from vizkit.training.recipe import Recipe

_SCENES = Recipe(
    data="scenes",
    images=12_000,
    model="detr_small",
    epochs=12,
    batch=16,
    lr=5e-4,
    weight_decay=1e-4,
    warmup_epochs=0.15,
    clip_norm=1.0,
    ema=0.999,
    precision="bf16",
    licence="mit",
)

DETECTING: dict[str, tuple[str, Recipe]] = {
    "detr-small": ("DETR with conditional queries in four groups: finds drawn insects in scenes", _SCENES),
    "detr-plain": (
        "the same with plain queries, as published",
        _SCENES.but({"model_args": {"conditional": False, "groups": 1, "dense": False}}),
    ),
    "detr-masks": (
        "a mask head behind the bundled DETR: which pixels belong to which insect",
        Recipe(
            data="scenes",
            images=2_000,
            model="detr_masks",
            model_args={"of": "bundled:scenes_detr"},
            epochs=10,
            batch=16,
            lr=4e-3,
            weight_decay=1e-4,
            warmup_epochs=0.1,
            clip_norm=1.0,
            licence="mit",
        ),
    ),
}
