"""How good are models on a set of pictures, what papers report, and how much that owes to the number of pictures."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.pages.evaluate import page  # noqa: E402
from vizkit.ui.session import chosen  # noqa: E402

page.view(chosen.sources())
