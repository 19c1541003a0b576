"""Networks of our own, from their parts. Importing this registers them with timm, so that `timm.create_model` makes
them and opens their checkpoints.

Read `vit_from_parts` first, then `dual_scale` and `gradual_reduction`.
"""

from timm.models import list_models

from vizkit.models.networks import dual_scale, gradual_reduction, named_vits, vit_from_parts

__all__ = ["NAMES", "dual_scale", "gradual_reduction", "named_vits", "vit_from_parts"]

NAMES = tuple(name for file in ("named_vits", "dual_scale", "gradual_reduction") for name in list_models(module=file))
"""What `timm.create_model` calls them."""
