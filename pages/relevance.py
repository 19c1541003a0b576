"""Which pixels speak for a class, by every method that applies, and how far each map can be believed."""

from vizkit.ui.shell import ensure_shell

ensure_shell()

import streamlit as st  # noqa: E402

from vizkit.ui import inputs, relevance  # noqa: E402

if inputs.sources():
    relevance.view(inputs.picture(), inputs.sources())
else:
    st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
