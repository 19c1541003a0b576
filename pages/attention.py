"""One head by eye, all heads compared and counted."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

import streamlit as st  # noqa: E402

from vizkit.ui import attention, inputs  # noqa: E402

if inputs.sources():
    attention.view(inputs.picture(), inputs.sources())
else:
    st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
