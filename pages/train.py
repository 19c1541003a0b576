"""Train a model of your own, watch it learn, compare runs."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.pages.train import page  # noqa: E402

page.view()
