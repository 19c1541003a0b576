"""Which pixels a unit of a convolutional network can see at all: the formulas, along one axis of the image.

Araujo, Norris & Sim 2019, Computing Receptive Fields of Convolutional Neural Networks (Distill): a layer with kernel f,
stride s, padding p and dilation d makes of the field r, the jump j and the start t of the layer before

    r' = r + d (f − 1) j,    j' = j s,    t' = t − p j,

where at first r = j = 1 and t = 0. Exact for what *can* change a unit; how much each pixel does is another question,
that of the effective field (Luo et al. 2016).
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Reach:
    """Unit i of a layer sees `size` pixels, the first of them pixel `start + i · jump`; those below 0 or beyond the
    image are padding. Neighbours see pixels that lie `jump` apart. `beyond`: the first pixel at the right that no unit
    sees, because a stride on the way has left it over; None: all are seen."""

    size: int = 1
    jump: int = 1
    start: int = 0
    beyond: int | None = None

    def through(self, kernel: int, stride: int = 1, padding: int = 0, dilation: int = 1) -> "Reach":
        """That of a convolution or a pool above this layer."""
        size = self.size + dilation * (kernel - 1) * self.jump
        return replace(self, size=size, jump=self.jump * stride, start=self.start - padding * self.jump)

    def cut(self, first: int, step: int = 1) -> "Reach":
        """That of every `step`-th unit from unit `first` on; below 0 so many units of padding are put in front."""
        return replace(self, jump=self.jump * step, start=self.start + first * self.jump)

    def of(self, count: int, side: int) -> "Reach":
        """That of a map of so many units over an image of `side` pixels: what its last unit does not see, no unit of a
        later map does."""
        end = self.pixels(count - 1)[1]
        return replace(self, beyond=end) if end < side else self

    def beside(self, other: "Reach") -> "Reach":
        """That of a unit that reads both, as after a residual's sum: from the first pixel of either to the last. Both
        take equal steps; ValueError where they do not."""
        if self.jump != other.jump:
            raise ValueError(f"Units {self.jump} and {other.jump} pixels apart are no neighbours of one another.")
        start = min(self.start, other.start)
        size = max(self.start + self.size, other.start + other.size) - start
        beyond = None if None in (self.beyond, other.beyond) else max(self.beyond or 0, other.beyond or 0)
        return Reach(size, self.jump, start, beyond)

    def pixels(self, unit: int) -> tuple[int, int]:
        """(first pixel, the one after the last) of a unit, padding too."""
        start = self.start + unit * self.jump
        end = start + self.size
        return start, end if self.beyond is None else min(end, self.beyond)

    def centre(self, unit: int) -> float:
        """The middle of a unit's field in pixels; 0 is the image's edge, ½ the centre of the first pixel."""
        return self.start + unit * self.jump + self.size / 2
