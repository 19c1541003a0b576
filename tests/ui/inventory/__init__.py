"""The inventory: what every view shows, offers and saves, recorded in a text file per page beside this one.

`facts.py` turns a drawn page into lines, `walk.py` draws a view at its defaults, at the options of its controls, with
other models and after its work, `record.py` keeps the lines. A section of a control says only what differs from the
defaults.

    python -m tests.ui.inventory               record all again, with all options (minutes)
    python -m tests.ui.inventory -k swin       of one page, or of one view
    pytest tests/ui/inventory                  compare all options, and the defaults (test_every_view.py)
"""
