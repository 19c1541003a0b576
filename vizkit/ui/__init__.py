"""The only Streamlit code of the library: shell, sidebar, session, widgets, pages, words.

`shell` lists the pages; `views` is the one way a page is drawn: the chosen view, and a model that has what it needs
(`session.needs`). `host` draws any view of `vizkit.views`: `asking` its controls, `drawing` its blocks, `widgets.stage`
what a played field changes, which the browser turns by itself. `canvas` mounts every element with a script of its own
and is the one reader of what it tells; `reading` holds the words and the place of the help,
`plain` is the one way from a name in a file to Markdown. `shell.css` holds what Streamlit's theme cannot say.

What a view `reads` (a picture, models, both, nothing) is in its record; the sidebar offers that alone. A folder of
`pages` has what no record says yet. What two pages share is a widget.
"""
