"""One forward pass that leaves logits, attention calls and features behind, and the comparison with the plain one."""

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from vizkit.check import FULL, Precision, logit_tolerance, precision_of_pass
from vizkit.geometry import size_of
from vizkit.heads import ITSELF, scorer
from vizkit.models.recording.counting import Counting
from vizkit.models.recording.edit_proof import EditProof
from vizkit.models.recording.editing import NOW, Editing
from vizkit.models.recording.kinds import kind
from vizkit.models.recording.layer_output import Difference, draw_of
from vizkit.models.recording.layer_scores import take_score_gradients
from vizkit.models.recording.recorder import Call, Keep, Recorder
from vizkit.models.recording.stages import stages_of
from vizkit.models.sources.loaded import Counted, Loaded

UNABLE = (AttributeError, NameError, NotImplementedError, TypeError, RuntimeError, AssertionError, ValueError)
"""How models say that they have no features on the way."""

Targets = Callable[[Tensor], list[int]]

WITHOUT_SOFTMAX = ("timm.models.swiftformer.EfficientAdditiveAttention",)
"""Attention that weighs by a norm instead, and without the two products by which `counting` knows it."""


@dataclass(frozen=True)
class Pass:
    """`maps`: what leaves each block, (channel, row, column), or (token, channel) when the pass returns `tokens`;
    `specials`: its special tokens, (token, channel). `deciding`: with a target, (name, values, ∂logit/∂values) of what
    the head receives and of what the last attention layer receives, in the model's own layout without the batch axis.
    `entering`: the same, (values, gradient), of what each of `calls` was given; `gradients`: that of each of `maps`, of
    a model without attention. Both are empty without a target.
    `layers`: how many attention layers a plain pass has, None where that cannot be known, and `linear` of another kind;
    `changed`: how many change their weights between the softmax and the values; see `counting`. `edited`: what was
    compared of a changed model, see `edit_proof`. `precision`: the lowest of its products. `decides`: see `counting`.
    """

    logits: Tensor
    calls: tuple[Call, ...]
    maps: tuple[Tensor, ...]
    specials: tuple[Tensor | None, ...]
    logit_error: float | None
    deciding: tuple[tuple[str, Tensor, Tensor], ...] = ()
    entering: tuple[tuple[Tensor, Tensor] | None, ...] = ()
    gradients: tuple[Tensor, ...] = ()
    layers: int | None = None
    linear: int = 0
    changed: int = 0
    edited: tuple[Difference, ...] = ()
    precision: Precision = FULL
    decides: bool = False


def forward(
    loaded: Loaded, pixels: Tensor, keep: Keep | None = None, target: int | None = None, *, tokens: bool = False
) -> Pass:
    """Run one image, (1, channel, height, width), and record it. `target`: gradients of that class's logit too, or
    of the whole embedding (`heads.ITSELF`) where there are no classes. `tokens`: features in the order of the tokens,
    as a ViT has them; maps would be copied.

    The first pass of a model at an input size, for the kind of recording and the precision of products, is compared
    with a plain one. timm's
    `forward_intermediates` is believed only when it ends in the logits of the recorded pass; a few models finish
    differently there.
    """
    draw, keep = draw_of(pixels), keep or Keep()  # drawn here: nothing is fetched for it
    pixels = pixels.to(loaded.device)
    record = partial(_recorded, loaded, pixels, keep, target, tokens, draw=draw)
    layers = None if keep.layers is None else frozenset(keep.layers)
    precision = precision_of_pass(loaded.model, loaded.device)
    case = (pixels.shape[-2], pixels.shape[-1], keep.rows is None, keep.heads, target is None, layers, precision)
    if case in loaded.compared and case[:2] not in loaded.counted:
        plain_pass(loaded, pixels)  # of a copy of the modules, whose gates are not known yet
    if NOW.get() is not None:  # a changed model has no plain pass to be compared with
        believed = next((features for known, (features, _) in loaded.compared.items() if known[:2] == case[:2]), True)
        return _counted(loaded, pixels, record(believed, None))
    if case in loaded.compared:
        return _counted(loaded, pixels, record(*loaded.compared[case]))
    plain = loaded.logits_of(plain_pass(loaded, pixels))[0]
    _refuse_unknown(target, plain, loaded)
    try:
        result = record(True, float("nan"))
    except UNABLE:
        result = None
    with_features = result is not None
    if result is None or not apart(result.logits, plain) <= logit_tolerance(precision):
        # The features are to blame only where the pass without them ends elsewhere: recording alone may move logits.
        alone = record(False, float("nan"))
        with_features = result is not None and apart(result.logits, alone.logits) <= logit_tolerance(precision)
        result = result if result is not None and with_features else alone
    error = apart(result.logits, plain)
    loaded.compared[case] = (with_features, error)
    return _counted(loaded, pixels, replace(result, logit_error=error))


def forward_many(
    loaded: Loaded,
    pixels: Tensor,
    keep: Keep,
    targets: Targets | None,
    *,
    tokens: bool,
    with_features: bool,
    draw: int,
) -> Pass:
    """Run several images, (image, channel, height, width), and record them: all of the `Pass` has an axis of images in
    front. `targets`: the class of each as in `forward`, from their logits, (image, label). `draw`: which rows are
    compared, see `layer_output.sampled`. Nothing is compared with a plain pass here, see `models.many`."""
    own = pixels.to(loaded.device)
    result = _recorded(loaded, own, keep, targets, tokens, with_features, None, draw=draw, images=len(pixels))
    counted = loaded.counted.get(size_of(pixels), Counted(None, 0, 0, True))
    return replace(result, **counted._asdict())


def apart(logits: Tensor, plain: Tensor) -> float:
    """The largest difference of a logit, relative to the largest of `plain`, but at least to 1."""
    return float((logits - plain).abs().max() / plain.abs().max().clamp(min=1))


def plain_pass(loaded: Loaded, pixels: Tensor) -> Any:
    """What the model gives without any recording. Its attention layers are counted meanwhile."""
    counting = Counting(pixels)
    size_hw = size_of(pixels)
    with torch.no_grad():
        try:
            with counting:
                out = loaded.model(pixels)
        except UNABLE:  # compiled parts refuse to be watched; what is wrong with the model itself comes up again
            loaded.counted[size_hw] = Counted(None, 0, 0, True)
            return loaded.model(pixels)
    others = sum(kind(module) in WITHOUT_SOFTMAX for module in loaded.model.modules())
    linear = counting.linear or others
    loaded.counted[size_hw] = Counted(counting.layers, linear, counting.changed, counting.decides)
    return out


def _counted(loaded: Loaded, pixels: Tensor, result: Pass) -> Pass:
    """The pass with what was counted at this input size; again for this image where the two differ, because a model may
    decide by the image which layers run."""
    size_hw = size_of(pixels)
    known = loaded.counted.get(size_hw)
    if known is None or known.layers not in (None, len(result.calls)):
        plain_pass(loaded, pixels)
    return replace(result, **loaded.counted[size_hw]._asdict())


@cache
def _keep_freed_memory() -> None:
    """Let the C library keep what a pass frees for the next one.

    As a rule it gives large blocks back to the system, which hands each pass thousands of fresh pages full of zeros.
    Once a block of up to 32 MiB has been freed, blocks of that size stay (glibc's mallopt(3), M_MMAP_THRESHOLD), as
    happens sooner or later to every program that frees a large array.
    """
    torch.empty(31 << 20, dtype=torch.uint8)


def _recorded(
    loaded: Loaded,
    pixels: Tensor,
    keep: Keep,
    target: int | Targets | None,
    tokens: bool,
    with_features: bool,
    logit_error: float | None,
    *,
    draw: int,
    images: int | None = None,
) -> Pass:
    """`images`: how many, None for one, whose results have no axis of images."""
    _keep_freed_memory()
    recorder = Recorder(loaded.model, keep, gradient=target is not None, draw=draw, images=images)
    proof = EditProof(Editing(plan)) if (plan := NOW.get()) else None
    with torch.set_grad_enabled(target is not None), recorder, ExitStack() as changing:
        for mode in (proof.editing, proof) if proof else ():
            changing.enter_context(mode)
        # Parameters carry no gradient, so the graph starts at the pixels.
        pixels = pixels.detach().requires_grad_(target is not None)
        out, maps, specials, final = run(loaded.model, pixels, with_features, tokens)
    logits = loaded.logits_of(out, images or 1)
    goal = target(logits.detach().cpu()) if callable(target) else target
    for one in dict.fromkeys(goal) if isinstance(goal, list) else [goal]:
        _refuse_unknown(one, logits[0], loaded)
    deciding, entering, gradients = (), (), ()
    if goal is not None:
        score_of = scorer(logits, goal)
        if tokens:
            joined = [m if s is None else torch.cat([s, m], 1) for m, s in zip(maps, specials, strict=True)]
            take_score_gradients(loaded, recorder.calls, joined, score_of, score_of(logits))
        stages = () if recorder.calls else tuple(each for each in maps if each.dim() == 4)
        deciding, entering, gradients = _with_gradients(recorder, score_of(logits).sum(), final, stages)
    detached = (tuple(m.detach() for m in maps), tuple(s if s is None else s.detach() for s in specials))
    made = Pass(logits.detach().float(), tuple(recorder.calls), *detached, logit_error, deciding, entering, gradients)
    made = _alone(made) if images is None else made
    precision = precision_of_pass(loaded.model, pixels.device)
    return replace(made, edited=tuple(proof.differences) if proof else (), precision=precision)


def _with_gradients(recorder: Recorder, logit: Tensor, final: Tensor | None, stages: tuple[Tensor, ...]) -> tuple:
    """Take all gradients in one go: of the attention weights, of the two features of `Pass.deciding`, of what enters
    every layer, and of `stages`."""
    named = (("before the head", final), ("into the last attention", recorder.entering))
    inputs = [(name, values) for name, values in named if values is not None and 3 <= values.dim() <= 4]
    given = [call.entering for call in recorder.calls]
    others = [values for values in given if values is not None]
    gradients = recorder.take_gradients(logit, *(values for _, values in inputs), *others, *stages)
    own, left = gradients[: len(inputs)], iter(gradients[len(inputs) :])
    entering = tuple(None if values is None else (values.detach(), next(left)) for values in given)
    for call in recorder.calls:
        call.entering = None  # lets the graph go
    images = recorder.images or 1
    tokens_first = bool(recorder.calls) and recorder.calls[-1].kernel == "mha"  # torch's: the image comes second
    deciding = []
    for (name, values), gradient in zip(inputs, own, strict=True):
        two = values.detach(), gradient
        if tokens_first and values is recorder.entering:
            two = two[0].transpose(0, 1), two[1].transpose(0, 1)
        if len(two[0]) == images:
            deciding.append((name, *two))
    return tuple(deciding), entering, tuple(left)


def _alone(result: Pass) -> Pass:
    """The pass of one image without the axis of images."""
    return replace(
        result,
        logits=result.logits[0],
        maps=tuple(each[0] for each in result.maps),
        specials=tuple(each if each is None else each[0] for each in result.specials),
        deciding=tuple((name, values[0], gradient[0]) for name, values, gradient in result.deciding),
        gradients=tuple(each[0] for each in result.gradients),
    )


def _refuse_unknown(target: int | None, logits: Tensor, loaded: Loaded) -> None:
    whole = target == ITSELF and loaded.head.target(logits) == ITSELF
    if target is not None and not whole and not 0 <= target < len(logits):
        raise ValueError(f"Class {target} does not exist: {loaded.name} has {len(logits)} classes.")


def run(
    model: nn.Module, pixels: Tensor, with_features: bool, tokens: bool = False
) -> tuple[Any, list[Tensor], tuple[Tensor | None, ...], Tensor | None]:
    """What the model returns; `with_features` also those of every block and what the head gets, by timm's
    `forward_intermediates` or as `stages` cuts torchvision's."""
    if not with_features:
        return model(pixels), [], (), None
    if (cut := stages_of(model)) is not None:
        maps = list(accumulate(cut.stages, lambda x, stage: stage(x), initial=pixels))[1:]
        return cut.head(maps[-1]), maps, (None,) * len(maps), maps[-1]
    # timm's own function fails when it is called for prefix tokens that the model does not have.
    prefix = getattr(model, "num_prefix_tokens", 0) and _takes_prefix(model)
    options: dict = {"return_prefix_tokens": True} if prefix else {}
    options |= {"output_fmt": "NLC"} if tokens else {}
    final, blocks = model.forward_intermediates(pixels, **options)  # pyright: ignore[reportCallIssue]
    maps, specials = [], []
    for block in blocks:
        spatial, special = block if isinstance(block, tuple) else (block, None)
        maps.append(spatial)
        specials.append(special)
    logits = model.forward_head(final)  # pyright: ignore[reportCallIssue]
    return logits, maps, tuple(specials), final if isinstance(final, Tensor) else None


def _takes_prefix(model: nn.Module) -> bool:
    function: Any = type(model).forward_intermediates  # pyright: ignore[reportAttributeAccessIssue]
    return "return_prefix_tokens" in inspect.signature(function).parameters
