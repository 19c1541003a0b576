"""What a teacher's probabilities contain, and how a student learns it."""

from vizkit.ui.views import View

VIEWS = (
    View("Does it help?", "The same student with no, a soft and a hard teacher.", "runs", "", fragment=False,
         reads="nothing"),
)  # fmt: skip
