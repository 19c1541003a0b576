"""The Evaluate page: models on a set of pictures, the results of papers, and accuracy against training-set size."""

from importlib import import_module

from vizkit.ui.shown import choose_view

VIEWS = {  # name → module of this folder, each with `view(sources)`; imported when it is opened
    "Your pictures": "evaluate_data",
    "Published": "evaluate_published",
    "Data size": "evaluate_size",
}


def view(sources: list[str]) -> None:
    """`sources`: the models of the sidebar; there may be none, which a view that needs them says itself."""
    chosen = choose_view("evaluate_view", tuple(VIEWS))
    import_module(f"vizkit.ui.{VIEWS[chosen]}").view(sources)
