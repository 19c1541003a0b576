"""The address of what is shown."""

from urllib.parse import parse_qs, urlsplit

from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from vizkit.ui.session.address import link

    st.text(link())


def test_a_link_has_the_page_and_every_parameter_by_name():
    test = AppTest.from_function(page)
    assert test.run().text[0].value == ""
    test.query_params |= {"models": ["bundled:a", "run:b & c"], "image": "digit 3", "at": "0.1,0.2"}
    assert test.run().text[0].value == "?at=0.1,0.2&image=digit%203&models=bundled:a&models=run:b%20%26%20c"
    test.context["url"] = "https://somewhere.test/lab/explore"
    link = test.run().text[0].value
    assert link.startswith("explore?")
    assert parse_qs(urlsplit(link).query)["models"] == ["bundled:a", "run:b & c"]


def test_a_fragment_stays_where_it_is_drawn_whatever_is_sent_with_its_run():
    """AppTest runs no fragment alone: what one does is called here, as after a run in which no widget was drawn."""
    test = AppTest.from_function(staying).run()
    assert test.markdown[0].value == "Watch, Start"


def staying():
    import streamlit as st

    from vizkit.ui.session.address import stay

    st.session_state["view"] = st.session_state["other"] = "Start"
    stay("view", "Watch")
    stay("absent", "Watch")
    assert "absent" not in st.session_state
    st.markdown(f"{st.session_state['view']}, {st.session_state['other']}")
