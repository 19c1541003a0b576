"""The figures that were added to the report, in an order of one's own, with comments, as one page or as a folder."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("report")
