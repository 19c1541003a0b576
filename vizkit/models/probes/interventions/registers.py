"""A register that was not trained: where the MLPs' neurons that make artifacts go instead (Jiang et al. 2025, "Vision
Transformers Don't Need Trained Registers", arXiv 2506.08010).

A token of zeros is appended in front of block 1 and cut off after the last. Each chosen neuron has there the activation
that is largest among the patches, with its sign, and none at the patches. Controls (arXiv 2604.14433) put something
else at the patches, and nobody looks at the token. All of it is hooks of a second model, as in `stream_edits`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vizkit.geometry import size_of
from vizkit.models.families import family
from vizkit.models.probes.block_parts import last_linear
from vizkit.models.probes.flow import watched
from vizkit.models.probes.interventions.stream import adds_to, blocks_of
from vizkit.models.probes.interventions.stream_edits import one_sequence
from vizkit.models.probes.multiply_adds import copy_with
from vizkit.models.recording.edits import Edit, EditError
from vizkit.models.recording.forward import forward
from vizkit.models.recording.gates import carry_over
from vizkit.models.recording.plan import Place, Plan, planned
from vizkit.models.recording.recorder import Keep
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable, Trace

REGISTER = "register"
CONTROLS = ("zero", "mean", "noise", "shuffled")
"""What else chosen neurons have at the patches: nothing, their mean over the patches, noise of the same mean and
deviation, or their own activations in another order."""


@dataclass(frozen=True)
class Neuron:
    """Of the MLP of a block, both from 0. Its mean |activation| at some patches, and at all others."""

    block: int
    unit: int
    activation: float
    elsewhere: float


@dataclass(frozen=True)
class Seen:
    """Of one pass: how long the patches are after each block; what the class token, without one all patches in the
    mean, attends to in the last block; and the outputs."""

    norms: Float[Tensor, "block patch"]
    attention: Float[Tensor, " patch"]
    logits: Float[Tensor, " label"]


def into_last(loaded: Loaded) -> tuple[str, ...]:
    """The paths of the linear layers that read the hidden neurons, block by block."""
    paths = []
    for block in blocks_of(loaded):
        mlp = adds_to(loaded, block, "mlp")
        name = last_linear(loaded.model.get_submodule(mlp))
        if name is None:
            raise NotApplicable(f"The MLPs of {loaded.name} are built otherwise, so their neurons are not to be seen.")
        paths.append(f"{mlp}.{name}")
    return tuple(paths)


def patches_of(loaded: Loaded, pixels: Tensor) -> slice:
    """Where the patches stand among the tokens. NotApplicable for models of more than one sequence."""
    tokens = family(loaded.model).tokens_of(loaded.model, size_of(pixels))
    if len(tokens) != 1 or tokens[0].grid is None:
        raise NotApplicable(f"{loaded.name} is no ViT, whose patches are one sequence in all blocks.")
    special, (rows, columns) = len(tokens[0].special), tokens[0].grid
    return slice(special, special + rows * columns)


@torch.no_grad()
def strongest_neurons(
    loaded: Loaded,
    pixels: Float[Tensor, "1 channel height width"],
    some: Bool[Tensor, " patch"],
    blocks: int,
    count: int = 10,
) -> tuple[Neuron, ...]:
    """Of the MLPs of the first `blocks` the neurons with the largest mean |activation| at some patches."""
    patches, paths = patches_of(loaded, pixels), into_last(loaded)[:blocks]
    means: dict[str, tuple[Tensor, Tensor]] = {}

    def see(path: str, inputs: tuple, _: object) -> None:
        hidden = inputs[0][0, patches].float().abs().cpu()
        means[path] = hidden[some].mean(0), hidden[~some].mean(0)

    watched(loaded.model, paths, see)(pixels.to(loaded.device))
    there, elsewhere = (torch.stack([means[path][side] for path in paths]) for side in (0, 1))
    width = there.shape[1]
    best = there.flatten().topk(min(count, there.numel())).indices.tolist()
    flat = there.flatten().tolist(), elsewhere.flatten().tolist()
    return tuple(Neuron(at // width, at % width, flat[0][at], flat[1][at]) for at in best)


def with_register(
    loaded: Loaded,
    trace: Trace,
    pixels: Float[Tensor, "1 channel height width"],
    neurons: Sequence[Neuron] = (),
    how: str = REGISTER,
    *,
    masked: bool = False,
) -> Seen:
    """A pass with one more token. `trace`: of the model itself on these `pixels`. `masked`: no token sees the new one,
    so that without neurons nothing changes. NotApplicable where a token more has no place."""
    one_sequence(loaded)
    patches, blocks = patches_of(loaded, pixels), blocks_of(loaded)
    model = copy_with(loaded.model)
    model.get_submodule(blocks[0]).register_forward_pre_hook(_longer)
    model.get_submodule(blocks[-1]).register_forward_hook(lambda _, __, out: out[:, :-1])
    for at, path in enumerate(into_last(loaded)):
        if units := [each.unit for each in neurons if each.block == at]:
            model.get_submodule(path).register_forward_pre_hook(partial(_replaced, units, patches, how))
    twin = replace(loaded, model=model, compared=loaded.compared)
    twin.counted.update(loaded.counted)
    carry_over(loaded.model, model)
    try:
        with planned(_plan(trace, len(blocks), patches.stop, masked)):
            run = forward(twin, pixels, Keep(layers=(len(blocks) - 1,)), tokens=True)
        weights, norms = run.calls[len(blocks) - 1].weights, [each.float().norm(dim=1) for each in run.maps]
        assert weights is not None
        assert len(norms) == len(blocks)
    except (EditError, IndexError, AssertionError):
        raise NotApplicable(f"A token more is not to be followed through {loaded.name}.") from None
    asking = weights[0].float().mean(0)[:, patches]
    lengths = torch.stack([each[: patches.stop - patches.start] for each in norms])
    return Seen(lengths.cpu(), (asking[0] if patches.start else asking[patches].mean(0)).cpu(), run.logits.cpu())


def _longer(_: nn.Module, given: tuple) -> tuple:
    return torch.cat([given[0], torch.zeros_like(given[0][:, :1])], 1), *given[1:]


def _replaced(units: list[int], patches: slice, how: str, _: nn.Module, given: tuple) -> tuple:
    hidden, own = given[0].clone(), given[0][:, patches][..., units]
    mean, generator = own.mean(1, keepdim=True), torch.Generator().manual_seed(0)
    noise = torch.randn(own.shape, generator=generator).to(own)
    order = torch.randperm(own.shape[1], generator=generator)
    others = {"mean": mean.expand_as(own), "noise": mean + own.std(1, keepdim=True) * noise, "shuffled": own[:, order]}
    if how == REGISTER:
        hidden[:, -1, units] = own.gather(1, own.abs().argmax(1, keepdim=True))[:, 0]
    hidden[:, patches, units] = others.get(how, torch.zeros_like(own))
    return hidden, *given[1:]


def _plan(trace: Trace, blocks: int, register: int, masked: bool) -> Plan:
    """Attention as it is, or blind for the register, which the layers of the blocks have as their last key."""
    learned = [each for each in trace.attention if each.learned]
    ids = [each.key_ids for each in learned]
    ids[:blocks] = [torch.cat([each, each.new_full((len(each), 1), register)], 1) for each in ids[:blocks]]
    places = (Place(len(own), each.heads, own) for own, each in zip(ids, learned, strict=True))
    return Plan((Edit("blind", tokens=(register,)),) if masked else (), tuple(places))
