"""What the vectors of patches know: colours of their main directions, the object, the same place in other images."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

from vizkit.ui.views import open_page  # noqa: E402

open_page("features")
