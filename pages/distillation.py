"""What a teacher knows beside its answer, and how a student learns it."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("distillation")
