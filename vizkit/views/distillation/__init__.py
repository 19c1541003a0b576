"""What a teacher's probabilities contain, how a student learns it, and whether that helps."""

from vizkit.views.entry import Entry, Former, Only

__all__ = ["VIEWS"]

TYPED = "typed logits"
VIEWS = (
    Entry(
        "Teacher and student",
        "An answer softened by the temperature; that of a student beside its teacher's.",
        "distillation.temperature:Temperature",
        "",
        fragment=False,
        answers=True,
        formerly=(
            Former("Temperature"),
            Former("Two tokens", name="two-tokens", fields={"data": "data", "folder": "folder"}),
            Former(
                "",
                name="teacher-student",
                fields={"temperature": "temperature", "loss_temperature": "temperature", "share": "share"},
            ),
        ),
        name="temperature",
        first="bundled:insects_deit",
        only=Only("source", "logits_of", TYPED, TYPED, reads=False),
    ),
    Entry(
        "Does it help?",
        "How accurate a DeiT is with a teacher and without, and other networks, by the number of training images.",
        "distillation.teacher_gain:DoesItHelp",
        "",
        fragment=False,
        reads="nothing",
        formerly=(
            Former(
                "Data size",
                "evaluate",
                "data-size",
                {"runs": "runs"},
                {"shows": "every network"},
            ),
            Former("", name="augmentation", settings={"shows": "the paper"}),
        ),
        name="teacher-gain",
    ),
)
