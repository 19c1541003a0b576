"""The filters of the first layer, and the patches that channels of a later one answer to most."""

from dataclasses import dataclass

from vizkit.figure.convolution.patch_rows import patch_rows
from vizkit.figure.patches import filter_tiles
from vizkit.figure.saved.panels import PanelsOf, Tile
from vizkit.from_json import ReportError
from vizkit.models import Loaded
from vizkit.models.probes.convolution.first_layer import first_layer
from vizkit.models.probes.convolution.receptive_field import walk
from vizkit.models.probes.convolution.top_patches import patches
from vizkit.report.kinds.record import Drawn
from vizkit.scoring import top_patches
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject

__all__ = ["MOST_FILTERS", "Filters"]

MOST_FILTERS, MOST_IMAGES, ROWS = 64, 2000, 6


@dataclass(frozen=True)
class Filters:
    """`convolution`: which one of the pass, counted from 1; `channel` from 0, the first of those shown. `data`: a data
    set of vizkit, of whose test pictures `images` are looked at; "", where it is the picture itself."""

    convolution: int
    channel: int
    data: str = ""
    images: int = 1

    def stem(self, loaded: Loaded) -> str:
        return f"filters_convolution{self.convolution}_channel{self.channel + 1}_{self.data or 'picture'}"

    def drawn(self, inputs: Subject) -> Drawn:
        if self.data not in ("", "insects", "digits") or not 1 <= self.images <= MOST_IMAGES:
            raise ReportError(f"There are no {self.images} pictures of {self.data[:40]!r} to look at.")
        loaded = inputs.loaded
        layers = [layer for layer in walk(loaded).layers if layer.kind == "convolution"]
        if not 1 <= self.convolution <= len(layers):
            raise NotApplicable(f"{loaded.name} has {len(layers)} convolutions; there is no number {self.convolution}.")
        layer = layers[self.convolution - 1]
        answers = top_patches(loaded, layer.path, inputs.rgb, self.data, self.images)
        if not 0 <= self.channel < len(answers.values):
            raise NotApplicable(f"{layer.path[:60]} has {len(answers.values)} channels.")
        channels = range(self.channel, min(self.channel + ROWS, len(answers.values)))
        weight = first_layer(loaded).weight[:MOST_FILTERS].numpy()
        rows = f"Rows: channels {channels[0] + 1} to {channels[-1] + 1} of {layer.path[:60]}"
        over = f"{self.images} pictures of {self.data}" if self.data else "this picture"
        tiles = [
            Tile(f"Filters of the first layer, {weight.shape[2]} × {weight.shape[3]}", filter_tiles(weight, across=8)),
            Tile(f"Patches of {over}, the strongest at the left", patch_rows(patches(answers, channels, layer.seen))),
        ]
        return Drawn("Filters, and what channels answer to most", (rows,), PanelsOf(tiles),
                     {"filters": weight, "values": answers.values, "images": answers.images, "rows": answers.rows,
                      "columns": answers.columns})  # fmt: skip
