"""Networks of our own, from their parts. Importing this registers them with timm, so that `timm.create_model` makes
them and opens their checkpoints.

Read `lenet` and `vit_from_parts` first, then `dual_scale` and `gradual_reduction`.
"""

from timm.models import list_models

from vizkit.models.networks import dual_scale, gradual_reduction, lenet, named_vits, pixel_mlp, vit_from_parts

__all__ = ["NAMES", "dual_scale", "gradual_reduction", "lenet", "named_vits", "pixel_mlp", "vit_from_parts"]

FILES = ("named_vits", "dual_scale", "gradual_reduction", "lenet", "pixel_mlp")
NAMES = tuple(name for file in FILES for name in list_models(module=file))
"""What `timm.create_model` calls them."""
