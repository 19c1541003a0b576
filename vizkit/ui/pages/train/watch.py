"""The view Watch: a run at work or at its end."""

from vizkit.ui.views import Page
from vizkit.ui.widgets import run_watch


def view(page: Page) -> None:
    del page  # it shows runs, not the chosen models
    run_watch.view()
