"""The image as a sequence of patches."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

import streamlit as st  # noqa: E402

from vizkit.ui.pages.patches import page  # noqa: E402
from vizkit.ui.session import chosen  # noqa: E402

if chosen.sources():
    page.view(chosen.picture(), chosen.sources())
else:
    st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
