"""See inside vision transformers: load a model, give it an image, look at what it really computes.

    loaded = vizkit.load("bundled:digits_vit")  # or vizkit.wrap(your_module)
    image = vizkit.open_image("photo.jpg")
    trace = vizkit.trace(loaded, image)  # in a notebook it shows itself
    trace.save_html("attention.html")
    vizkit.rollout(trace)  # (row, column): from which places anything reaches what the head reads
    vizkit.explain(loaded, image, "generic_relevance", target=3)  # a map with its words and its scale
    vizkit.show("rollout", loaded, image, depth=3).save("rollout.svg")  # any view of the app
    vizkit.data_set(loaded, "photos/").sentences  # shortcuts, suspects, a map of a labelled folder

Nothing heavy is imported until one of these names is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vizkit.settings import __version__ as __version__

if TYPE_CHECKING:
    from vizkit.analysis.attribution.rollout import rollout
    from vizkit.datasets.samples import open_image
    from vizkit.evaluation.data_set import data_set
    from vizkit.hosts.library import show
    from vizkit.models import load, wrap
    from vizkit.scoring import explain
    from vizkit.standalone import save_html, trace

__all__ = ["data_set", "explain", "load", "open_image", "rollout", "save_html", "show", "trace", "wrap"]

_HOME = {
    "load": "vizkit.models",
    "wrap": "vizkit.models",
    "open_image": "vizkit.datasets.samples",
    "trace": "vizkit.standalone",
    "save_html": "vizkit.standalone",
    "show": "vizkit.hosts.library",
    "rollout": "vizkit.analysis.attribution.rollout",
    "explain": "vizkit.scoring",
    "data_set": "vizkit.evaluation.data_set",
}


def __getattr__(name: str) -> Any:
    """Imports the module of a name of `__all__`, or a package, when it is first used."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in ("analysis", "models", "figure", "datasets", "views"):
        return import_module(f"vizkit.{name}")
    raise AttributeError(f"module 'vizkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    """With the names that come when they are used: for help() and for whoever completes them."""
    return sorted({*globals(), *__all__})
