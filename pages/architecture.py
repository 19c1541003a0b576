"""The model as a flow of blocks, and architectures taken apart."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

import streamlit as st  # noqa: E402

from vizkit.ui.pages.architecture import page  # noqa: E402
from vizkit.ui.session import chosen  # noqa: E402

if chosen.sources():
    page.view(chosen.picture(), chosen.sources())
else:
    st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
