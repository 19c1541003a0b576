"""The same images in several models: answers, maps, cost, and what they withstand."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("compare")
