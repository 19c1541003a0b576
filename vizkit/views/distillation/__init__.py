"""What a teacher's probabilities contain, and how a student learns it."""

from vizkit.views.entry import Entry

VIEWS = (
    Entry(
        "Temperature",
        "One prediction, softened by the temperature.",
        "distillation.temperature:Temperature",
        "",
        answers=True,
        name="temperature",
        page="distillation",
    ),
    Entry(
        "Teacher and student",
        "The loss of a student whose predictions differ from its teacher's.",
        "distillation.pair:TeacherStudent",
        "classes",
        name="teacher-student",
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
        "The same student with no, a soft and a hard teacher.",
        "distillation.runs:DoesItHelp",
        "",
        fragment=False,
        reads="nothing",
        name="teacher-gain",
        page="distillation",
    ),
    Entry(
        "Augmentation",
        "What a recipe does to a picture before the model learns from it.",
        "distillation.augmentation:Augmentation",
        "",
        name="augmentation",
        page="distillation",
    ),
)
