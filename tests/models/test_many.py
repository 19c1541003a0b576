"""Pictures that go through a model together have the traces that each has alone; one that mixes them is found out."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.drawn import noise
from tests.test_families import ZOO, loaded_of
from vizkit.analysis.attribution.explaining import explain
from vizkit.analysis.attribution.rollout import rollout
from vizkit.models import Keep, families
from vizkit.models.many import Many, drawn, own_numbers
from vizkit.models.recording import recorder
from vizkit.models.sources.loaded import described
from vizkit.traces import NotApplicable, refusals, refuse

EVERY_LAYOUT = (
    *("vision_transformer", "deit", "beit", "swin_transformer", "swin_transformer_v2", "tnt", "cait", "convit"),
    *("crossvit", "xcit", "coat", "volo", "hiera", "twins", "byoanet", "maxxvit", "mvitv2", "dual_scale"),
    *("gradual_reduction", "vision_transformer_sam", "levit"),
)
METHODS = ("attention", "rollout", "gradient_rollout", "generic_relevance", "legrad", "grad_cam", "hires_cam")
GOALS = [3, 1, 2]


def goals(logits):
    return GOALS[: len(logits)]


def pictures(module="vision_transformer", count=3):
    return noise(count, 3, *ZOO[module][1], seed=5)


def alone(loaded, pixels, **options):
    return [families.trace(loaded, one[None], target=goal, **options) for one, goal in zip(pixels, GOALS, strict=True)]


@pytest.mark.product
@pytest.mark.parametrize("module", EVERY_LAYOUT)
def test_a_batch_has_the_traces_and_the_maps_of_its_pictures(module):
    loaded = loaded_of(module)
    pixels = pictures(module)
    many = Many(loaded)
    batch, singles = many.traces(pixels, goals), alone(loaded, pixels)
    assert not many.alone
    for at, trace in enumerate(singles):
        assert_close(batch.logits[at], trace.logits, atol=1e-5, rtol=1e-4)
        own = own_numbers(trace, batch.like)
        assert len(own) == len(batch.numbers)
        for together, single in zip(batch.numbers, own, strict=True):
            assert_close(together[at], single, atol=2e-5 * float(single.abs().max()) + 1e-12, rtol=1e-3)
    errors = [trace.check.output_error for trace in singles]
    assert all(
        error is None or abs(error - float(mine)) < 1e-5 for error, mine in zip(errors, batch.proof_error, strict=True)
    )
    for method in METHODS:
        said = [explained(method, trace) for trace in singles]
        found = mapped(batch, method)
        if isinstance(found, str):
            assert said == [found] * 3
            continue
        for heat, why, single in zip(*found, said, strict=True):
            if why is None:
                assert_close(heat, single, atol=1e-4 * float(single.abs().max()), rtol=1e-3)
            else:
                assert why == single


def mapped(batch, method):
    try:
        return batch.each(lambda trace: explain(method, trace).heat)
    except NotApplicable as reason:
        return str(reason)


def explained(method, trace):
    try:
        return explain(method, trace).heat
    except NotApplicable as reason:
        return str(reason)


def test_the_mean_of_the_heads_is_that_of_each_picture():
    loaded = loaded_of("vision_transformer")
    pixels, keep = pictures(), Keep(heads="mean")
    batch = Many(loaded, keep).traces(pixels)
    for at, one in enumerate(pixels):
        single = families.trace(loaded, one[None], keep=keep)
        for together, layer in zip(batch.numbers, single.attention, strict=True):
            assert_close(together[at], layer.weights)


def test_one_picture_is_asked_without_vmap(monkeypatch):
    """Which takes longer than what it is asked."""
    many = Many(loaded_of("deit"), Keep(heads="mean"))
    expected, _ = many.traces(pictures("deit")).each(rollout)
    monkeypatch.setattr(torch, "vmap", None)
    heat, reasons = many.traces(pictures("deit")[:1]).each(rollout)
    assert_close(heat, expected[:1])
    assert reasons == [None]


def test_one_picture_that_is_refused_says_why():
    batch = Many(loaded_of("vision_transformer")).traces(pictures()[:1], goals)
    numbers = torch.tensor([2.0])
    assert batch.each(lambda trace, own: refuse(own > 1, "Too large.") or own, numbers) == (numbers, ["Too large."])


def test_later_batches_are_told_apart_too_and_may_be_smaller():
    loaded = loaded_of("vision_transformer")
    many = Many(loaded, by_layer=False)
    pixels = pictures(count=7)
    many.traces(pixels[:3], goals)
    assert many.untouched is not None  # a ViT's tensors are taken as they are
    for part in (pixels[3:6], pixels[6:]):
        batch = many.traces(part, goals)
        for at, one in enumerate(part):
            trace = families.trace(loaded, one[None], target=GOALS[at])
            assert_close(batch.numbers[0][at], own_numbers(trace, batch.like)[0])


def test_what_leaves_the_blocks_is_not_kept_for_maps_without_gradients(monkeypatch):
    """Of the first batch it is, to know its places; of later ones nobody reads it."""
    loaded = loaded_of("deit")
    many = Many(loaded, Keep(heads="mean"))
    expected, _ = many.traces(pictures("deit")).each(rollout)
    monkeypatch.setattr(type(loaded.model), "forward_intermediates", None)
    assert_close(many.traces(pictures("deit")).each(rollout)[0], expected)


class Mixing(nn.Module):
    """What each picture looks like depends on its neighbours: as batch normalisation that was never switched off."""

    def __init__(self, between, apart=None):
        super().__init__()
        self.apart = apart or self.all_of_it
        torch.manual_seed(0)
        self.patch, self.head = nn.Conv2d(3, 8, 8, 8), nn.Linear(8, 4)
        self.attn, self.between = nn.MultiheadAttention(8, 2, batch_first=True), between

    def forward(self, pixels):
        x = self.patch(pixels).flatten(2).transpose(1, 2)
        x = self.apart(x) if self.between == "before attention" else x
        x = x + self.attn(x, x, x)[0]
        return self.head((self.apart(x) if self.between == "after it" else x).mean(1))

    @staticmethod
    def all_of_it(x):
        return x - x.mean(0, keepdim=True)


def a_little(x):
    return 0.95 * x + 0.05 * x.roll(1, 0)


def swapped_in_the_middle(x):
    """Of eight pictures the fourth and the fifth."""
    return (
        x[[*range(len(x) // 2 - 1), len(x) // 2, len(x) // 2 - 1, *range(len(x) // 2 + 1, len(x))]] if len(x) > 3 else x
    )


@pytest.mark.parametrize("between", ["", "before attention", "after it"])
def test_a_model_that_mixes_its_pictures_is_given_them_one_by_one(between):
    loaded = described("toy", Mixing(between).eval(), None, source="test")
    pixels, many = pictures(), Many(loaded)
    batch = many.traces(pixels)
    assert many.alone is bool(between)
    for at, trace in enumerate(alone(loaded, pixels)):
        assert_close(batch.logits[at], trace.logits)
        assert_close(batch.numbers[0][at], own_numbers(trace, batch.like)[0])


@pytest.mark.product("mixing", "between")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mixing", [a_little, swapped_in_the_middle])
@pytest.mark.parametrize("between", ["before attention", "after it"])
def test_the_first_batch_tells_a_little_mixing_and_two_that_are_swapped(between, mixing, dtype):
    loaded = described("toy", Mixing(between, mixing).eval().to(dtype), None, source="test")
    pixels, many = pictures(count=8).to(dtype), Many(loaded)
    batch = many.traces(pixels)
    assert many.alone
    for at, one in enumerate(pixels):
        assert_close(batch.logits[at], families.trace(loaded, one[None]).logits)


def test_equal_pictures_decide_nothing():
    loaded = described("toy", Mixing("after it", a_little).eval(), None, source="test")
    many = Many(loaded)
    same = pictures()[:1].expand(4, -1, -1, -1)
    assert_close(many.traces(same).logits[3], families.trace(loaded, same[:1]).logits)
    assert many.alone is None
    many.traces(pictures())
    assert many.alone


@pytest.mark.parametrize("module", ["vision_transformer", "swin_transformer"])
def test_a_batch_of_any_kind_is_believed_where_pictures_keep_apart(module):
    for kept in (pictures(module, 4)[[0, 0, 1, 1]], pictures(module, 2)):
        many = Many(loaded_of(module))
        many.traces(kept, lambda logits: [1] * len(logits))
        assert many.alone is False


def test_every_batch_is_compared_in_one_picture_that_its_numbers_draw():
    model = Mixing("after it", lambda x: x).eval()
    loaded = described("toy", model, None, source="test")
    many = Many(loaded)
    many.traces(pictures())
    assert many.alone is False
    model.apart = a_little
    mixed = pictures(count=5)
    batch = many.traces(mixed)
    assert many.alone
    assert_close(batch.logits[2], families.trace(loaded, mixed[2:3]).logits)


def test_the_picture_that_is_drawn_differs_from_both_neighbours_where_one_does():
    some = pictures(count=4)
    batch = some[[0, 0, 0, 1, 2, 2, 2]]
    assert drawn(batch) == drawn(batch.clone()) == (3, True)
    assert drawn(some[[0, 0, 1, 1]])[1]
    assert not drawn(some[[0, 0, 0]])[1]
    places = {drawn(noise(8, 3, 32, 32, seed=seed))[0] for seed in range(40)}
    assert len(places) > 5


def test_a_picture_whose_weights_are_others_has_an_error_of_its_own(monkeypatch):
    loaded, true = loaded_of("vision_transformer"), recorder.attention_weights
    pixels, many = pictures(), Many(loaded)
    many.traces(pixels, goals)

    def wrong(query, key, **options):
        weights = true(query, key, **options)
        return torch.cat([weights[:1], weights[1:2].flip(-1), weights[2:]])

    monkeypatch.setattr(recorder, "attention_weights", wrong)
    error = many.traces(pixels, goals).proof_error
    assert (error > many.traces(pixels, goals).allowed).tolist() == [False, True, False]


def test_a_picture_whose_rows_miss_one_fails_and_the_others_do_not(monkeypatch):
    loaded, true = loaded_of("vision_transformer"), recorder.attention_weights
    many = Many(loaded, by_layer=False)
    many.traces(pictures(), goals)

    def halved(query, key, **options):
        weights = true(query, key, **options)
        return torch.cat([weights[:2], weights[2:] * 0.5])

    monkeypatch.setattr(recorder, "attention_weights", halved)
    assert many.traces(pictures(), goals).proof_error.isinf().tolist() == [False, False, True]


def test_what_numbers_refuse_is_kept_for_each_picture():
    with pytest.raises(NotApplicable, match="too small"):
        refuse(torch.tensor(0.0) < 1, "too small")
    with refusals() as kept:
        refuse(torch.tensor(0.0) < 1, "too small")
        refuse(torch.tensor(0.0) > 1, "too large")
    assert [(bool(wrong), said) for wrong, said in kept] == [(True, "too small"), (False, "too large")]
    refuse(torch.tensor(2.0) < 1, "too small")
