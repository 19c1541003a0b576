"""What a saved picture shows, as a record: the one way to draw it, to keep it in a report, and to make it again.

`item` is the record, `making` its files, `document` a report as a page and a folder, `replay` the same again.
"""
