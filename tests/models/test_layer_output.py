"""The proof that every trace carries: what its weights give is what each layer itself gave. Here the weights are broken
on purpose, in every mode of recording, and the check has to fail; healthy models have to pass."""

import copy

import pytest
import timm
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from tests.drawn import noise, seeded
from tests.models.test_recording import HEADS, KEYS, Fused, MultiHead, Toy, Written, X
from vizkit.models import families
from vizkit.models.families.translate import output_of
from vizkit.models.recording import call, layer_output, weights
from vizkit.models.recording import recorder as recording
from vizkit.models.recording.layer_output import difference, draw_of, kernel_rows, multi_head_rows, sampled, worst
from vizkit.models.recording.recorder import Call, Keep, Recorder
from vizkit.models.sources.loaded import described
from vizkit.traces import OUTPUT_TOLERANCE, tolerance

TRUE = weights.attention_weights


# Ways to be wrong -----------------------------------------------------------------------------------------------------


def reversed_channels(query, key, **options):
    return TRUE(query.flip(-1), key, **options)


def wrong_scale(query, key, **options):
    return TRUE(query, key, **options | {"scale": 1.05 * (options.get("scale") or query.shape[-1] ** -0.5)})


def next_row(query, key, **options):
    return TRUE(query.roll(1, -2), key, **options)


def transposed(query, key, **options):
    """Columns that sum to one, laid down as rows: what a mixed-up product would give."""
    return TRUE(key, query, **options) if query.shape == key.shape else next_row(query, key, **options)


def next_head(query, key, **options):
    """Where heads come one by one, there is no next one: then the last row for the first."""
    return next_row(query, key, **options) if query.shape[-3] == 1 else TRUE(query, key.roll(1, -3), **options)


def without_mask(query, key, **options):
    return TRUE(query, key, **options | {"attn_mask": None, "is_causal": False})


WRONG = (reversed_channels, wrong_scale, next_row, transposed, next_head)
MODES = {
    "default": {},
    "rows": {"keep": Keep(rows=(4, 1))},
    "mean": {"keep": Keep(heads="mean")},
    "mean of rows": {"keep": Keep(rows=(4, 1), heads="mean")},
    "stored in half": {"keep": Keep(dtype=torch.float16)},
    "target": {"target": 2},
}


def model_of(layer=Fused, sharpness=3.0, **options):
    """Two layers that choose among their keys: with random weights as they are, all heads would look everywhere."""
    with seeded():
        model = Toy(layer, **options).eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        if name.endswith(("qkv.weight", "in_proj_weight")):
            weight[: 2 * weight.shape[0] // 3] *= sharpness  # queries and keys
    return model


def outcome(model, dtype=torch.float32, keep=None, target=None):
    """(error, tolerance) of the proof, as a trace carries it."""
    model, x = copy.deepcopy(model).to(dtype), X.to(dtype)
    with torch.set_grad_enabled(target is not None), Recorder(model, keep, gradient=target is not None) as recorder:
        out = model(x.clone().requires_grad_(target is not None))
    if target is not None:
        recorder.take_gradients(out[0, target])
    return output_of(recorder.calls)


def holds(found):
    error, allowed = found
    assert error is not None
    return error <= allowed


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layer", [Fused, Written, MultiHead])
def test_right_weights_give_the_output_of_the_layer(layer, mode, dtype):
    error, allowed = outcome(model_of(layer), dtype, **MODES[mode])
    assert error is not None
    assert error <= allowed
    assert allowed in {tolerance(torch.float32), tolerance(dtype), tolerance(torch.float16)}


@pytest.mark.product("mode", "wrong")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_weights_are_noticed_in_every_mode(wrong, mode, dtype, monkeypatch):
    model = model_of()
    for module in (recording, weights):  # the mean over heads asks the one, everything else the other
        monkeypatch.setattr(module, "attention_weights", wrong)
    assert not holds(outcome(model, dtype, **MODES[mode]))


LATER = torch.ones(KEYS, KEYS).triu(1) == 1
MASKS = {
    "causal": {"is_causal": True},
    "boolean": {"attn_mask": ~LATER},
    "additive": {"attn_mask": noise(1, HEADS, KEYS, KEYS, seed=5)},
    "one row for all": {"attn_mask": torch.arange(KEYS)[None] > 2},
    "scale": {"scale": 0.9},
    "scale and causal": {"scale": 0.9, "is_causal": True},
}


@pytest.mark.product("mode", "case")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", MASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masks_and_scales_are_part_of_the_proof(case, mode, dtype, monkeypatch):
    options = dict(MASKS[case])
    if "attn_mask" in options and options["attn_mask"].is_floating_point():
        options["attn_mask"] = options["attn_mask"].to(dtype)
    model = model_of(**options)
    assert holds(outcome(model, dtype, **MODES[mode]))

    def without(query, key, **given):
        return TRUE(query, key, **given | {"attn_mask": None, "is_causal": False, "scale": None})

    for module in (recording, weights):
        monkeypatch.setattr(module, "attention_weights", without)
    assert not holds(outcome(model, dtype, **MODES[mode]))


class Grouped(Fused):
    """Grouped-query attention: six query heads, and every second one has keys and values of its own."""

    def mixed(self, query, key, value):
        return F.scaled_dot_product_attention(query, key[:, ::2], value[:, ::2], enable_gqa=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mode", MODES)
def test_keys_and_values_repeated_in_the_wrong_order_are_noticed(mode, dtype, monkeypatch):
    model = model_of(Grouped, heads=6)
    assert holds(outcome(model, dtype, **MODES[mode]))

    def tiled(tensor, query, enable_gqa):
        return tensor.repeat(1, query.shape[-3] // tensor.shape[-3], 1, 1) if enable_gqa else tensor

    for module in (weights, recording, layer_output):
        monkeypatch.setattr(module, "repeated", tiled)
    assert not holds(outcome(model, dtype, **MODES[mode]))


@pytest.mark.parametrize("case", ["plain", "boolean", "padding", "extra keys", "no bias"])
@pytest.mark.parametrize("keep", [None, Keep(rows=(4, 1)), Keep(heads="mean"), Keep(rows=(5,), heads="mean")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_multi_head_attention_is_proven_by_its_own_output(case, keep, dtype, monkeypatch):
    options = {"boolean": {"attn_mask": LATER}, "padding": {"key_padding_mask": torch.arange(KEYS)[None] >= 5}}
    model = model_of(MultiHead, **options.get(case, {}))
    kinds = {"extra keys": {"add_bias_kv": True, "add_zero_attn": True}, "no bias": {"bias": False}}
    for block in model.blocks if case in kinds else ():
        with seeded(4):
            block.attention = nn.MultiheadAttention(12, HEADS, batch_first=True, **kinds[case]).requires_grad_(False)
    assert holds(outcome(model, dtype, keep))
    true = F.multi_head_attention_forward

    def shuffled(*args, **kwargs):
        out, found = true(*args, **kwargs)
        return out, None if found is None else found.roll(1, -3)

    def multi_head(self, func, given):
        return TRUE_MULTI_HEAD(self, shuffled, given)

    monkeypatch.setattr(Recorder, "_multi_head", multi_head)
    assert not holds(outcome(model, dtype, keep))


TRUE_MULTI_HEAD = Recorder._multi_head


# What is stored -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [Fused, Written, MultiHead])
@pytest.mark.parametrize("mode", MODES)
def test_what_is_stored_is_compared_too(layer, mode, monkeypatch):
    """After the weights were right: rows are lost between the layer and the trace."""
    true = call.grouped

    def moved(found, *of_its_layer):
        found = true(found, *of_its_layer)
        return found.roll(1, -2) if next(calls) % 2 == 0 else found  # the weights, not the sample after them

    calls = iter(range(1000))
    monkeypatch.setattr(call, "grouped", moved)
    assert not holds(outcome(model_of(layer), **MODES[mode]))


def test_a_mean_that_misses_a_head_is_noticed(monkeypatch):
    true = recording.mean_over_heads

    def of_two(query, key, value, options, places):
        _, out, sample = true(query, key, value, options, places)
        return TRUE(query[:, :2], key[:, :2]).mean(1, keepdim=True), out, sample

    monkeypatch.setattr(recording, "mean_over_heads", of_two)
    assert not holds(outcome(model_of(), keep=Keep(heads="mean")))


def test_the_dtype_that_is_stored_widens_the_tolerance_and_no_more():
    assert outcome(model_of(), keep=Keep(dtype=torch.float16))[1] == tolerance(torch.float16)
    assert outcome(model_of(), keep=Keep(dtype=torch.bfloat16))[1] == tolerance(torch.bfloat16)
    assert outcome(model_of())[1] == OUTPUT_TOLERANCE


def test_a_layer_that_was_not_recorded_needs_no_proof_and_one_that_cannot_be_asked_gives_none():
    assert outcome(model_of(), keep=Keep(layers=())) == (None, OUTPUT_TOLERANCE)
    assert holds(outcome(model_of(), keep=Keep(layers={1})))
    weightless, unproven = Call("a", None, "fused"), Call("b", None, "mha", weights=torch.ones(1, 1, 1, 1))
    assert output_of([weightless, unproven]) == (None, OUTPUT_TOLERANCE)


# The parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "count, draw, expected",
    [
        (197, 0, [0, 49, 98, 147]),
        (197, 49, [49, 98, 147, 196]),
        (197, 50, [0, 49, 98, 147]),
        (5, 0, [0, 1, 2, 3]),
        (5, 7, [1, 2, 3, 4]),
        (4, 3, [0, 1, 2, 3]),
        (2, 9, [0, 1]),
        (1, 5, [0]),
    ],
)
def test_sampled_rows_are_few_spread_and_within(count, draw, expected):
    places, queries = sampled(torch.zeros(1, count, 3), None, draw)
    assert list(range(count))[places] == expected
    assert places == queries
    asked = tuple(range(1000, 1000 + count))
    again, queries = sampled(torch.zeros(1, 2000, 3), asked, draw)
    assert again == places
    assert torch.arange(2000)[queries].tolist() == [1000 + place for place in expected]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 49, 197, 1025])
def test_every_row_has_its_turn(count):
    seen = {row for draw in range(count) for row in range(count)[sampled(torch.zeros(count, 3), None, draw)[0]]}
    assert seen == {*range(count)}


def test_a_picture_decides_which_rows_are_compared():
    """The same again for the same picture, in every layer others, and others for another picture."""

    def places(pixels):
        with torch.no_grad(), Recorder(model, draw=draw_of(pixels)) as recorder:
            model(pixels)
        return [call.places.start for call in recorder.calls]

    model = model_of()
    pictures = torch.randn(8, 1, 97, 12)
    found = [places(one) for one in pictures]
    assert found == [places(one) for one in pictures]
    assert len({start for start, _ in found}) > 4
    assert all(first != second for first, second in found)
    assert draw_of(pictures[0]) != draw_of(pictures[0] + 1e-6) != draw_of(pictures[0].bfloat16())


def test_a_difference_is_relative_to_the_largest_number_of_its_own_head():
    theirs = torch.tensor([[[100.0, -50.0]], [[0.1, 0.05]]])
    assert worst([difference(theirs + torch.tensor([[[0.0]], [[0.01]]]), theirs)])[0] == pytest.approx(0.1)
    assert worst([difference(theirs, theirs)])[0] == 0
    nothing = torch.zeros(1, 2, 2)
    assert worst([difference(nothing, nothing)])[0] == 0


def off_by(error, dtype=torch.float32, heads=1):
    """Heads whose last one is off by `error`, though the largest numbers of another are far larger."""
    theirs = torch.tensor([2.0**-head for head in range(heads)])[:, None, None].expand(-1, 2, 3)
    mine = theirs.clone()
    mine[-1, 1, 2] *= 1 + error
    return difference(mine, theirs, dtype)


@pytest.mark.parametrize("heads", [(1, 1, 1), (1, 5, 5), (5, 1, 2)])
def test_the_worst_difference_is_the_one_nearest_to_its_own_tolerance(heads):
    """Of layers of one shape, which are compared in one go, and of different ones."""
    of_all, half = off_by(9e-5, heads=heads[0]), off_by(8e-3, torch.bfloat16, heads[1])
    others = [off_by(1e-6, heads=heads[2]), off_by(1e-3, torch.bfloat16, heads[2])]
    assert worst([others[0], of_all, half, others[1]]) == pytest.approx((9e-5, 1e-4), rel=1e-2)
    above = off_by(1.5e-2, torch.bfloat16, heads[1])
    assert worst([of_all, others[1], half, above, others[0]]) == pytest.approx((1.5e-2, 2**-6), rel=1e-2)
    for place in range(3):
        error, allowed = worst([*others[:place], off_by(float("nan"), heads=heads[2]), *others[place:], above])
        assert not error <= allowed


def test_what_is_compared_later_keeps_no_whole_layer_in_memory():
    layer = torch.zeros(4, 1000, 8)
    kept = difference(layer[:, 0:4], layer[:, 4:8])
    assert all(each.untyped_storage().nbytes() == 4 * 4 * 8 * 4 for each in kept[:2])


@pytest.mark.parametrize("case", MASKS)
def test_the_kernel_asked_for_a_few_rows_gives_those_rows(case):
    query, key, value = (torch.randn(1, HEADS, KEYS, 5) for _ in range(3))
    whole = F.scaled_dot_product_attention(query, key, value, **MASKS[case])
    some = kernel_rows(F.scaled_dot_product_attention, query, key, value, [5, 0], MASKS[case])
    assert_close(some, whole[..., [5, 0], :])


@pytest.mark.parametrize("width", [12, 8])
def test_rows_projected_after_the_product_are_those_of_multi_head_attention(width):
    layer = nn.MultiheadAttention(12, HEADS, batch_first=True, vdim=width).requires_grad_(False)
    values = torch.randn(1, KEYS, width)
    layer.in_proj_bias.normal_()
    layer.out_proj.bias.normal_()
    out, found = layer(X, X, values, average_attn_weights=False)
    given = {"value": values.transpose(0, 1), "num_heads": HEADS, "in_proj_weight": layer.in_proj_weight}
    given |= {"use_separate_proj_weight": width != 12, "v_proj_weight": layer.v_proj_weight}
    given |= {"in_proj_bias": layer.in_proj_bias, "out_proj_weight": layer.out_proj.weight}
    rows = multi_head_rows(found[:, :, [6, 2]], given | {"out_proj_bias": layer.out_proj.bias})
    assert_close(rows, out[:, [6, 2]])


# Whole traces of true families ----------------------------------------------------------------------------------------

SMALL = {  # model → its input, what makes it small
    "vit_tiny_patch16_224": (64, {"img_size": 64, "depth": 2}),
    "deit_tiny_distilled_patch16_224": (64, {"img_size": 64, "depth": 2}),
    "beit_base_patch16_224": (64, {"img_size": 64, "depth": 2, "embed_dim": 96, "num_heads": 3}),
    "eva02_tiny_patch14_224": (56, {"img_size": 56, "depth": 2}),
    "cait_xxs24_224": (64, {"img_size": 64, "depth": 2}),
    "swin_tiny_patch4_window7_224": (96, {"img_size": (64, 96), "depths": (2, 2), "num_heads": (3, 6)}),
    "tnt_s_patch16_224": (64, {"img_size": 64, "depth": 2}),
    "levit_128s": (128, {"img_size": 128}),
    "pvt_v2_b0": (64, {"depths": (1, 1, 1, 1)}),
    "maxvit_pico_rw_256": (128, {"img_size": 128, "depths": (1, 1, 1, 1)}),
}


def family(name, dtype, fused=True):
    with seeded():
        model = timm.create_model(name, pretrained=False, **SMALL[name][1]).eval().requires_grad_(False)
    for module in model.modules():
        if "fused_attn" in vars(module):
            setattr(module, "fused_attn", fused)  # noqa: B010  (a plain flag, whatever nn.Module declares)
    for part, weight in model.named_parameters():
        if "qkv" in part and part.endswith("weight"):
            weight *= 4  # sharper than random weights are
    return described(name, model.to(dtype), None, source="test")


def trace_of(loaded, dtype, **options):
    width = SMALL[loaded.name][0]
    pixels = noise(1, 3, 64 if width == 96 else width, width, seed=1).to(dtype)
    return families.trace(loaded, pixels, **options)


@pytest.mark.product
@pytest.mark.parametrize("dtype, fused", [(torch.float32, True), (torch.bfloat16, True), (torch.bfloat16, False)])
@pytest.mark.parametrize("name", SMALL)
def test_healthy_families_pass_with_both_proofs(name, dtype, fused):
    loaded = family(name, dtype, fused)
    for options in ({}, {"keep": Keep(rows=(0, 3))}, {"keep": Keep(heads="mean")}, {"target": 1}):
        check = trace_of(loaded, dtype, **options).check
        assert check.passed, (options, check)
        assert check.proofs[:2] == ("output of every layer", "logits")
        assert check.places_error in (0, None)
    again = trace_of(loaded, dtype).check
    assert again.output_error is not None  # for this very picture, also where the logits were compared before


@pytest.mark.product
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mode", ["default", "rows", "mean", "target"])
@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "eva02_tiny_patch14_224"])
def test_a_trace_of_nonsense_weights_does_not_pass(name, mode, dtype, monkeypatch):
    loaded = family(name, dtype)
    assert trace_of(loaded, dtype, **MODES[mode]).check.passed  # the logits are compared, once for this size
    for module in (recording, weights):
        monkeypatch.setattr(module, "attention_weights", reversed_channels)
    trace = trace_of(loaded, dtype, **MODES[mode])
    assert not trace.check.passed
    assert trace.check.refused in trace.notes


def test_a_shifted_window_without_its_mask_is_noticed(monkeypatch):
    loaded = family("swin_tiny_patch4_window7_224", torch.bfloat16)
    for module in (recording, weights):
        monkeypatch.setattr(module, "attention_weights", without_mask)
    assert not trace_of(loaded, torch.bfloat16).check.passed


# A check that fails is seen -------------------------------------------------------------------------------------------


def test_a_failing_check_keeps_the_places_and_says_the_true_reason():
    """Scores so large that rounding alone moves the prediction: the features on the way are not to blame for it."""
    traces = []
    for sharpness in (1, 64):
        with seeded():
            model = timm.create_model("davit_tiny", depths=(1, 1, 3, 1), embed_dims=(24, 48, 96, 192)).eval()
        for name, weight in model.requires_grad_(False).named_parameters():
            if name.endswith("qkv.weight"):
                weight *= sharpness
        pixels = noise(1, 3, 64, 96, seed=1)
        traces.append(families.trace(described("davit_tiny", model, None, source="test"), pixels))
    good, bad = traces
    assert good.check.passed
    assert not bad.check.passed
    assert bad.check.failure == bad.notes[0]
    assert "prediction is another than without" in bad.notes[0]
    assert [layer.key.grid for layer in bad.attention] == [layer.key.grid for layer in good.attention]
    assert len(bad.features) == len(good.features) > 0
    assert bad.notes[1:] == good.notes


def test_features_that_end_in_another_prediction_are_refused_and_named(monkeypatch):
    with seeded():
        model = timm.create_model("pvt_v2_b0", pretrained=False, depths=(1, 1, 1, 1)).eval().requires_grad_(False)
    loaded = described("pvt_v2_b0", model, None, source="test")
    monkeypatch.setattr(type(model), "forward_intermediates", lambda self, x: (self.forward_features(x) * 2, []))
    trace = families.trace(loaded, torch.randn(1, 3, 64, 96))
    assert trace.check.passed
    assert not trace.features
    assert "gives no feature maps that end in its own prediction" in trace.notes[0]
