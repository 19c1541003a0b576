"""Methods that run the model again on changed inputs, through Captum; the only file that imports it.

Integrated gradients: Sundararajan et al. 2017 (arXiv 1703.01365). SmoothGrad: Smilkov et al. 2017 (arXiv 1706.03825).
GradientShap: Lundberg & Lee 2017 (arXiv 1705.07874), as Captum draws it. Occlusion: Zeiler & Fergus 2014 (arXiv
1311.2901). Patch ablation: the same, one patch at a time. Infidelity and sensitivity: Yeh et al. 2019 (arXiv
1901.09392). Captum: Kokhlikyan et al. 2020 (arXiv 2009.07896).

Gradients are summed over the colour channels and stay at the resolution of the pixels; what is taken away is taken away
in whole cells, and so is the map. All of them explain `Subject.score`, hence a difference of two classes exactly.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attribution.subject import Fill, Progress, Subject, cell_of_pixel, filled, on_cells
from vizkit.geometry import size_of
from vizkit.percent import in_percent
from vizkit.traces import Map

COMPLETE = 0.02
"""Integrated gradients are given more steps until they miss the difference of the scores by less than this share …"""
MOST_STEPS = 512
"""… or until there are so many steps."""


@dataclass(frozen=True)
class Integrated:
    """Integrated gradients: `error` is |Σ heat − (score of the image − score of the fill)| over that difference."""

    heat: Float[Tensor, "height width"]
    error: float
    steps: int


def integrated_gradients(
    subject: Subject, fill: Fill = "mean", steps: int = 16, progress: Progress | None = None
) -> Integrated:
    """Signed, in logits: all pixels together give the score of the image less that of `fill`.

    Gauss–Legendre, in batches; the steps are doubled until the sum is right to 2 % (`COMPLETE`) or there are 512.
    """
    from captum.attr import IntegratedGradients

    start = filled(subject.pixels, fill)
    with torch.no_grad():
        whole = float(subject.score(subject.pixels) - subject.score(start))
    while True:
        score = _counted(subject, steps, progress)
        attributions = IntegratedGradients(score).attribute(
            subject.pixels, start, n_steps=steps, internal_batch_size=subject.batch
        )
        heat = attributions[0].detach().sum(0).float()
        error = abs(float(heat.sum()) - whole) / max(abs(whole), 1e-6)
        if error <= COMPLETE or 2 * steps > MOST_STEPS:
            return Integrated(heat.cpu(), error, steps)
        steps *= 2


def told_integrated_gradients(
    subject: Subject, fill: Fill = "mean", progress: Progress | None = None
) -> tuple[Float[Tensor, "height width"], str]:
    """The same map, with a sentence on what its sum misses."""
    integrated = integrated_gradients(subject, fill, progress=progress)
    note = (
        f"The sum misses the difference of the scores by {in_percent(integrated.error)}, with {integrated.steps} steps."
    )
    if integrated.error > COMPLETE:
        note += f" That is more than {in_percent(COMPLETE)}: the scores jump on the way, so read the map with care."
    return integrated.heat, note


def input_times_gradient(subject: Subject) -> Float[Tensor, "height width"]:
    """Signed: the first-order share of every pixel in the score; Shrikumar et al. 2016 (arXiv 1605.01713)."""
    pixels = _graph_leaf(subject)
    (gradient,) = torch.autograd.grad(subject.score(pixels).sum(), pixels)
    return (gradient * pixels.detach())[0].sum(0)


def smooth_grad(
    subject: Subject, samples: int = 32, noise: float = 0.15, seed: int = 0, progress: Progress | None = None
) -> Float[Tensor, "height width"]:
    """≥ 0, in logits per unit of the input: the mean gradient over noisy copies, its absolute value over channels.

    Captum's NoiseTunnel over Saliency with signed gradients, so that the noise of single gradients cancels before the
    absolute value is taken. `noise`: standard deviation as a share of the range of the input's values.
    """
    from captum.attr import NoiseTunnel, Saliency

    method = NoiseTunnel(Saliency(_counted(subject, samples, progress)))
    options = {"nt_samples_batch_size": subject.batch, "abs": False}
    with _seeded(seed):
        attributions = method.attribute(
            _graph_leaf(subject), nt_samples=samples, stdevs=noise * _spread(subject.pixels), **options
        )
    assert isinstance(attributions, Tensor)
    return attributions[0].detach().abs().sum(0).float().cpu()


def gradient_shap(
    subject: Subject, samples: int = 32, noise: float = 0.05, seed: int = 0, progress: Progress | None = None
) -> Float[Tensor, "height width"]:
    """Signed, in logits: gradient times (image − start) at random points between the two, the mean over them.

    Starts are the image blurred and its mean colour, by chance; the image gets noise, `noise` as for `smooth_grad`.
    """
    from captum.attr import GradientShap

    starts = torch.cat([filled(subject.pixels, "blur"), filled(subject.pixels, "mean")])
    method = GradientShap(_counted(subject, samples, progress))
    total = torch.zeros_like(subject.pixels[0])
    with _seeded(seed):
        for first in range(0, samples, subject.batch):
            count = min(subject.batch, samples - first)
            attributions = method.attribute(
                _graph_leaf(subject), starts, n_samples=count, stdevs=noise * _spread(subject.pixels)
            )
            total += attributions[0].detach() * count / samples
    return total.sum(0).float().cpu()


def occlusion(
    subject: Subject, cells: tuple[int, int], window: int = 2, fill: Fill = "mean", progress: Progress | None = None
) -> Map:
    """Signed, in logits: by how much the score falls when `window` × `window` cells are covered, moved cell by cell.

    Every cell gets the mean over the windows that cover it.
    """
    from captum.attr import Occlusion

    height, width = subject.pixels.shape[-2:]
    step = (-(-height // cells[0]), -(-width // cells[1]))
    shape = (min(window * step[0], height), min(window * step[1], width))
    places = [1 + -(-(size - extent) // by) for size, extent, by in zip((height, width), shape, step, strict=True)]
    with torch.no_grad():
        attributions = Occlusion(_counted(subject, places[0] * places[1] + 1, progress)).attribute(
            subject.pixels,
            sliding_window_shapes=(subject.pixels.shape[1], *shape),
            strides=(subject.pixels.shape[1], *step),
            baselines=filled(subject.pixels, fill),
            perturbations_per_eval=subject.batch,
        )
    return on_cells(attributions[0].mean(0).float().cpu(), cells)  # every channel holds the whole difference


def patch_ablation(
    subject: Subject, cells: tuple[int, int], fill: Fill = "mean", progress: Progress | None = None
) -> Map:
    """Signed, in logits: by how much the score falls when one cell is replaced by `fill`."""
    from captum.attr import FeatureAblation

    index = cell_of_pixel(size_of(subject.pixels), cells)
    with torch.no_grad():
        attributions = FeatureAblation(_counted(subject, cells[0] * cells[1] + 1, progress)).attribute(
            subject.pixels,
            baselines=filled(subject.pixels, fill),
            feature_mask=index[None, None].to(subject.pixels.device),
            perturbations_per_eval=subject.batch,
        )
    return on_cells(attributions[0].mean(0).float().cpu(), cells)


def infidelity(
    subject: Subject,
    heat: Map,
    cells: tuple[int, int],
    samples: int = 64,
    fill: Fill = "mean",
    seed: int = 0,
    progress: Progress | None = None,
) -> float:
    """0 to 1, smaller is better: how badly the sum of the map over removed cells foretells the fall of the score.

    Half of the cells, chosen at random each time, are replaced by `fill`. Captum's infidelity with its best scaling of
    the map, over that of a map of zeros: 0 foretells exactly, 1 no better than "nothing changes".
    """
    from captum.metrics import infidelity as measured

    height, width = subject.pixels.shape[-2:]
    index = cell_of_pixel((height, width), cells).to(subject.pixels.device)
    start = filled(subject.pixels, fill)
    share = on_cells(heat, cells).to(subject.pixels).flatten()
    share = (share / torch.bincount(index.flatten(), minlength=len(share)))[index][None, None]
    score = _counted(subject, 2 * (samples + 1), progress)

    def without(pixels: Tensor) -> tuple[Tensor, Tensor]:
        gone = (torch.rand(len(pixels), cells[0] * cells[1]) < 0.5).to(pixels)[:, index][:, None]
        return gone.expand_as(pixels) / pixels.shape[1], torch.where(gone > 0, start, pixels)

    def of(map: Tensor, normalize: bool) -> float:
        options = {"n_perturb_samples": samples, "max_examples_per_batch": subject.batch, "normalize": normalize}
        with _seeded(seed), torch.no_grad():
            return float(measured(score, without, subject.pixels, map.expand_as(subject.pixels), **options))

    return of(share, True) / max(of(torch.zeros_like(share), False), 1e-12)


def sensitivity(
    again: Callable[[Tensor], Map],
    pixels: Float[Tensor, "1 channel height width"],
    radius: float = 0.02,
    samples: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> float:
    """≥ 0, smaller is better: the largest change of the map, as a share of its length, under noise nobody would see.

    `again` makes the map of a changed input, (1, channel, height, width). `radius`: largest change of an input value,
    as a share of their range. Captum's sensitivity_max.
    """
    from captum.metrics import sensitivity_max

    done = 0

    def maps(several: tuple[Tensor, ...]) -> tuple[Tensor]:  # Captum would take a bare tensor apart
        nonlocal done
        heats = []
        for image in several[0]:
            with torch.enable_grad():
                heats.append(again(image[None]))
            done += 1
            if progress:
                progress(min(done, samples + 1), samples + 1)
        return (torch.stack(heats),)

    with _seeded(seed):
        largest = sensitivity_max(maps, pixels, perturb_radius=radius * _spread(pixels), n_perturb_samples=samples)  # pyright: ignore[reportArgumentType]
    return float(largest)


def _counted(subject: Subject, total: int, progress: Progress | None) -> Callable[[Tensor], Tensor]:
    """The subject's score, which reports how many images it has scored."""
    done = 0

    def score(pixels: Tensor) -> Tensor:
        nonlocal done
        scores = subject.score(pixels)
        done += len(pixels)
        if progress:
            progress(min(done, total), total)
        return scores

    return score


def _graph_leaf(subject: Subject) -> Tensor:
    return subject.pixels.detach().clone().requires_grad_()


def _spread(pixels: Tensor) -> float:
    return float(pixels.max() - pixels.min())


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Captum draws from the generators of torch and numpy; both are left as they were."""
    state = np.random.get_state()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(state)
