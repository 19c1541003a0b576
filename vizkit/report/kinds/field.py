"""What a unit in the middle of a feature map can see and what it uses, on the picture."""

from dataclasses import dataclass

import torch

from vizkit.analysis.convolution.field_size import MOST, side_holding
from vizkit.datasets import samples
from vizkit.figure.convolution.fields import on_image
from vizkit.figure.saved.panels import PanelsOf, Tile
from vizkit.models import Loaded, pixels_of
from vizkit.models.probes.convolution.effective_field import effective_fields
from vizkit.models.probes.convolution.receptive_field import walk
from vizkit.report.kinds.record import Drawn
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject

__all__ = ["Field"]


@dataclass(frozen=True)
class Field:
    """`stage`: which feature map, counted from 1. `samples`: the pictures of vizkit over which the effect is a mean;
    none, where it is that of the picture itself."""

    stage: int
    samples: tuple[str, ...] = ()

    def stem(self, loaded: Loaded) -> str:
        return f"receptive_field_stage{self.stage}"

    def drawn(self, inputs: Subject) -> Drawn:
        loaded = inputs.loaded
        if strange := set(self.samples) - set(samples.names()):
            raise NotApplicable(f"There is no sample {min(strange)[:60]!r}.")
        if len(self.samples) > len(samples.names()):
            raise NotApplicable(f"There are {len(samples.names())} samples, not {len(self.samples)}.")
        pictures = [samples.picture(name) for name in self.samples] or [inputs.rgb]
        with torch.enable_grad():
            fields = effective_fields(loaded, (pixels_of(loaded, picture) for picture in pictures))
        stages = walk(loaded).stages
        if not 1 <= self.stage <= min(len(fields), len(stages)):
            raise NotApplicable(f"{loaded.name} has {len(fields)} feature maps; there is no number {self.stage}.")
        field, seen = fields[self.stage - 1], stages[self.stage - 1]
        side = side_holding(field.share, field.centre_yx, MOST)
        (y, x), half = field.centre_yx, side / 2
        x0, y0, x1, y1 = map(float, seen.box(field.cell)) if seen is not None else (0.0,) * 4
        used = (x - half, y - half, x + half, y + half)
        drawn = on_image(inputs.rgb, field.share.numpy(), inputs.box_xyxy, (x0, y0, x1, y1) if seen else None, used)
        whole = "the whole image" if seen is None else f"{seen.rows.size} × {seen.columns.size} pixels (white frame)"
        over = f"a mean over {len(self.samples)} samples" if self.samples else "for this picture"
        lines = (
            f"It can see {whole}; {MOST:.0%} of the effect lies within {side:g} pixels (blue frame)",
            f"Colours: effect of every pixel, {over}",
        )
        title = f"Receptive field: the unit in the middle of feature map {self.stage} of {len(fields)}"
        return Drawn(title, lines, PanelsOf([Tile("", drawn)]), {"share": field.share.numpy()})
