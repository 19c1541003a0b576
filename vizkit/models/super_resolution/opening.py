"""Networks that enlarge as our training writes them: those that ship with vizkit, and run folders."""

from dataclasses import dataclass
from pathlib import Path

import torch

from vizkit.models.networks.super_resolution.ttsr import NETWORKS, TTSR, build
from vizkit.models.sources.checkpoint import read_json
from vizkit.models.sources.loading import bundled_names
from vizkit.models.trained_folder import folder_of, licence_of, network_of

BUNDLED = Path(__file__).parents[2] / "bundled" / "super_resolution"


@dataclass(frozen=True, eq=False)
class Enlarger:
    """A network that enlarges four times. `uses_reference`: whether it takes texture from a second picture."""

    name: str
    model: TTSR
    licence: str

    @property
    def uses_reference(self) -> bool:
        return bool(self.model.sizes["reference"])

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def parameters(self) -> int:
        return sum(weights.numel() for weights in self.model.parameters())


def bundled_enlargers() -> list[str]:
    """Those that ship with vizkit."""
    return bundled_names(BUNDLED)


def open_enlarger(source: str | Path) -> Enlarger:
    """A network by "bundled:<name>" or by its run folder. Raises ModelError with one sentence for the user."""
    folder, title = folder_of(source, BUNDLED, " that enlarges")
    config = read_json(folder / "config.json", title)
    model = network_of(folder, title, config, NETWORKS, build, "network that enlarges")
    return Enlarger(title, model, licence_of(config))
