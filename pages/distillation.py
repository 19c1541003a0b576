"""What a teacher knows beside its answer, and how a student learns it."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui import distillation, inputs  # noqa: E402

distillation.view(inputs.picture(), inputs.sources())
