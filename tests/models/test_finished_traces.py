"""From recorded calls to the proof of a trace, with calls made by hand."""

from dataclasses import replace

import pytest
import torch
from timm.layers.diff_attention import DiffAttention
from timm.models.cait import TalkingHeadAttn
from timm.models.volo import OutlookAttention
from torch import nn

from vizkit.models.families import translate
from vizkit.models.families.proven_places import Places
from vizkit.models.recording.call import Call, version_of
from vizkit.models.recording.edits import parse
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.layer_output import LOST, Difference
from vizkit.models.recording.plan import Place, Plan, planned
from vizkit.traces import OUTPUT_TOLERANCE, Attention, Features, Tokens, TraceError

TOKENS = Tokens("image", (), (2, 3))
PIXELS = torch.zeros(1, 3, 5, 7)


def apart(by, allowed=1e-4):
    """Two rows whose largest numbers are 1 and differ by so much."""
    theirs = torch.tensor([[[1.0, 0.5, 0.0]]])
    return Difference(theirs - torch.tensor([[[0.0, by, 0.0]]]), theirs, allowed)


def call(path="a", *differences, kernel="fused", **facts):
    """Of 6 queries with 6 keys, 2 heads, of which places 1 and 4 were compared."""
    weights = facts.pop("weights", torch.full((1, 2, 6, 6), 1 / 6))
    made = Call(path, facts.pop("module", None), kernel, weights, 2, differences=[*differences], **facts)
    made.places = slice(1, 5, 3)
    if weights is not None:
        made.version = version_of(weights)
    return made


def written(path, met):
    """A softmax that the layer writes out."""
    return call(path, apart(0.0), kernel="softmax", met=met)


# ---- the output of every layer ---------------------------------------------------------------------------------------
def test_the_layer_that_is_nearest_to_its_tolerance_is_said():
    calls = [call("a", apart(2e-5)), call("b", apart(3e-3, 1e-2)), call("c", apart(1e-5), apart(4e-5))]
    assert translate.output_of(calls) == pytest.approx((4e-5, 1e-4), rel=1e-2)  # .4 of what is allowed, b has .3
    assert translate.output_of(calls[:2]) == pytest.approx((3e-3, 1e-2), rel=1e-2)


def test_nothing_is_said_where_a_layer_was_not_compared():
    assert translate.output_of([call("a", apart(0.0)), call("b")]) == (None, OUTPUT_TOLERANCE)
    assert translate.output_of([]) == (None, OUTPUT_TOLERANCE)
    unkept = call("b", weights=None)  # not asked for: it takes nothing from the others
    assert translate.output_of([call("a", apart(5e-5)), unkept])[0] == pytest.approx(5e-5, rel=1e-2)


def test_what_met_the_values_counts_like_the_output():
    assert translate.output_of([written("a", apart(7e-5))])[0] == pytest.approx(7e-5, rel=1e-2)
    error, allowed = translate.output_of([written("a", apart(0.0)), written("b", apart(0.25))])
    assert (error, allowed) == (pytest.approx(0.25), 1e-4)


def test_as_many_layers_as_a_note_names_may_change_their_weights():
    astray = [written("a", apart(0.3)), written("b", apart(0.4)), written("c", apart(2e-5))]
    assert translate.output_of(astray, changed=2)[0] == pytest.approx(2e-5, rel=1e-2)
    assert translate.output_of(astray, changed=1)[0] == pytest.approx(0.4)
    blended = [written("a", apart(0.3)), written("a", apart(0.4))]  # two maps of one layer
    assert translate.output_of(blended, changed=1)[0] == pytest.approx(0.0)
    assert translate.output_of(blended, changed=0)[0] == pytest.approx(0.4)


def test_where_nobody_saw_what_became_of_them_nothing_is_claimed():
    assert translate.output_of([written("a", None)]) == (None, OUTPUT_TOLERANCE)
    assert translate.output_of([written("a", None), written("b", apart(0.2))])[0] == pytest.approx(0.2)


def test_weights_that_were_written_into_later_are_lost():
    late = call("a", apart(0.0))
    late.weights.mul_(0.5)
    assert translate.output_of([late])[0] == pytest.approx(float((LOST.mine - LOST.theirs).abs().max()))
    assert translate.output_of([late], changed=1)[0] == pytest.approx(0.0)


def test_how_many_rows_of_how_many_were_compared():
    windows = call("b", apart(0.0), weights=torch.full((5, 3, 4, 4), 0.25))
    windows.places = slice(0, 4, 2)
    calls = [call("a", apart(0.0)), windows, call("not compared"), call("not kept", weights=None)]
    assert translate.rows_of(calls) == (1 * 2 + 5 * 2, 1 * 6 + 5 * 4)  # windows × rows of each
    assert translate.rows_of([]) == (0, 0)


# ---- notes -----------------------------------------------------------------------------------------------------------
def test_layers_that_change_their_weights_are_named_once():
    talking, difference = TalkingHeadAttn(8, 2), DiffAttention(8, 2)
    calls = [call(module=each) for each in (talking, nn.Linear(2, 2), None, talking, difference)]
    second, heads = translate.changes(calls)
    assert heads == (
        "TalkingHeadAttn mixes its heads after the softmax; shown are the weights as the softmax gives them."
    )
    assert second.startswith("DiffAttention subtracts its second map (· 2) from its first (· 1); shown")
    assert translate.changes([call(module=OutlookAttention(8, 2))]) == [translate.OVERLAPPING]
    assert translate.changes([call()]) == []


# ---- the trace -------------------------------------------------------------------------------------------------------
class Model:
    """What a trace says of a model of texts."""

    name, notes = "toy", ("it is a toy",)


def finished(*calls, places=None, planned=None, notes=(), **passed):
    every = {"logits": torch.tensor([0.25, 0.75]), "maps": (), "specials": (), "logit_error": 0.0} | passed
    attention = [
        Attention(each.path, each.weights, TOKENS, TOKENS, torch.arange(6)[None], torch.arange(6)[None], heads=2)
        for each in calls
        if each.weights is not None
    ]
    features = [Features("out", torch.zeros(6, 4), TOKENS)]
    result = Pass(calls=calls, **every)
    made = translate.Translated(attention, features, planned, notes, features[:0], features)
    return translate.finish(Model(), PIXELS, 1, result, made, places)


def test_a_trace_has_all_that_was_found():
    trace = finished(call("a", apart(2e-5)), places=Places(0.0, 1, 2), notes=("by the family",), linear=3)
    assert (trace.model, trace.image_size, trace.target, trace.linear) == ("toy", (5, 7), 1, 3)
    assert trace.logits.tolist() == [0.25, 0.75]
    assert trace.notes == ("by the family", "it is a toy")
    assert [len(each) for each in (trace.attention, trace.features, trace.cam_features, trace.layer_features)] == [
        1,
        1,
        0,
        1,
    ]
    check = trace.check
    assert (check.layers_found, check.layers_expected, check.logit_error) == (1, None, 0.0)
    assert (check.rows_compared, check.rows_recorded) == (2, 6)
    assert (check.places_error, check.places_found, check.places_claimed) == (0.0, 1, 2)
    assert (check.edit_error, check.edit_tolerance) == (None, OUTPUT_TOLERANCE)
    assert check.passed


def test_without_places_none_are_claimed():
    check = finished(call("a", apart(0.0))).check
    assert (check.places_error, check.places_found, check.places_claimed) == (None, 0, 0)


def test_a_check_that_failed_is_the_first_note():
    trace = finished(call("a", apart(0.5)), notes=("by the family",))
    assert trace.notes == (trace.check.failure, "by the family", "it is a toy")
    assert "they differ by 5.0e-01" in trace.notes[0]


def test_as_many_layers_are_expected_as_anybody_counted():
    for known, layers, expected in ((None, None, None), (1, None, 1), (None, 1, 1), (1, 0, 1), (0, 1, 1)):
        assert finished(call("a", apart(0.0)), planned=known, layers=layers).check.layers_expected == expected
    for known, layers, expected in ((None, 2, 2), (3, 2, 3), (2, 3, 3)):
        with pytest.raises(TraceError, match=f"^toy: 1 of {expected} attention layers were recorded"):
            finished(call("a", apart(0.0)), planned=known, layers=layers)


def test_a_model_of_which_nothing_was_recorded():
    with pytest.raises(TraceError, match=r"^toy: no attention was recorded, 4 layers were expected"):
        finished(planned=4)
    assert finished(planned=0).check.row_sum_error == 0.0  # a network without attention
    assert finished().check.layers_found == 0


def test_the_largest_error_of_any_row_is_said():
    off = torch.full((1, 2, 6, 6), 1 / 6)
    off[0, 1, 3, 2] += 3e-5
    worse = torch.full((1, 2, 6, 6), 1 / 6)
    worse[0, 0, 5, 5] -= 8e-5
    check = finished(call("a", apart(0.0), weights=off), call("b", apart(0.0), weights=worse)).check
    assert check.row_sum_error == pytest.approx(8e-5, rel=1e-2)


def test_what_a_change_makes_of_a_layer_is_compared():
    check = finished(call("a", apart(0.0)), edited=(apart(2e-5), apart(6e-4, 1e-3))).check
    assert (check.edit_error, check.edit_tolerance) == (pytest.approx(6e-4, rel=1e-2), 1e-3)


def test_layers_of_weights_that_the_model_changes_are_forgiven():
    assert finished(written("a", apart(0.3)), changed=1).check.output_error == pytest.approx(0.0)
    assert finished(written("a", apart(0.3)), changed=0).check.output_error == pytest.approx(0.3)


def test_what_enters_a_layer_lies_where_its_keys_are():
    """Of five calls one is not kept; three have no input, no grid or other tokens, and keep no other out."""
    values, gradient = torch.arange(12.0).view(6, 2), torch.arange(12.0, 24.0).view(1, 6, 2)
    own, order = torch.arange(6)[None], torch.tensor([[3, 4, 5, 0, 1, 2]])
    layer = Attention("e", torch.full((1, 2, 6, 6), 1 / 6), TOKENS, TOKENS, own, order, heads=2)
    nowhere = Tokens("state", ("s0", "s1", "s2", "s3", "s4", "s5"), None)
    placeless = Attention("c", layer.weights, nowhere, nowhere, own, own, heads=2)
    calls = (call("a", weights=None), *map(call, "bcde"))
    entering = ((values * 0, values * 0), None, (values, gradient), (values[:5], values[:5]), (values, gradient))
    result = Pass(torch.zeros(1), calls, (), (), None, entering=entering)
    layers = [replace(layer, name="b"), placeless, replace(layer, name="d"), layer]
    (found,) = translate.layer_features(result, layers)
    assert (found.name, found.tokens) == ("e", TOKENS)
    assert found.values.tolist() == torch.cat([values[3:], values[:3]]).tolist()
    assert found.gradient[:, 0].tolist() == [18.0, 20.0, 22.0, 12.0, 14.0, 16.0]


def test_pieces_that_only_look_like_neighbours_are_copied():
    whole = torch.arange(24.0).view(6, 4)
    for first, then in (
        (whole[:2, :2], whole[2:, :2]),  # of a part of the channels
        (whole[:1].T, whole[1:, :1]),  # the first lies across
        (whole[:1, :2], whole.view(-1)[2:10].view(2, 4).T[:, :2]),  # the second does
    ):
        assert torch.equal(translate.joined(first, then), torch.cat([first, then]))


def test_tokens_without_a_grid_take_no_map():
    rows = torch.arange(14.0).view(7, 2)
    result = Pass(torch.zeros(1), (), (), (), None, (("rows", rows, rows),))
    assert translate.cam_features(result, Tokens("state", tuple("abcdefg"), None)) == []


def test_heads_that_a_change_takes_away_are_forgiven():
    plan = Plan((parse("heads:1.1=0"),), (Place(1, 2, torch.arange(6)[None]),))
    with planned(plan):
        assert finished(written("a", apart(0.3))).check.output_error == pytest.approx(0.0)
    assert finished(written("a", apart(0.3))).check.output_error == pytest.approx(0.3)
