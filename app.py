"""vizkit in the browser: `streamlit run app.py`. Shell, sidebar, then the page.

Streamlit finds an `app` here and serves that; each visit of a page runs this file as `__main__`.
"""

import streamlit as st

if __name__ != "__main__":
    from streamlit.starlette import App

    from vizkit.ui.session.allowed import OwnNames

    app = App(__file__)
    app = OwnNames(app)
else:
    from vizkit.ui.session.warmup import warm_up

    if st.query_params:  # before the rest is imported: every tenth of a second counts until the first picture
        warm_up()

    from vizkit.ui.session import linked_picture
    from vizkit.ui.session.chosen import renew_address
    from vizkit.ui.shell import ICON, heading, lead_on, navigation, running, stem_of
    from vizkit.ui.sidebar.inputs import sidebar
    from vizkit.ui.views import compares, lead_to_what_replaces, read_at_all, read_now
    from vizkit.ui.widgets import copy_link, report_kept

    with running():
        page = navigation()
        lead_to_what_replaces(stem_of(page))
        renew_address()
        st.set_page_config(page_title=f"{page.title} · vizkit", page_icon=ICON, layout="wide")
        reads = read_now(stem_of(page))
        row = heading(page.title, read_at_all(stem_of(page)))
        with st.sidebar:
            sidebar(reads, compares(stem_of(page)))
            if stem_of(page) != "report":  # which has its own
                report_kept.remember("report_kept")
        with row:
            copy_link.button(linked_picture.left_behind())
        page.run()
        lead_on(stem_of(page))
