"""Which pixels speak for a class, by every method that applies, and how far each map can be believed."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("relevance")
