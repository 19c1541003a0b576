"""Tokens lie where a trace says: every place that is claimed wrongly turns the check red, in every family, and where
nothing can be measured the check says so."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import vizkit
from tests.drawn import noisy_picture, seeded
from tests.models.recording.test_meeting import HEADS, ORDER, Mixing, after
from tests.models.test_wrap import PICTURE, SIZE_HW, Encoder, TenLines
from vizkit.models import trace
from vizkit.models.detection import tracing
from vizkit.models.detection.opening import open_detector
from vizkit.models.families import proven_places, swin, tnt, vit
from vizkit.models.families.proven_places import proven
from vizkit.models.recording.recorder import Call, Keep
from vizkit.traces import Attention

IMAGE = noisy_picture(112, 112, 1)
FOUND = "a patch that was changed is found"


def wrapped(model):
    return vizkit.trace(vizkit.wrap(model, size_hw=SIZE_HW), PICTURE)


def of(mix, layer=None):
    with seeded():
        return wrapped(Mixing(after(mix), layer))


BUNDLED = ("insects_vit", "insects_swin", "insects_deit", "insects_gradual", "insects_dual", "digits_swin")


@pytest.mark.parametrize("name", BUNDLED)
def test_every_layer_of_the_bundled_models_is_where_its_trace_says(name):
    made = trace(vizkit.load(f"bundled:{name}"), IMAGE)
    assert made.check.passed
    assert made.check.proofs == ("output of every layer", "logits", "places")
    learned = [layer for layer in made.attention if layer.learned]
    assert (made.check.places_error, made.check.places_found, made.check.places_claimed) == (0, *[len(learned)] * 2)


WINDOWS = swin.window_ids


def with_shift(change):
    def ids(grid, window, shift=(0, 0), **options):
        return WINDOWS(grid, window, tuple(map(change, shift)), **options)

    return ids


def columns_first(grid, *rest, **options):
    ids = WINDOWS(grid, *rest, **options)
    return ids % grid[1] * grid[0] + ids // grid[1]


SHIFTS = {
    "shift ignored": with_shift(lambda steps: 0),
    "shifted the other way": with_shift(lambda steps: -steps),
    "shifted by one less": with_shift(lambda steps: max(0, steps - 1)),
    "flipped in each window": lambda *given, **options: WINDOWS(*given, **options).flip(-1),
    "windows in reverse": lambda *given, **options: WINDOWS(*given, **options).flip(0),
    "columns first": columns_first,
}


@pytest.mark.parametrize("how", SHIFTS)
def test_wrong_places_of_windows_are_red(how, monkeypatch):
    """The first block has no shift, the second has one."""
    loaded = vizkit.load("bundled:insects_swin")
    monkeypatch.setattr(swin, "window_ids", SHIFTS[how])
    made = trace(loaded, IMAGE)
    assert FOUND in str(made.check.refused)
    assert made.notes[0] == made.check.failure
    second = trace(loaded, IMAGE, keep=Keep(layers={0}))
    assert (second.check.refused is None) == how.startswith("shift")


MOVED = {
    "in reverse": lambda ids: ids.flip(-1),
    "next": lambda ids: ids.roll(1, -1),
}


@pytest.mark.parametrize("how", ["in reverse", "next"])
@pytest.mark.parametrize("module, name", [(vit, "insects_vit"), (vit, "insects_deit")])
def test_wrong_places_of_patches_are_red(module, name, how, monkeypatch):
    true = module.all_ids
    monkeypatch.setattr(module, "all_ids", lambda count: MOVED[how](true(count)))
    assert FOUND in str(trace(vizkit.load(f"bundled:{name}"), IMAGE).check.refused)


def test_wrong_places_of_words_in_patches_are_red(monkeypatch):
    loaded = vizkit.load("tnt_s_patch16_224", pretrained=False, model_args={"depth": 1})
    keep = Keep(layers={0, 1})
    right = trace(loaded, IMAGE, keep=keep).check
    assert (right.places_error, right.places_found) == (0, 2)
    loaded.proven.clear()
    true = tnt.window_ids
    monkeypatch.setattr(tnt, "window_ids", lambda *given: true(*given).flip(0))
    assert FOUND in str(trace(loaded, IMAGE, keep=keep).check.refused)


@pytest.mark.parametrize("how", ["right", "in reverse", "next"])
def test_cells_of_a_detector_are_where_its_trace_says(how, monkeypatch):
    """In the encoder, and as keys of the decoder."""
    if how != "right":
        true = tracing.all_ids
        monkeypatch.setattr(tracing, "all_ids", lambda count: MOVED[how](true(count)))
    check = tracing.trace_picture(open_detector("bundled:scenes_detr"), IMAGE).check
    assert (FOUND in str(check.refused)) == (how != "right")
    if how == "right":
        assert (check.places_found, check.places_claimed) == (6, 6)


# What a stranger's layer does with its values ------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [None, 0, 1])
@pytest.mark.parametrize(
    "turn",
    [
        lambda v: v.flip(-2),
        lambda v: v.roll(1, -2),
        lambda v: v[..., ORDER, :],
        lambda v: torch.cat([v[..., :1, :], v[..., 1:, :].flip(-2)], -2),
    ],
)
def test_values_in_another_order_than_the_keys_are_red(turn, layer):
    assert FOUND in str(of(lambda w, v: w @ turn(v), layer).check.refused)


def test_keys_and_values_in_another_order_together_are_right():
    made = of(lambda w, v: w[..., ORDER] @ v[..., ORDER, :])
    assert made.check.passed
    assert made.check.places_error == 0


class Turning(TenLines):
    """The kernel is given queries, keys and values as `turn` makes them."""

    def __init__(self, turn, place):
        super().__init__()
        self.turn, self.place = turn, place

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            given = list(layer["qkv"](x).unflatten(-1, (3, HEADS, 6)).permute(2, 0, 3, 1, 4))
            given[self.place] = self.turn(given[self.place])
            mixed = F.scaled_dot_product_attention(*given)
            x = x + layer["out"](mixed.transpose(1, 2).flatten(2))
        return self.head(x.mean(1))


@pytest.mark.parametrize("place", [1, 2])
def test_the_kernel_is_given_keys_and_values_in_one_order(place):
    assert wrapped(Turning(lambda x: x, place)).check.places_error == 0
    assert FOUND in str(wrapped(Turning(lambda x: x.flip(-2), place)).check.refused)


class Reversed(nn.Module):
    """Values from the end, in torch's own layer."""

    def __init__(self, turn):
        super().__init__()
        self.embed, self.head, self.turn = nn.Conv2d(3, 16, 8, 8), nn.Linear(16, 5), turn
        self.layer = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.head(self.layer(x, x, x.flip(1) if self.turn else x)[0].mean(1))


@pytest.mark.parametrize("turn", [False, True])
def test_torchs_own_layer_is_heard_too(turn):
    assert (FOUND in str(wrapped(Reversed(turn)).check.refused)) == turn


# Where nothing can be said --------------------------------------------------------------------------------------------


class Mixed(TenLines):
    """Every token is a mean over the picture before the first layer."""

    def forward(self, x):
        return super().forward(x.mean((-2, -1), keepdim=True) + 0 * x)


class OneAtATime(TenLines):
    def forward(self, x):
        if len(x) > 1:
            raise RuntimeError("one image at a time")
        return super().forward(x)


@pytest.mark.parametrize("model", [Mixed, OneAtATime])
def test_where_nothing_can_be_measured_nothing_is_said(model):
    made = vizkit.trace(vizkit.wrap(model(), size_hw=SIZE_HW, grid=(3, 5)), PICTURE)
    assert made.check.passed
    assert made.check.proofs == ("output of every layer", "logits")
    assert (made.check.places_found, made.check.places_claimed) == (0, 2)


def test_an_encoder_of_torch_is_measured():
    assert wrapped(Encoder()).check.places_error == 0


# What it costs --------------------------------------------------------------------------------------------------------


def test_one_pass_serves_all_pictures_of_a_size(monkeypatch):
    heard, true = [], proven_places._heard
    monkeypatch.setattr(proven_places, "_heard", lambda *given: heard.append(1) or true(*given))
    loaded = vizkit.load("bundled:insects_vit")
    for options in ({}, {}, {"target": 1}, {"keep": Keep(rows=(3,))}, {"keep": Keep(layers={2})}):
        assert trace(loaded, IMAGE, **options).check.places_error == 0
    assert len(heard) == 1
    assert trace(loaded, IMAGE, edits=["heads:1.1=0"]).check.places_error == 0
    assert trace(vizkit.load("bundled:insects_vit"), IMAGE, edits=["drop:5"]).check.passed
    assert len(heard) <= 2


def test_a_model_that_is_changed_is_not_measured_for_it():
    known, loaded = {}, vizkit.load("bundled:insects_vit")
    made = trace(loaded, IMAGE)
    calls = [Call(layer.name, None, "fused", layer.weights) for layer in made.attention]
    from vizkit.models.recording.plan import Plan, planned

    with planned(Plan((), ())):
        assert proven(loaded.model, torch.zeros(1, 3, 112, 112), calls, made.attention, known).error_cells is None
    assert not known
    assert isinstance(made.attention[0], Attention)
