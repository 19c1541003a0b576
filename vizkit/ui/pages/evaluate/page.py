"""The Evaluate page: models on a set of pictures, the results of papers, and accuracy against training-set size."""

from importlib import import_module

from vizkit.ui.session.shown import choose_view

VIEWS = {  # name → module of this folder, each with `view(sources)`; imported when it is opened
    "Your pictures": "data",
    "Published": "published",
    "Data size": "size",
}


def view(sources: list[str]) -> None:
    """`sources`: the models of the sidebar; there may be none, which a view that needs them says itself."""
    chosen = choose_view("evaluate_view", tuple(VIEWS))
    import_module(f"{__package__}.{VIEWS[chosen]}").view(sources)
