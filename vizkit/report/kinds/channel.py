"""One channel of one convolution: where its pattern is in the image."""

from dataclasses import dataclass
from typing import Literal

from vizkit.figure.saved.single import MapOf
from vizkit.models import Loaded, pixels_of
from vizkit.models.probes.convolution.layers_seen import seen
from vizkit.report.kinds.record import Drawn
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject

__all__ = ["Channel"]


@dataclass(frozen=True)
class Channel:
    """`convolution`: which one of the pass, counted from 1; `channel` from 0; `after`: the convolution itself, or the
    norm or the activation that follows at once."""

    convolution: int
    channel: int
    after: Literal["convolution", "norm", "activation"] = "convolution"

    def stem(self, loaded: Loaded) -> str:
        return f"convolution{self.convolution}_channel{self.channel + 1}_{self.after}"

    def drawn(self, inputs: Subject) -> Drawn:
        loaded = inputs.loaded
        pixels = pixels_of(loaded, inputs.rgb)
        listed = seen(loaded, pixels, max(self.convolution, 1) - 1).convolved
        if not 1 <= self.convolution <= len(listed):
            raise NotApplicable(f"{loaded.name} has {len(listed)} convolutions; there is no number {self.convolution}.")
        layer = listed[self.convolution - 1]
        maps = layer.after.get(self.after)
        if maps is None or not 0 <= self.channel < len(maps):
            raise NotApplicable(
                f"{layer.path[:60]} has {layer.shape[0]} channels, after its {' and '.join(layer.stages)}; "
                f"there is no channel {self.channel + 1} after the {self.after}."
            )
        places = maps[self.channel].cpu().numpy()
        signed = bool(places.min() < 0)
        what = "output of the channel at each place" + ("; red above 0, blue below" if signed else "")
        return Drawn(
            f"Feature map: channel {self.channel + 1} of {len(maps)} after the {self.after}",
            (f"Layer {layer.path[:60]}, convolution {self.convolution} of {len(listed)}",),
            MapOf(places, 0.0, float(abs(places).max()), what, unit="", signed=signed),
            {"places": places},
        )
