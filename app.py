"""vizkit in the browser: `streamlit run app.py`. Shell, sidebar, then the page."""

import streamlit as st

from vizkit.ui.session.warmup import warm_up

warm_up()  # before the rest is imported: every tenth of a second counts until the first picture

from vizkit.ui.shell import ICON, help_of, navigation, running  # noqa: E402
from vizkit.ui.sidebar.inputs import sidebar  # noqa: E402
from vizkit.ui.widgets import copy_link  # noqa: E402

with running():
    page = navigation()
    st.set_page_config(page_title=f"{page.title} · vizkit", page_icon=ICON, layout="wide")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(page.title, width="content")
        copy_link.button()
    st.caption(help_of(page.title))
    with st.sidebar:
        sidebar()
    page.run()
