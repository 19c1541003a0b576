"""Train a model of your own, watch it learn, compare runs."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui import train  # noqa: E402

train.view()
