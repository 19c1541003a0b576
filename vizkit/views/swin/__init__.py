"""Swin: windows that shift and merge."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Shift",
        "Roll, windows, mask, attention, roll back: one block step by step.",
        "swin.shift:Shift",
        "swin",
        name="shifted-windows",
    ),
    Entry(
        "Stages",
        "What a token and a window cover in every stage, and what windows save as the image grows.",
        "swin.stages:Stages",
        "swin",
        formerly=(
            Former("Cost", name="window-cost", fields={"times": "times"}),
            Former("Beside a ViT", name="beside-a-vit"),
        ),
        name="swin-stages",
    ),
    Entry(
        "Window",
        "What a token attends to in its window, with and without the relative bias, and the table of that bias.",
        "swin.window:Window",
        "swin",
        formerly=(
            Former(
                "Relative",
                "positions",
                "relative-positions",
                {"layer": "block", "bias_layer": "block", "head": "head", "rope_head": "head"},
                {"part": "table of the bias"},
            ),
        ),
        name="window-attention",
    ),
    Entry(
        "Merging",
        "How four tokens become one between two stages.",
        "swin.merging:Merging",
        "swin",
        name="patch-merging",
    ),
    Entry(
        "Switched off",
        "The same weights without the shift, or without the relative bias.",
        "swin.switched_off:SwitchedOff",
        "swin",
        answers=True,
        name="swin-switched-off",
    ),
)
