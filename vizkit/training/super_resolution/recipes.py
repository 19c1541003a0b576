"""Named recipes of networks that enlarge: those of the bundled models, so that each can be trained again. No torch."""

from vizkit.training.recipe import Recipe

_INSECTS = Recipe(
    epochs=6,
    images=800,
    batch=4,
    optimizer="adam",
    lr=1.5e-3,
    weight_decay=0.0,
    warmup_epochs=0.25,
    ema=0.99,
    precision="bf16",
    licence="mit",
)

ENLARGING: dict[str, tuple[str, Recipe]] = {
    "insects_ttsr": ("TTSR: enlarges drawn insects ×4 by a reference", _INSECTS.but({"model": "ttsr_small"})),
    "insects_sr": ("the same network without the reference", _INSECTS.but({"model": "sr_small"})),
}
