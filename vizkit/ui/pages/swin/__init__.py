"""Windows that shift and merge, step by step."""

from vizkit.ui.views import View

VIEWS = (
    View("Stages", "What a token and a window cover in every stage.", "stages", "swin"),
    View("Shift", "Roll, windows, mask, attention, roll back: one block step by step.", "shift", "swin"),
    View("Window", "What a token attends to in its window, with and without the relative bias.", "window", "swin"),
    View("Reach", "Which pixels can reach a token of the last stage, and how strongly.", "reach", "swin"),
    View("Merging", "How four tokens become one between two stages.", "merging", "swin"),
    View("Cost", "Global attention against windows: counted, and measured on this device.", "cost", "swin"),
    View("Beside a ViT", "The same image in a Swin and in a ViT.", "beside", "swin"),
    View("Switched off", "The same weights without the shift, or without the relative bias.", "changes", "swin"),
)
