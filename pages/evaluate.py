"""How good are models on a set of pictures, what papers report, and how much that owes to the number of pictures."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui import evaluate, inputs  # noqa: E402

evaluate.view(inputs.sources())
