"""A kernel that has walked over the picture: input, kernel and output beside one another."""

from dataclasses import dataclass

import numpy as np

from vizkit.analysis.convolution.walk import Walk, walked
from vizkit.figure.palette import SIGNED, colours
from vizkit.figure.saved.panels import PanelsOf, Tile
from vizkit.from_json import ReportError
from vizkit.models import Loaded
from vizkit.report.kinds.record import Drawn
from vizkit.views.subject import Subject

__all__ = ["Slid"]


@dataclass(frozen=True)
class Slid:
    """Of the picture alone: the numbers of the kernel are in the record."""

    walk: Walk

    def stem(self, loaded: Loaded | None) -> str:
        return self.walk.name

    def drawn(self, inputs: Subject) -> Drawn:
        walk, steps = self.walk, self.walk.steps
        try:
            made = walked(inputs.rgb, walk)
        except (ValueError, TypeError, RuntimeError):
            raise ReportError("This kernel cannot walk: its numbers are not as vizkit writes them.") from None
        output = made.output.numpy()
        kernel = np.zeros((1, steps.f, steps.f)) if walk.weights is None else walk.weights.numpy()
        white = walk.white
        ends = _signed(output) if white is None else np.repeat((output / white).clip(0, 1)[..., None] * 255, 3, 2)
        low, high = (f"{end:.4g}".replace("-", "−") for end in (output.min(), output.max()))
        words = f"stride {steps.stride} · padding {steps.padding} · dilation {steps.dilation}"
        colour = ": blue below 0, red above" if white is None else ""
        tiles = [Tile("Input", made.shades, 0.4), Tile("Output", ends.astype(np.uint8), 0.4)]
        if walk.weights is not None:
            tiles.insert(1, Tile("Kernel", np.concatenate([_signed(plane) for plane in kernel]), 0.2))
        return Drawn(
            f"A kernel walks: {walk.name[:60]}, {steps.f} × {steps.f}, over {walk.side_px} × {walk.side_px} pixels",
            (words, f"output {output.shape[0]} × {output.shape[1]}, {low} to {high}{colour}"),
            PanelsOf(tiles),
            {"input": made.image.numpy(), "kernel": kernel, "bias": np.array(walk.bias), "output": output},
        )


def _signed(values: np.ndarray) -> np.ndarray:
    share = values / (float(np.abs(values).max()) or 1.0)
    return colours(SIGNED)[((share + 1) / 2 * 255).round().astype(np.uint8)]
