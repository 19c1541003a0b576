"""The address of what is shown: page, choices, cursor. Whoever opens it elsewhere sees the same."""

from urllib.parse import quote, urlencode

import streamlit as st


def link() -> str:
    """The full address of what is shown now, its parameters by name.

    The browser sends its address with every run, with the value of every bound widget that differs from its default.
    Without a browser only "?" and the parameters.
    """
    parameters = [(name, value) for name in sorted(st.query_params) for value in st.query_params.get_all(name)]
    query = urlencode(parameters, quote_via=quote, safe=":,/")
    return f"{st.context.url or ''}?{query}" if query else st.context.url or ""
