"""What a teacher knows beside its answer, and how a student learns it."""

from vizkit.ui.views import View

VIEWS = (
    View("Temperature", "One answer softened more and more.", "temperature", ""),
    View("Teacher and student", "What a student pays for answering otherwise than its teacher.", "pair", ""),
    View(
        "Two tokens", "What the class token and the distillation token of a DeiT say.", "tokens", "two tokens",
        fragment=False, query="cls",
    ),
    View("Does it help?", "The same student with no, a soft and a hard teacher.", "runs", "", fragment=False),
    View("Augmentation", "What a recipe does to a picture before the model learns from it.", "augmentation", ""),
)  # fmt: skip
