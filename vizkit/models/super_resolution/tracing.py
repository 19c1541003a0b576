"""A Trace of two pictures: from the places of the one that is enlarged to those of its reference.

Hard attention takes one place h_i of the reference for each place i, and with it the 3 × 3 patch around h_i. The
patches of neighbours overlap, and where they do the network takes their mean. So the row of place i has up to nine
weights 1/n, one for each patch that covers it: weights · values are the texture that the network is given, at 1×, 2×
and 4× alike. A mixture (`sharpness` above 0) has a weight for every place of the reference.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.utils._pytree import tree_map

from vizkit.check import precision_of_pass
from vizkit.models.networks.super_resolution.texture import directions, neighbours, relevance
from vizkit.models.networks.super_resolution.ttsr import TIMES, TTSR, Search
from vizkit.models.super_resolution.enlarging import RGB, fitting_reference, pixels_of
from vizkit.models.super_resolution.opening import Enlarger
from vizkit.traces import PADDING, Attention, Check, Features, Tokens, Trace, dense, row_sum_error, tolerance

LARGEST_WEIGHTS = 2**24
"""Pairs of a place and a place of the reference in one trace: 64 MiB where every pair has a weight."""


@torch.inference_mode()
def trace(enlarger: Enlarger, small: RGB, reference: RGB, *, sharpness: float = 0.0) -> Trace:
    """The attention of one pass: queries on the small picture (`image` 0), keys on the reference (`image` 1).

    `features`: S, the relevance of the best place, −1 … 1, and the gates of the three scales, 0 … 1, at every query.
    `logits`: the enlarged pixels, not clipped. `sharpness`: see `TTSR.textures`. The check is that of the textures
    made from the recorded weights with those of the network, and of the pixels made with them with the plain pass.
    Raises ValueError for a network without a reference, and for pictures with too many pairs of places.
    """
    if not enlarger.uses_reference:
        raise ValueError(f"{enlarger.name} has no attention: it was trained without a reference.")
    model, given = enlarger.model, fitting_reference(reference)
    if small.shape[0] * small.shape[1] * (given.shape[0] // TIMES) * (given.shape[1] // TIMES) > LARGEST_WEIGHTS:
        raise ValueError("These images are too large for a trace: give a smaller image, or a smaller reference.")
    pixels, second = (pixels_of(each, enlarger.device) for each in (small, given))
    search = model.search(pixels, second)
    read = tree_map(Tensor.cpu, search)  # where analyses and pages read it
    recorded = mixture_of(read, sharpness) if sharpness else transfer_of(read)
    rebuilt = textures_of(recorded, read)
    enlarged = model.enlarged(pixels, ([each.to(pixels.device) for each in rebuilt], search.matched.relevance))
    check = Check(
        row_sum_error((recorded,)),
        1,
        1,
        logit_error=apart(enlarged, model(pixels, second, sharpness), at_least=1.0),
        output_error=max(map(apart, rebuilt, (each.cpu() for each in model.textures(search, sharpness)))),
        output_tolerance=tolerance(torch.float32, pixels.device),
        precision=precision_of_pass(model, pixels.device),
    )
    logits = enlarged[0].cpu().flatten(1).T.contiguous()
    size_hw = small.shape[0], small.shape[1]
    return Trace(enlarger.name, size_hw, logits, (recorded,), trusted(model, search, recorded.query), check)


def tokens_of(search: Search) -> tuple[Tokens, Tokens]:
    """Places of the small picture, a pixel each, and of the reference, 4 × 4 pixels each."""
    rows, columns = search.query.shape[-2:]
    key_rows, key_columns = search.key.shape[-2:]
    reference = Tokens("reference", grid=(key_rows, key_columns), stride=float(TIMES), image=1)
    return Tokens("picture", grid=(rows, columns), stride=1.0), reference


def transfer_of(search: Search) -> Attention:
    """Hard attention as it is applied: every query is a group of its own with the nine keys that may overlap there; of
    them the fifth is h_i itself."""
    query, key = tokens_of(search)
    rows = neighbours(search.matched.place, query.grid, key.grid)  # type: ignore[arg-type]
    taken = rows < len(key)
    weights = taken / taken.sum(1, keepdim=True)
    ids = torch.where(taken, rows, PADDING)
    return Attention("texture transfer", weights[:, None, None], query, key, torch.arange(len(query))[:, None], ids)


def mixture_of(search: Search, sharpness: float) -> Attention:
    """softmax(sharpness · relevance): every query beside every key."""
    query, key = tokens_of(search)
    blocks = relevance(directions(search.query), directions(search.key))
    weights = torch.cat([(block * sharpness).softmax(-1) for block in blocks], 1)
    everyone = torch.arange(len(query))[None], torch.arange(len(key))[None]
    return Attention("texture mixture", weights[:, None], query, key, *everyone)


def textures_of(attention: Attention, search: Search) -> list[Tensor]:
    """weights · values at 1×, 2× and 4×, without the network's own way to apply them."""
    matrix = dense(attention)[0]
    made = []
    for k, values in enumerate(search.values):
        cells = F.pixel_unshuffle(values, 2**k)[0].flatten(1).T
        laid = (matrix @ cells).T.unflatten(1, search.query.shape[-2:])
        made.append(F.pixel_shuffle(laid[None], 2**k))
    return made


def trusted(model: TTSR, search: Search, query: Tokens) -> tuple[Features, Features]:
    """How far the network trusts what it took, at every query."""
    relevant = search.matched.relevance[0]
    gates = torch.stack([transfer.gate(relevant) for transfer in model.transfers], 1).cpu()  # type: ignore[operator]
    return Features("relevance of the best place", relevant[:, None].cpu(), query), Features("gates", gates, query)


def apart(one: Float[Tensor, "*any"], other: Float[Tensor, "*any"], at_least: float = 1e-12) -> float:
    """The largest difference, relative to the largest number, but at least to `at_least`."""
    return float((one - other).abs().max() / other.abs().max().clamp(min=at_least))
