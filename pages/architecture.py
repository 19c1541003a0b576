"""Whole networks as one figure, and two architectures with coarser tokens."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("architecture")
