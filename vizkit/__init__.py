"""See inside vision transformers: load a model, give it an image, look at what it really computes.

    loaded = vizkit.load("bundled:digits_vit")  # or vizkit.wrap(your_module)
    image = vizkit.open_image("photo.jpg")
    trace = vizkit.trace(loaded, image)

Nothing heavy is imported until one of these names is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vizkit.image import open_image
    from vizkit.models import load, trace, wrap

__version__ = "0.1.0"

__all__ = ["load", "open_image", "trace", "wrap"]

_HOME = {"load": "vizkit.models", "trace": "vizkit.models", "wrap": "vizkit.models", "open_image": "vizkit.image"}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in ("analysis", "models", "figure", "datasets"):
        return import_module(f"vizkit.{name}")
    raise AttributeError(f"module 'vizkit' has no attribute {name!r}")
