"""The image as a sequence of patches."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

import streamlit as st  # noqa: E402

from vizkit.ui import inputs, patches  # noqa: E402

if inputs.sources():
    patches.view(inputs.picture(), inputs.sources())
else:
    st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
