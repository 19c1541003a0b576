"""Courses: predict on an image, then see what the model in front of you does."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("lessons")
