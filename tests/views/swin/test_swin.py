"""What the views of the Swin page show is what the model does: beside its own mask, weights and published counts."""

import base64
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.analysis.attention.positions import pca_rgb
from vizkit.analysis.swin.merged_colours import turned_to
from vizkit.analysis.swin.shifted_windows import across_lines
from vizkit.datasets import photographs, samples
from vizkit.figure.scales import SHARES
from vizkit.models.probes import window_parts
from vizkit.models.probes.positions import relative_bias
from vizkit.report.item import Item, stem_of
from vizkit.views.blocks import Canvas, Chart, Heading, Line, Map, Numbers, Said, Table
from vizkit.views.controls import controls
from vizkit.views.settled import flat
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.swin.merging import Merging
from vizkit.views.swin.place import SHIFTS, place
from vizkit.views.swin.shift import SMALL, Shift
from vizkit.views.swin.stages import Stages
from vizkit.views.swin.switched_off import OFF, SwitchedOff
from vizkit.views.swin.window import Window

TINY = "swin_tiny_patch4_window7_224"


@cache
def model(name, size_hw=None):
    if name != TINY:
        return vizkit.load(f"bundled:{name}")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return vizkit.load(TINY, pretrained=False, image_size=size_hw)


def subject(name="insects_swin", image="mayfly nymph", at=CENTRE, size_hw=None):
    loaded = model(name, size_hw)
    return Subject(lambda: loaded, samples.picture(image), image=image, model=name, point=at)


def padded(at=CENTRE):
    """48 × 72 tokens, which windows of 7 do not divide."""
    return subject(TINY, "china", at, (192, 288))


def of_kind(blocks, kind):
    return [block for block in flat(blocks) if isinstance(block, kind)]


def words(blocks):
    return "\n".join(block.text for block in of_kind(blocks, Said | Line))


def numbers(view, of):
    (found,) = of_kind(view.show(of), Numbers)
    return found.arrays()


def sent(view, of):
    (canvas,) = of_kind(view.show(of), Canvas)
    return canvas.data


def integers(text, kind):
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), kind).astype(np.int64))


# ---- shift -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("at", [(0.2, 0.2), (0.9, 0.2), (0.1, 0.9), (0.95, 0.95)])
def test_the_drawn_mask_regions_and_ids_are_the_models_own(at):
    of = subject(at=at)
    data, block = sent(Shift(), of), model("insects_swin").model.layers[0].blocks[1]
    found = numbers(Shift(), of)
    assert torch.equal(torch.from_numpy(found["allowed"]), block.attn_mask[int(found["window"]) - 1] == 0)
    regions, ids = integers(data["regions"], "u1").view(14, 14), integers(data["ids"], "<i4").view(14, 14)
    assert torch.equal(ids, torch.arange(196).view(14, 14).roll((-3, -3), (0, 1)))
    windows = regions.view(2, 7, 2, 7).permute(0, 2, 1, 3).reshape(4, 49)
    assert torch.equal(windows[:, :, None] == windows[:, None], block.attn_mask == 0)
    assert data["token"] == int(at[1] * 14) * 14 + int(at[0] * 14)
    assert "the mask is the model's own attn_mask in all 4 windows" in words(Shift().show(of))


def test_the_drawn_weights_are_the_recorded_ones():
    of = subject(at=(0.95, 0.95))
    data = sent(Shift(block=4), of)
    layer = of.seen.attention[3]
    assert layer.name == "layers.0.blocks.3.attn"
    drawn = integers(data["weights"], "<u2").view(49, 49) * data["unit"]
    own = layer.weights[int(numbers(Shift(block=4), of)["window"]) - 1].mean(0)
    assert_close(drawn.float(), own, atol=2e-5, rtol=1e-4)


def test_before_any_click_the_token_that_gains_most_is_shown_in_a_window_where_regions_meet():
    of = subject(image="mayfly nymph")
    found = numbers(Shift(), of)
    assert 0 < found["allowed"].mean() < 1
    gains = across_lines(of.layers[SHIFTS - 1], place(of, SHIFTS).windows())
    (canvas,) = of_kind(Shift().show(of), Canvas)
    assert gains.flatten()[canvas.data["token"]] > gains.mean()
    drawn = of.covered((14, 14))
    assert drawn.flatten()[canvas.data["token"]] > 0
    (table,) = of_kind(Shift().show(subject(at=(0.95, 0.95))), Table)
    assert "625 of 49² = 2,401 pairs may see each other: 26 %" in table.caption
    assert "of this token’s none: its region touches no dashed line" in words(Shift().show(subject(at=(0.95, 0.95))))


def test_the_small_example_can_be_counted():
    view, of = Shift(example=SMALL), subject(at=(0.95, 0.95))
    data = sent(view, of)
    assert data["grid"] == (8, 8)
    assert data["numbers"]
    assert integers(data["ids"], "<i4").view(8, 8)[0].tolist() == [18, 19, 20, 21, 22, 23, 16, 17]
    assert "1/4 for each" in data["steps"][4][1]
    (table,) = of_kind(view.show(of), Table)
    assert "64 of 16² = 256 pairs may see each other: 25 %" in table.caption
    (table,) = of_kind(view.show(subject(at=(0.55, 0.55))), Table)  # token 37 lies in a window of one region
    assert "256 of 16² = 256 pairs may see each other: 100 %" in table.caption


def test_a_block_of_one_window_has_nothing_to_roll():
    blocks = list(Shift(block=5).show(subject("insects_swin")))
    assert (
        "7 × 7 tokens of 16 pixels · 128 channels · 4 heads · windows of 7 × 7 tokens · one window, no shift"
        in words(blocks)
    )
    assert "one window holds the whole grid" in sent(Shift(block=5), subject())["steps"][1][1]


@pytest.mark.rest
def test_padding_after_the_roll_is_told():
    """timm pads what it has rolled, and its mask misses the line where the edges of the image meet."""
    data = sent(Shift(), padded())
    assert data["size"] != data["grid"]
    assert "across the edges of the image" in words(Shift().show(padded()))
    assert "the mask is the model's own" in words(Shift().show(padded()))


# ---- stages, window, reach -------------------------------------------------------------------------------------------
def test_stages_tell_the_golden_shapes_of_swin_t():
    (table,) = of_kind(Stages().show(subject(TINY)), Table)
    rows = {row[""]: [row[f"stage {number}"] for number in range(1, 5)] for row in table.rows}
    assert rows["tokens"] == ["56 × 56 = 3,136", "28 × 28 = 784", "14 × 14 = 196", "7 × 7 = 49"]
    assert rows["channels"] == ["96", "192", "384", "768"]


def test_the_sentence_and_the_pictures_grow_with_the_image():
    """Three times 112 pixels: 42 × 42 tokens in 36 windows, of whose 1,764² pairs 36 · 49² are left."""
    of = subject(image="coffee")
    blocks = list(Stages(times=3).show(of))
    assert "saves 97 % of the pairs in stage 1 at 336 × 336 pixels: 86,436 instead of 3,111,696" in words(blocks)
    first, *_ = of_kind(blocks, Map)
    assert (first.rows.key_grid, first.said) == ((42, 42), "42 × 42 tokens of 8 pixels in 36 windows.")
    last = of_kind(Stages("shifted", 3).show(of), Map)[-1]
    assert "no shift" not in last.said  # of its one window alone at 112 pixels


def test_a_visitor_who_clicked_nothing_has_one_token_that_gains_by_the_shift_in_all_views():
    for name, cursor in (("china", photographs.POINTS["china"]), ("mayfly nymph", CENTRE)):
        of = subject(image=name, at=cursor)
        (canvas,) = of_kind(Shift().show(of), Canvas)
        row, column = divmod(canvas.data["token"], 14)
        assert f"row {row + 1}, column {column + 1} ·" in words(Window().show(of))
        assert f"row {row + 1}, column {column + 1} ·" not in words(Window().show(subject(image=name, at=(0.4, 0.6))))


def test_the_head_that_is_shown_is_the_head_that_is_named():
    of = subject()
    assert [controls(Window(block=block))["head"].ends([of]) for block in (2, 5)] == [(1, 2), (1, 4)]
    for block, head in ((2, 2), (5, 3)):
        assert f"In head {head} of block {block} the relative bias moves" in words(
            Window(block=block, head=head).show(of)
        )


def test_a_layer_costs_what_the_paper_counts():
    """12hwC² + 2(hw)²C against 12hwC² + 2M²hwC: of Swin-T's first stage 56² tokens of 96 numbers, in windows of 7."""
    for times, tokens in ((1, 56**2), (4, 224**2)):
        costs = [12 * tokens * 96**2 + 2 * met * tokens * 96 for met in (tokens, 49)]
        view = Stages(times=times)
        assert numbers(view, subject(TINY))["layer_multiply_adds_global_and_windows"].tolist() == costs
        factor = f"{costs[0] / costs[1]:.1f} times as many multiply–adds with global attention as in windows of 7 × 7"
        assert factor in words(view.show(subject(TINY)))
        (chart,) = of_kind(view.show(subject(TINY)), Chart)
        marked = [(dot.x[0], dot.y[0]) for dot in chart.figure.data if dot.mode == "markers"]
        assert marked == [(224 * times, cost) for cost in costs]
        assert view.leads(chart) == (times > 1)


def test_the_three_maps_of_a_window_have_one_scale_and_hatch_what_is_masked():
    blocks = list(Window(head=2).show(subject(at=(0.9, 0.9))))
    maps = of_kind(blocks, Map)
    assert {each.rows.scale for each in maps} == {SHARES}
    equal = maps[0].rows.scale_of(12 * 14 + 12).equal  # among the 49 places of the window, not the 196 of the image
    assert equal == pytest.approx(1 / 49, rel=1e-3)
    assert maps[0].rows.key_regions is not None
    assert "row 13, column 13 · window 4 of 4 · 33 of 49 keys masked, hatched" in words(blocks)
    assert "content + bias + mask are exactly the scores" in words(blocks)
    assert "Head 2;" in words(blocks)
    assert "Windows of" not in words(blocks)


def test_the_weights_are_the_softmax_of_the_scores():
    view, of = Window(), subject(at=(0.9, 0.9))
    found = numbers(view, of)
    reached = found["weights"] > 0
    assert 1 < reached.sum() < reached.size
    powers = np.exp(found["content"] + found["bias"]) * reached
    assert powers / powers.sum() == pytest.approx(found["weights"], abs=1e-6)
    assert "Head 1; its weights are the softmax of these scores." in words(view.show(of))


@pytest.mark.rest
def test_a_window_of_a_padded_grid_says_what_padding_takes():
    said = words(Window(block=3).show(padded((0.4, 0.02))))
    assert "do not divide 24 × 36 tokens, so 4 rows and 6 columns of zeros are added" in said


def test_another_head_runs_no_model(monkeypatch):
    of = subject()
    list(flat(Window().show(of)))
    monkeypatch.setattr(window_parts, "watched", None)
    list(flat(Window(head=2).show(of)))


def test_the_table_of_the_bias_is_the_models_own():
    view, of = Window(part="table of the bias", block=1, head=2), subject(at=(0.9, 0.9))
    bias, data = relative_bias(of.loaded, 0), sent(view, of)
    values = np.frombuffer(base64.b64decode(data["values"]), "<f4")
    assert_close(torch.from_numpy(values.copy()), bias.by_offset.flatten())
    query, key = data["pair"]
    assert query == 5 * 7 + 5, "row 13 and column 13 of the grid, in the last window"
    assert data["ids"][query] == 12 * 14 + 12
    assert bias.bias[1, query, key] == bias.bias[1, query].max()
    (canvas,) = of_kind(view.show(of), Canvas)
    assert canvas.tells["head"][0](1) == 1
    assert words(view.show(of)).startswith("In head 2 the bias alone gives a key ")


def test_the_sentence_names_the_head_and_both_offsets(monkeypatch):
    """Most one row below and two columns left of the query, least at its own place."""
    of = subject("digits_swin")
    bias = relative_bias(of.loaded, 0)
    by_offset = torch.zeros_like(bias.by_offset)
    by_offset[1, 3 - 1, 3 + 2], by_offset[1, 3, 3] = 2.0, -1.0  # for a query that lies there from its key
    monkeypatch.setattr("vizkit.views.swin.bias.relative_bias", lambda *_: replace(bias, by_offset=by_offset))
    said = words(Window(part="table of the bias", block=1, head=2).show(of))
    assert said.startswith(
        "In head 2 the bias alone gives a key 1 row below and 2 columns left of the query 20.1 times the weight of one "
        "at the query's own place."
    )


# ---- merging ---------------------------------------------------------------------------------------------------------
def test_merging_of_every_stage_but_the_last():
    of = subject(at=(0.3, 0.9))
    assert "the model's own layer gives exactly the same" in words(Merging().show(of))
    assert of_kind(Merging().show(of), Heading)[0].text == "The image in 7 × 7 tokens"  # those that are made
    assert "14 × 14 tokens of 64 numbers · length of the vectors, one scale" in words(
        Merging(colours="lengths").show(of)
    )
    assert Merging(stage="3").title(subject(TINY)) == "Patch merging after stage 3"
    assert Merging(stage="4").title(subject(TINY)) == "Patch merging after stage 1"  # nothing is merged after the last


def test_colours_are_turned_to_match_and_no_further():
    """Wanted are a table's own colours, one channel in the place of another and one turned round: a rotation gives them
    exactly. What no rotation gives stays as far apart as it is."""
    table = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(2))
    own = pca_rgb(table).rgb
    wanted = torch.stack([1 - own[..., 2], own[..., 0], own[..., 1]], -1)
    assert_close(turned_to(wanted, table).rgb, wanted)
    grey = turned_to(torch.full((3, 4, 3), 0.5), table).rgb
    assert grey.std() > 0.1


# ---- switched off ----------------------------------------------------------------------------------------------------


def test_a_file_says_what_is_off():
    of = subject()
    names = [stem_of(Item(SwitchedOff(off=off), "", "", ""), of) for off in ((), ("relative bias",), OFF)]
    assert names == [
        "swin-switched-off_off-nothing",
        "swin-switched-off_off-relative_bias",
        "swin-switched-off_off-shift-relative_bias",
    ]


@pytest.mark.rest
def test_what_is_masked_is_said_to_be_hatched_and_nothing_else_is():
    assert "hatched" not in words(SwitchedOff().show(subject(at=(0.4, 0.4))))
    said = words(SwitchedOff().show(subject(at=(0.95, 0.95))))
    assert "33 of its 49 places are masked for it, hatched" in said  # its region has 4 × 4
