"""A package for each page: its views are listed in `__init__.py`, a file for each. They never import one another."""
