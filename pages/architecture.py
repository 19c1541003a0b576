"""The model as a flow of blocks, and architectures taken apart."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("architecture")
