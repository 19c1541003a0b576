"""Swin: windows that shift and merge."""

from vizkit.views.entry import Entry

VIEWS = (
    Entry(
        "Stages",
        "What a token and a window cover in every stage.",
        "swin.stages:Stages",
        "swin",
        name="swin-stages",
        page="swin",
    ),
    Entry(
        "Shift",
        "Roll, windows, mask, attention, roll back: one block step by step.",
        "swin.shift:Shift",
        "swin",
        name="shifted-windows",
        page="swin",
    ),
    Entry(
        "Window",
        "What a token attends to in its window, with and without the relative bias.",
        "swin.window:Window",
        "swin",
        name="window-attention",
        page="swin",
    ),
    Entry(
        "Reach",
        "Which pixels can reach a token of the last stage, and how strongly.",
        "swin.reach:Reach",
        "swin",
        name="swin-reach",
        page="swin",
    ),
    Entry(
        "Merging",
        "How four tokens become one between two stages.",
        "swin.merging:Merging",
        "swin",
        name="patch-merging",
        page="swin",
    ),
    Entry(
        "Cost",
        "Global attention against windows: counted, and measured on this device.",
        "swin.cost:Cost",
        "swin",
        reads="models",
        name="window-cost",
        page="swin",
    ),
    Entry(
        "Beside a ViT",
        "The same image in a Swin and in a ViT.",
        "swin.beside:Beside",
        "swin",
        beside="vit",
        answers=True,
        name="beside-a-vit",
        page="swin",
    ),
    Entry(
        "Switched off",
        "The same weights without the shift, or without the relative bias.",
        "swin.switched_off:SwitchedOff",
        "swin",
        answers=True,
        name="swin-switched-off",
        page="swin",
    ),
)
