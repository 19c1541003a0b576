"""How the patches reach one token when all layers are multiplied, in several models side by side."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

import streamlit as st  # noqa: E402

from vizkit.ui.pages.rollout import page  # noqa: E402
from vizkit.ui.session import chosen  # noqa: E402

if chosen.sources():
    page.view(chosen.picture(), chosen.sources())
else:
    st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
