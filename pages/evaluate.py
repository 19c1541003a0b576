"""How good are models on a set of images, what papers report, and how much that owes to the number of images."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("evaluate")
