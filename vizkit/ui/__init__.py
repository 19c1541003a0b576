"""The only Streamlit code of the library: shell, inputs, cached calls, pickers, export, reading help."""
