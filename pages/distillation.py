"""What a teacher knows beside its answer, and how a student learns it."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.pages.distillation import page  # noqa: E402
from vizkit.ui.session import chosen  # noqa: E402

page.view(chosen.picture(), chosen.sources())
