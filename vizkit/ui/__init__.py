"""The only Streamlit code of the library: shell, sidebar, session, widgets, pages, export, words."""
