"""Many pictures through one model in one pass, and what is computed of one picture for all of them.

    many = Many(loaded)
    batch = many.traces(pixels)  # image channel height width
    heats, reasons = batch.each(lambda trace: rollout(trace))  # image row column

A pass of n pictures costs less than n passes, and `torch.vmap` runs the code for one picture once for all. That a
model's layers keep its pictures apart, and where in a layer's numbers each picture lies, is not taken for granted: of
every batch one picture, drawn by what the batch shows, is recorded alone too; of the first batch that can tell pictures
apart the first and the last as well, and its logits in another order. Where numbers differ by more than rounding, every
picture from then on is recorded alone.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils._pytree import tree_map

from vizkit.check import ROW_SUM_TOLERANCE, logit_tolerance, precision_of_pass, precision_of_type
from vizkit.geometry import size_of
from vizkit.models import families
from vizkit.models.families.translate import Translated, compared_in
from vizkit.models.recording.call import Keep, by_image
from vizkit.models.recording.forward import UNABLE, Pass, Targets, apart, forward_many
from vizkit.models.recording.layer_output import draw_of, worst_of_each
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Attention, Features, Trace, TraceError, refusals

OF_ATTENTION = ("weights", "gradient", "score_gradient")
OF_FEATURES = ("values", "gradient")
ROUNDING = 0.1  # in half precision, of what lies between two pictures
THIN = 16  # of so many rows and columns of pixels one decides which picture is drawn


@dataclass(frozen=True)
class Batch:
    """Some pictures of one size. `like`: the trace of one of them, with what was proven of the model; `numbers`: what
    is each picture's own in it, (image, …), in the order of `own_numbers`. `proof_error`: as `Check.output_error`, of
    each, NaN where nothing could be compared, infinite where a row of weights misses one; it may be `allowed`."""

    like: Trace
    logits: Float[Tensor, "image label"]
    numbers: tuple[Tensor, ...]
    proof_error: Float[Tensor, " image"]
    allowed: float

    def each(self, of: Callable[..., Any], *others: "Batch | Tensor") -> tuple[Any, list[str | None]]:
        """What `of` gives, a tensor or several, for every trace, (image, …), and why it means nothing for some of them
        (`traces.refuse`). `others`: of the same pictures, whose traces are given too, or a tensor's part. Raises
        NotApplicable where it has no meaning for the model."""
        said: list[str] = []
        every = (self, *others)

        def one(_: Tensor, numbers: tuple[Any, ...]) -> tuple[Any, list[Tensor]]:
            given = [
                with_numbers(each.like, iter(own)) if isinstance(each, Batch) else own
                for each, own in zip(every, numbers, strict=True)
            ]
            with refusals() as refused:
                result = of(*given)
            said[:] = [sentence for _, sentence in refused]
            return result, [wrong for wrong, _ in refused]

        numbers = tuple(each.numbers if isinstance(each, Batch) else each for each in every)
        if len(self.logits) == 1:  # vmap takes longer than what one picture is asked
            given = tree_map(lambda part: part[0], (self.logits, numbers))
            results, wrong = tree_map(lambda part: part[None], one(*given))
        else:
            results, wrong = torch.vmap(one)(self.logits, numbers)
        if not wrong:
            return results, [None] * len(self.logits)
        first = torch.stack([*wrong, torch.ones_like(wrong[0])]).int().argmax(0).tolist()
        return results, [[*said, None][at] for at in first]


def own_numbers(made: Translated | Trace, like: Trace) -> list[Tensor]:
    """What of a trace is one picture's own: weights, gradients, and the features with a gradient that `like` has."""
    if isinstance(made, Trace):
        made = Translated(made.attention, made.features, cam=made.cam_features, by_layer=made.layer_features)
    known = {features.name for features in like.cam_features}
    cam = [features for features in made.cam if features.name in known]
    by_layer = made.by_layer if like.layer_features else ()
    layers: list[Attention | Features] = [layer for layer in made.attention if layer.learned]
    return [
        value
        for one in (*layers, *cam, *by_layer)
        for name in (OF_ATTENTION if isinstance(one, Attention) else OF_FEATURES)
        if (value := getattr(one, name)) is not None
    ]


def with_numbers(like: Trace, numbers: Iterator[Tensor]) -> Trace:
    """The trace with those of another picture."""

    def filled(one: Any, names: tuple[str, ...]) -> Any:
        other = copy(one)  # not `replace`, which would look through the ids again
        for name in names:
            if getattr(one, name) is not None:
                object.__setattr__(other, name, next(numbers))
        return other

    layers = tuple(filled(layer, OF_ATTENTION) if layer.learned else layer for layer in like.attention)
    cam = tuple(filled(one, OF_FEATURES) for one in like.cam_features)
    by_layer = tuple(filled(one, OF_FEATURES) for one in like.layer_features)
    return replace(like, attention=layers, cam_features=cam, layer_features=by_layer)


@dataclass
class Many:
    """A model and what is recorded of it. `by_layer`: with `Trace.layer_features`, which take memory. `alone`: whether
    every picture goes through it by itself; None before the first batch of several that are not all the same.
    `untouched`: where its family changes none of the recorded tensors, which of them the numbers of a trace are."""

    loaded: Loaded
    keep: Keep | None = None
    by_layer: bool = True
    alone: bool | None = None
    like: Trace | None = None
    untouched: list[int] | None = None

    @property
    def home(self) -> torch.device:
        """Where what is recorded stays: on an NVIDIA GPU, else on the CPU, as Apple's have no float64."""
        return self.loaded.device if self.loaded.device.type == "cuda" else torch.device("cpu")

    def begin(self, pixels: Float[Tensor, "1 channel height width"], targets: Targets | None = None) -> Trace:
        """The trace of one picture, with all its proofs, that those of others are like."""
        (target,) = self._goals(pixels, targets)
        self.like = _deciding(_moved(self._single(pixels, target), self.home))
        self.like = self.like if self.by_layer else replace(self.like, layer_features=())
        return self.like

    def traces(self, pixels: Float[Tensor, "image channel height width"], targets: Targets | None = None) -> Batch:
        """All pictures of a batch. `targets`: with gradients, of the classes that it finds for the logits, (image,
        label)."""
        if self.like is None:
            self.begin(pixels[:1], targets and (lambda logits: targets(logits)[:1]))
        counted = self.loaded.counted.get(size_of(pixels))
        if counted is not None and counted.decides:  # each picture has places of its own
            self.alone = True
        if self.alone or len(pixels) == 1:
            return self._singly(pixels, targets) if self.alone else _read(self._together(pixels, targets))
        at, differs = drawn(pixels)
        if self.alone is None and not differs:  # says nothing of other batches
            return self._singly(pixels, targets)
        draw = draw_of(pixels[at : at + 1])  # before the batch: what is fetched waits for what was asked
        goals: list[int | None] = [None] * len(pixels)

        def noted(logits: Tensor) -> list[int]:
            goals[:] = found = targets(logits) if targets else []
            return found

        try:
            batch = self._together(pixels, targets and noted)
        except (*UNABLE, TraceError):
            if self.alone is not None:
                raise
            batch = None
        first = self.alone is None
        self.alone = batch is None or not (
            all(
                self._is_alone(pixels, batch, each, goals[each], draw)
                for each in ({0, at, len(pixels) - 1} if first else [at])
            )
            and (not first or self._in_any_order(pixels, batch, at))
        )
        return self._singly(pixels, targets) if self.alone or batch is None else _read(batch)

    def _is_alone(self, pixels: Tensor, batch: Batch, at: int, goal: int | None, draw: int) -> bool:
        """Whether a picture has in the batch the numbers that it has alone. `draw`: which rows are compared then."""
        if self.alone is None:
            trace = _moved(self._single(pixels[at : at + 1], goal), self.home)
            alone = [trace.logits.to(batch.logits.device), *own_numbers(trace, batch.like)]
        else:
            one = self._together(pixels[at : at + 1], None if goal is None else lambda _: [goal], draw)
            alone = [each[0] for each in (one.logits, *one.numbers)]
        together = [batch.logits, *batch.numbers]
        return len(alone) == len(together) and all(map(partial(self._near, at, self._allowed()), together, alone))

    @torch.no_grad()
    def _in_any_order(self, pixels: Tensor, batch: Batch, at: int) -> bool:
        """Whether logits go with their pictures to other places, and those of the picture that stays do not hear of it:
        the same arithmetic has the same rounding, also in half precision."""
        others = torch.tensor([place for place in range(len(pixels)) if place != at])
        order = torch.arange(len(pixels))
        order[others] = others.roll(1)
        logits = self.loaded.logits_of(self.loaded.model(pixels[order].to(self.loaded.device)), len(order))
        stays, own = logits[at], batch.logits[at]
        same = logit_tolerance(precision_of_pass(self.loaded.model, self.loaded.device))
        allowed = self._allowed()
        return apart(stays, own) <= same and all(
            self._near(new, allowed, logits, batch.logits[place]) for new, place in enumerate(order.tolist())
        )

    def _allowed(self) -> float:
        """What rounding may make of the largest number."""
        lowest, own = precision_of_pass(self.loaded.model, self.loaded.device), precision_of_type(self.loaded.dtype)
        return max(map(logit_tolerance, (lowest, own)))

    def _near(self, at: int, allowed: float, many: Tensor, alone: Tensor) -> bool:
        """Whether the numbers of a picture in a batch are those that it has alone, but for rounding: in half precision
        that is large, but far smaller than what lies between two pictures."""
        if many.shape[1:] != alone.shape or not alone.numel():
            return many.shape[1:] == alone.shape
        off, between = (float((each - alone).abs().max()) for each in (many[at], many[at - 1]))
        rounding = allowed * float(alone.abs().max())
        return off <= (max(rounding, ROUNDING * between) if self.loaded.dtype.itemsize < 4 else rounding)

    @torch.no_grad()
    def _goals(self, pixels: Tensor, targets: Targets | None) -> Sequence[int | None]:
        if targets is None:
            return [None] * len(pixels)
        return targets(
            torch.cat([self.loaded.logits_of(self.loaded.model(one[None].to(self.loaded.device))) for one in pixels])
        )

    def _single(self, pixels: Tensor, target: int | None) -> Trace:
        return families.trace(self.loaded, pixels, target=target, keep=self.keep)

    def _singly(self, pixels: Tensor, targets: Targets | None) -> Batch:
        assert self.like is not None
        goals = self._goals(pixels, targets)
        traces = [self._single(one[None], target) for one, target in zip(pixels, goals, strict=True)]
        errors = [
            torch.inf if trace.check.refused else torch.nan if (error := trace.check.output_error) is None else error
            for trace in traces
        ]
        numbers = (own_numbers(_moved(trace, self.home), self.like) for trace in traces)
        stacked = (torch.stack(parts).to(self.home) for parts in zip(*numbers, strict=True))
        logits, allowed = torch.stack([trace.logits for trace in traces]), self.like.check.output_tolerance
        return Batch(self.like, logits, tuple(stacked), torch.tensor(errors).double(), allowed)

    def _together(self, pixels: Tensor, targets: Targets | None, draw: int | None = None) -> Batch:
        like, model, size_hw = self.like, self.loaded.model, size_of(pixels)
        assert like is not None
        # Nothing is fetched in here: a GPU is kept busy while the pass of the picture that is compared is prepared.
        believed = next((known for case, (known, _) in self.loaded.compared.items() if case[:2] == size_hw), True)
        keep, tokens = families.keeping(model, self.keep), families.in_tokens(model)
        draw = draw_of(pixels[:1]) if draw is None else draw
        # Features without gradients belong to the first picture: they are needed to translate it, and then no more.
        needed = believed and (self.untouched is None or targets is not None)
        result = forward_many(self.loaded, pixels, keep, targets, tokens=tokens, with_features=needed, draw=draw)
        parts = tuple(part.to(self.home) for part in _parts(result, len(pixels)))
        compared, allowed = compared_in(result.calls, result.changed), like.check.output_tolerance
        errors = worst_of_each(compared, len(pixels), allowed) if compared else torch.full((len(pixels),), torch.nan)
        errors = errors.where(_sum_to_one(result, len(pixels)).to(errors.device), torch.inf)
        if self.untouched is not None:
            numbers = tuple(parts[at] for at in self.untouched)
            return Batch(like, result.logits, numbers, errors, allowed)
        family = families.family(model)

        def translated(_: Tensor, parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(own_numbers(family.translated(self.loaded, size_hw, _of_one(result, iter(parts))), like))

        numbers = torch.vmap(translated)(result.logits, parts)
        places = {_place(part): at for at, part in enumerate(parts)}
        if all(_place(number) in places for number in numbers):
            self.untouched = [places[_place(number)] for number in numbers]
        return Batch(like, result.logits, numbers, errors, allowed)


def _read(batch: Batch) -> Batch:
    """With its logits and its errors on the CPU."""
    return replace(batch, logits=batch.logits.cpu(), proof_error=batch.proof_error.cpu().double())


def _sum_to_one(result: Pass, images: int) -> Bool[Tensor, " image"]:
    """Whether all rows of each picture's weights do, as a `Trace` asks of one picture; NaN does not."""
    kept = [
        call.weights.sum(-1) if call.row_sums is None else call.row_sums
        for call in result.calls
        if call.weights is not None
    ]
    off = [(sums - 1).abs().reshape(images, -1).amax(1) <= ROW_SUM_TOLERANCE for sums in kept]
    return torch.stack(off).all(0) if off else torch.ones(images, dtype=torch.bool)


def _place(tensor: Tensor) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Where its numbers lie: two tensors of one place are the same."""
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


def _deciding(trace: Trace) -> Trace:
    """With the one of the features for class activation maps that is read (`grad_cam.cam_layer`): which of them has a
    say is a matter of the model, and nobody can choose for each picture of a batch."""
    for one in trace.cam_features:
        places = slice(len(one.tokens.special), len(one.tokens) - one.tokens.free)
        if one.tokens.grid is not None and one.gradient is not None and bool(one.gradient[places].any()):
            return replace(trace, cam_features=(one,))
    return replace(trace, cam_features=trace.cam_features[-1:])


def drawn(pixels: Float[Tensor, "image channel height width"]) -> tuple[int, bool]:
    """One of the pictures that differ from both neighbours, else from one, and whether there is any: its place follows
    from what the batch shows."""
    draw = torch.Generator().manual_seed(draw_of(pixels[..., ::THIN, ::THIN]))
    found = 0, 0
    for at in torch.randperm(len(pixels), generator=draw).tolist():
        near = {at - 1 if at else len(pixels) - 1, (at + 1) % len(pixels)}
        differing = sum(not torch.equal(pixels[at], pixels[other]) for other in near)
        if differing == len(near):
            return at, True
        found = max(found, (differing, at))
    return found[1], found[0] > 0


def _parts(result: Pass, images: int) -> Iterator[Tensor]:
    """All that is each picture's own in a pass, (image, …), in the order in which `_of_one` takes it."""
    for call in result.calls:
        yield from (value for name in OF_ATTENTION if (value := getattr(call, name)) is not None)
    for _, values, gradient in result.deciding:
        yield from (values, gradient)
    for call, given in zip(result.calls, result.entering, strict=False):
        for each in given or ():  # torch's multi-head attention puts the tokens first and the image second
            yield each.transpose(0, 1).unsqueeze(2) if call.kernel == "mha" else by_image(each, images)
    if result.gradients:
        yield from (*result.maps, *result.gradients)


def _of_one(result: Pass, parts: Iterator[Tensor]) -> Pass:
    """The pass of one picture. Features without gradients are those of the first picture: nobody reads them."""

    def call_of(call: Any) -> Any:
        own = {name: next(parts) for name in OF_ATTENTION if getattr(call, name) is not None}
        return replace(call, images=None, **own)

    calls = tuple(map(call_of, result.calls))
    deciding = tuple((name, next(parts), next(parts)) for name, _, _ in result.deciding)
    entering = tuple(given and (next(parts), next(parts)) for given in result.entering)
    own = bool(result.gradients)
    return replace(
        result,
        calls=calls,
        deciding=deciding,
        entering=entering,
        maps=tuple(next(parts) if own else each[0] for each in result.maps),
        specials=tuple(each if each is None else each[0] for each in result.specials),
        gradients=tuple(next(parts) for _ in result.gradients),
    )


def _moved(trace: Trace, device: torch.device) -> Trace:
    """With its attention and the features that maps are made of there."""

    def there(one: Any, *names: str) -> Any:
        own = {name: value.to(device) for name in names if (value := getattr(one, name)) is not None}
        return replace(one, **own)

    trace = trace if device.type == "cpu" else trace.there
    layers = tuple(there(layer, *OF_ATTENTION, "query_ids", "key_ids") for layer in trace.attention)
    cam, by_layer = (
        tuple(there(one, *OF_FEATURES) for one in those) for those in (trace.cam_features, trace.layer_features)
    )
    return replace(trace, attention=layers, cam_features=cam, layer_features=by_layer)
