"""How the patches reach one token when all layers are multiplied, in several models side by side."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("rollout")
