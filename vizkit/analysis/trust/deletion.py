"""Deletion and insertion: does the model change its mind where the map says that it decided?

Petsiuk et al. 2018 (arXiv 1806.07421), § 4: cells are taken away, or put back, in the order of the map, and the class's
probability is followed. A good map makes it fall early (small area under deletion) and rise early (large area under
insertion). What stands in for a cell is a choice, and an image with holes is one that the model never saw: compare
maps with each other and with a random order, never the numbers of different models or fills.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.analysis.attribution.subject import Fill, Progress, Subject, cell_of_pixel, filled, on_cells
from vizkit.geometry import size_of
from vizkit.traces import Map


@dataclass(frozen=True)
class Curves:
    """Probability of the class, 0 to 1, after each step. `share`: of the cells taken away, or put back, 0 to 1."""

    share: Float[Tensor, " step"]
    deletion: Float[Tensor, " step"]
    insertion: Float[Tensor, " step"]

    @property
    def deletion_area(self) -> float:
        """0 to 1; smaller is better."""
        return area(self.deletion)

    @property
    def insertion_area(self) -> float:
        """0 to 1; larger is better."""
        return area(self.insertion)


def area(curve: Float[Tensor, " step"]) -> float:
    """(Σ s − (s₀ + s_n) / 2) / n: the trapezoidal rule on n equal steps."""
    return float((curve.sum() - (curve[0] + curve[-1]) / 2) / (len(curve) - 1))


def order_of(heat: Map, cells: tuple[int, int], seed: int = 0) -> Int[Tensor, " cell"]:
    """The cells from the highest value to the lowest; equal ones in a random order, not from the top left."""
    shuffled = torch.randperm(cells[0] * cells[1], generator=torch.Generator().manual_seed(seed))
    values = on_cells(heat.float(), cells).flatten()
    return shuffled[values[shuffled].argsort(descending=True, stable=True)]


def curves(
    subject: Subject,
    heats: Sequence[Map],
    cells: tuple[int, int],
    steps: int = 28,
    fill: Fill = "blur",
    progress: Progress | None = None,
) -> list[Curves]:
    """The two curves of each map, with `steps` steps of equally many cells; maps of any grid are laid on `cells`.

    Costs 2 · steps − 2 forward passes for each map and two for all, in batches of `subject.batch` across curves and
    maps. Fewer steps where there are fewer cells.
    """
    return _along(subject, [order_of(heat, cells) for heat in heats], cells, steps, fill, progress)


def ends_of(cells: tuple[int, int], steps: int) -> Int[Tensor, " step"]:
    """How many cells are gone after each of so many equal steps, from none to all; fewer steps of fewer cells."""
    count = cells[0] * cells[1]
    steps = max(1, min(steps, count))
    return torch.tensor([round(step * count / steps) for step in range(steps + 1)])


def random_orders(cells: tuple[int, int], count: int, seed: int = 0) -> list[Int[Tensor, " cell"]]:
    """As many orders of the cells, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(cells[0] * cells[1], generator=generator) for _ in range(count)]


def random_curves(
    subject: Subject,
    cells: tuple[int, int],
    orders: int = 4,
    steps: int = 28,
    fill: Fill = "blur",
    seed: int = 0,
    progress: Progress | None = None,
) -> Curves:
    """The mean over random orders: what a random map would get. It depends on nothing but the image."""
    by_order = _along(subject, random_orders(cells, orders, seed), cells, steps, fill, progress)
    mean = {
        name: torch.stack([getattr(curves, name) for curves in by_order]).mean(0) for name in ("deletion", "insertion")
    }
    return Curves(by_order[0].share, **mean)


@dataclass(frozen=True)
class Erased:
    """The class's probability, 0 to 1, or the likeness of an embedding: of the `whole` image, without the `share` of
    its cells that a map marks most, and without as many at `random`, the mean over orders."""

    share: float
    whole: float
    brightest: float
    random: float


def erased(
    subject: Subject,
    heat: Map,
    cells: tuple[int, int],
    share: float = 0.1,
    orders: int = 4,
    fill: Fill = "blur",
    progress: Progress | None = None,
) -> Erased:
    """One step of `curves` and of `random_curves`, at the price of `orders` + 2 forward passes."""
    count = cells[0] * cells[1]
    gone = max(1, round(share * count))
    first = torch.stack([order_of(heat, cells), *random_orders(cells, orders)])[:, :gone]
    there = torch.cat([torch.ones(1, count), torch.ones(len(first), count).scatter(1, first, 0.0)])
    whole, brightest, *random = torch.cat(list(_shares(subject, there, cells, fill, progress))).tolist()
    return Erased(gone / count, whole, brightest, fmean(random))


def _along(
    subject: Subject,
    orders: Sequence[Int[Tensor, " cell"]],
    cells: tuple[int, int],
    steps: int,
    fill: Fill,
    progress: Progress | None,
) -> list[Curves]:
    count, ends = cells[0] * cells[1], ends_of(cells, steps)
    rank = torch.stack([order.argsort() for order in orders])  # order cell → when it goes
    between = ends[1:-1]
    gone = rank[:, None] < between[:, None]  # order step cell
    # One stack of masks (of what is there) for both curves; the whole picture and the whole fill stand at its ends.
    there = torch.cat([torch.ones(1, count), torch.zeros(1, count), torch.stack([~gone, gone], 1).flatten(0, 2)])
    scores = torch.cat(list(_shares(subject, there, cells, fill, progress)))
    whole, empty = scores[:1], scores[1:2]
    result = []
    for both in scores[2:].unflatten(0, (len(orders), 2, len(between))):
        falling, rising = torch.cat([whole, both[0], empty]), torch.cat([empty, both[1], whole])
        result.append(Curves(ends / count, falling, rising))
    return result


def _shares(
    subject: Subject,
    there: Float[Tensor, "picture cell"],
    cells: tuple[int, int],
    fill: Fill,
    progress: Progress | None,
) -> Iterator[Float[Tensor, " picture"]]:
    """The class's probability for images of which only the cells in `there` are left, batch by batch."""
    pixels = subject.pixels
    index = cell_of_pixel(size_of(pixels), cells).to(pixels.device)
    ground = filled(pixels, fill)
    change = pixels - ground
    there = there.to(pixels)
    for first in range(0, len(there), subject.batch):
        mask = there[first : first + subject.batch, index][:, None]
        yield subject.share(torch.addcmul(ground, change, mask)).cpu()
        if progress:
            progress(min(first + subject.batch, len(there)), len(there))
