"""A trace as a page of its own: the app's canvas with layer and head, without a server and without a network.

trace = vizkit.trace(loaded, image)  # in a notebook the last line of a cell shows it
trace.save_html("attention.html")
vizkit.save_html("both.html", trace, another)  # two models under one cursor
"""

from vizkit.standalone.page import Card, fragment
from vizkit.standalone.pictured import PicturedTrace, save_html, trace

__all__ = ["Card", "PicturedTrace", "fragment", "save_html", "trace"]
