"""What can be loaded by name, and where its weights are."""

from dataclasses import dataclass
from typing import Literal

from vizkit.models import FAMILIES
from vizkit.models.families import names_of
from vizkit.models.sources.hub import cached


@dataclass(frozen=True)
class Entry:
    """A timm name with its tag, the family that will translate its recording, and where its weights are."""

    name: str
    family: str
    weights: Literal["on this machine", "published", "none"]


def catalogue(pattern: str) -> list[Entry]:
    """timm's models whose name, with or without the tag, fits a pattern such as "vit_tiny*"; without the network."""
    import timm

    own = [(name, family) for family in reversed(FAMILIES) for name in names_of(FAMILIES[family])]
    family_of = dict(own)  # reversed: where two families list a name, the first one keeps it
    return [
        Entry(name, family_of.get(name.partition(".")[0], "generic"), _weights_of(name))
        for name in timm.list_models(pattern, include_tags=True)
    ]


def _weights_of(name: str) -> Literal["on this machine", "published", "none"]:
    import timm

    config = timm.get_pretrained_cfg(name)
    if config is None or not config.has_weights:
        return "none"
    return "on this machine" if config.hf_hub_id and cached(config.hf_hub_id) else "published"
