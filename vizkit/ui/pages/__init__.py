"""A package for each page: `page.py` is its body, a file for each view. They never import one another."""
