"""What a teacher's probabilities contain, how a student learns it, and whether that helps."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Temperature",
        "An answer softened by the temperature, beside that of the teacher it was learned from.",
        "distillation.temperature:Temperature",
        "",
        answers=True,
        formerly=(
            Former(
                "Teacher and student",
                name="teacher-student",
                fields={"temperature": "temperature", "loss_temperature": "temperature", "share": "share"},
            ),
        ),
        name="temperature",
        page="distillation",
    ),
    Entry(
        "Two tokens",
        "What the class token and the distillation token of a DeiT predict.",
        "distillation.tokens:TwoTokens",
        "two tokens",
        fragment=False,
        answers=True,
        name="two-tokens",
        page="distillation",
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
                {"runs": "runs", "images": "images"},
                {"shows": "every network"},
            ),
            Former("", name="augmentation", settings={"shows": "the paper"}),
        ),
        name="teacher-gain",
        page="distillation",
    ),
)
