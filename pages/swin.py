"""Swin's windows: how they lie, shift, merge and cost."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

import streamlit as st  # noqa: E402

from vizkit.ui import inputs, swin  # noqa: E402

if inputs.sources():
    swin.view(inputs.picture(), inputs.sources())
else:
    st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
