"""A set of labelled images as one model sees it: a map of it, suspects, shortcuts."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("data_set")
