"""One head by eye, all heads compared and counted."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("attention")
