"""The address of what is shown."""

from urllib.parse import parse_qs, urlsplit

from streamlit.testing.v1 import AppTest


def page() -> None:
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
