"""The report of the session: its pictures in order, with comments, saved as one page or as a folder."""

from vizkit.ui.views import View

VIEWS = (View("Report", "The figures that you keep, in your order.", "pictures", needs="", reads="nothing"),)
