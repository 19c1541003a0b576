"""The views of Architecture: the whole network with every block's map, two grids merged at any α, and fewer tokens."""

from base64 import b64decode

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import vizkit
from tests.views.contract import subject
from vizkit.datasets import samples
from vizkit.figure.saved.plate import Stroke
from vizkit.figure.scales import SHARES
from vizkit.hosts.column import Column
from vizkit.hosts.stage import leading
from vizkit.models.networks import dual_scale
from vizkit.models.probes.multiply_adds import counted
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.architecture import dual, gradual
from vizkit.views.architecture.boxes import boxes_of
from vizkit.views.architecture.coarser import CoarserTokens
from vizkit.views.architecture.counted import steps_of
from vizkit.views.architecture.dual import ALPHAS, exactly
from vizkit.views.architecture.network import Network
from vizkit.views.blocks import (
    Bars,
    Canvas,
    Chart,
    Folded,
    Grid,
    Heading,
    Line,
    Map,
    Metrics,
    Numbers,
    Said,
    Tiles,
)
from vizkit.views.settled import flat
from vizkit.views.subject import Subject


def shown(view, of):
    """By their kinds."""
    found = {}
    for block in flat(view.show(of)):
        found.setdefault(type(block), []).append(block)
    return found


# ---- two scales ------------------------------------------------------------------------------------------------------
def test_alpha_moves_the_answers_and_the_maps_as_a_whole_pass_would():
    of = subject("digits_dual")
    blocks = shown(CoarserTokens(0.9), of)
    own = float(of.loaded.model.balance())
    (bars,), (tiles,) = blocks[Bars], blocks[Tiles]
    for alpha, values in ((0.9, bars.bars.values), (own, bars.bars.before)):
        with torch.no_grad():
            expected = dual_scale.with_alpha(of.loaded.model, alpha)(of.pixels)[0].softmax(-1)
        for label, value in zip(bars.bars.names, values, strict=True):
            assert value == pytest.approx(float(expected[int(label)]), abs=1e-4)
    fine, coarse, merged, attention = (tile.values for tile in tiles.maps)
    assert_allclose(merged, 0.9 * fine + 0.1 * coarse, atol=1e-4)
    assert attention.sum() == pytest.approx(1, abs=1e-3)
    assert tiles.maps[0].scale == tiles.maps[2].scale  # one scale for all scores


def test_the_step_nearest_to_the_own_alpha_is_that_alpha():
    assert exactly(0.45, 0.4583) == 0.4583
    assert exactly(0.5, 0.4583) == 0.5
    assert [exactly(each, 0.97) for each in ALPHAS][-2:] == [0.97, 1.0]


def test_all_steps_come_in_one_message_on_one_scale():
    of = subject("digits_dual")
    book, _, rest = leading(CoarserTokens(), [of], "over image")
    assert len(book["frames"]) == len(ALPHAS)
    assert any(isinstance(block, Chart) for block in flat(rest))
    maps = [block.rows for at in (0.0, 0.6) for block in shown(CoarserTokens(at), of)[Map] if block.rows.kind != "pick"]
    assert [rows.scale for rows in maps] == [SHARES] * 2


def test_a_new_alpha_runs_only_what_follows_the_merging(monkeypatch):
    of = subject("digits_dual")
    shown(CoarserTokens(0.1), of)
    monkeypatch.setattr(dual, "streams", None)
    shown(CoarserTokens(0.65), of)
    monkeypatch.setattr(dual, "logits_at", None)  # all are known by now
    shown(CoarserTokens(0.3), of)


def test_the_alignment_is_that_of_the_model():
    of = subject("digits_dual")
    of.point = (0.1, 0.1)
    blocks = shown(CoarserTokens(), of)
    rows = blocks[Map][0].rows
    assert rows.query_ids.ravel().tolist() == of.loaded.model.order.tolist()
    assert (rows.key_grid, rows.second_grid) == ((8, 8), (4, 4))
    assert "Coarse patch 1 stands beside fine patches 1, 2, 9, 10" in " ".join(line.text for line in blocks[Line])


def test_on_paper_the_coarse_grid_is_drawn_over_the_fine_one():
    of = subject("digits_dual")
    column = Column([of], (0.2, 0.8))
    column.draw([shown(CoarserTokens(), of)[Map][0]])
    lines = [mark.colour for mark in column.marks if isinstance(mark, Stroke)]
    assert (lines.count("#ffffff"), lines.count("#38e0ff")) == (2 * 7, 2 * 3)


def test_another_model_is_refused_in_a_sentence():
    with pytest.raises(NotApplicable, match="bundled:digits_vit"):
        list(CoarserTokens().show(subject("digits_vit")))


def test_there_is_no_alpha_to_turn_where_tokens_are_averaged():
    book, _, _ = leading(CoarserTokens(), [subject("digits_gradual")], "over image")
    assert book is None


# ---- fewer and fewer tokens ------------------------------------------------------------------------------------------
def test_gradual_reduction_tells_its_stages_and_what_they_save():
    of = subject("digits_gradual")
    blocks = shown(CoarserTokens(), of)
    titles = [heading.text for heading in blocks[Heading]][1:]
    assert titles == ["At first: 64 + [cls]", *(f"After block {n}: {64 >> n} + [cls]" for n in (1, 2, 3))]
    (metrics,) = blocks[Metrics]
    assert float(metrics.items[0][1].split()[0]) == pytest.approx(counted(of.loaded) / 1e6, rel=0.01)
    tokens = blocks[Chart][0].figure.data
    assert [list(line.y[::2]) for line in tokens] == [[65, 33, 17, 9], [65] * 4]
    (numbers,) = blocks[Numbers]
    kept = numbers.arrays()["contrast"]
    assert (np.diff(kept) < 0).all()
    said = blocks[Said][0].text
    assert said.startswith("64 tokens become 8: ")
    assert f"then {100 * kept[-1]:.0f} %, while the vectors may hold more" in said


def test_contrast_by_hand():
    """Two halves of one colour each are kept by two tokens and lost in one; stripes inside of a token are lost."""
    halves = np.zeros((4, 4, 3), np.uint8)
    halves[:, 2:] = 100
    assert gradual.contrast(halves, Tokens("patches", (), (1, 2), stride=2.0)) == 1.0
    assert gradual.contrast(halves, Tokens("patches", (), (1, 1), stride=4.0)) == 0.0
    stripes = np.zeros((4, 4, 3), np.uint8)
    stripes[:, ::2] = 100
    assert gradual.contrast(stripes, Tokens("patches", (), (1, 2), stride=2.0)) == 0.0


# ---- words inside of patches -----------------------------------------------------------------------------------------
@pytest.mark.rest
def test_the_words_of_the_clicked_patch_are_the_recorded_ones():
    of = subject("tnt_s_patch16_224")
    of.point = (0.4, 0.3)
    number = next(at for at, box in enumerate(boxes_of(of, "attention"), 1) if box.title == "block 3")
    blocks = shown(Network(block=number), [of])
    inner = [layer for layer in of.layers if "attn_in" in layer.name][2]
    x, y = of.asked
    patch = int(y * 14) * 14 + int(x * 14)
    (grid,) = blocks[Grid]
    drawn = np.stack([tile.values.ravel() for tile, _ in grid.cells])
    assert_allclose(drawn, inner.weights[patch].mean(0).numpy(), atol=1e-6)
    assert all(of_patch.rgb.shape == (16, 16, 3) and of_patch.box_xyxy == (0, 0, 16, 16) for _, of_patch in grid.cells)
    assert blocks[Said][1].text.startswith("The weights are random, nothing was learned: ")


# ---- the whole network -----------------------------------------------------------------------------------------------
def test_a_vit_has_the_attention_that_every_patch_receives_in_every_block():
    of = subject("digits_vit")
    (canvas,) = [each for each in shown(Network(), [of])[Canvas] if each.script == "vizkit_flow"]
    boxes = canvas.data["boxes"]
    assert [box["title"] for box in boxes] == ["patches", *(f"block {n}" for n in range(1, 7))]
    for box, layer in zip(boxes[1:], of.layers, strict=True):
        drawn = np.frombuffer(b64decode(box["values"]), "<f4")
        expected = layer.weights[0].mean((0, 1))[1:]  # of all heads and queries, without the class token
        assert_allclose(drawn, expected.numpy(), atol=1e-6)
        assert box["scale"]["kind"] == "doublings"
    assert canvas.data["answers"][0]["name"] == "3"
    assert [answer["right"] for answer in canvas.data["answers"]] == [True, False, False]


def test_a_cnn_has_the_strength_of_its_places_and_a_swin_its_windows():
    of = [subject("digits_cnn"), subject("windows")]
    cnn, swin = (each.data["boxes"] for each in shown(Network(), of)[Canvas] if each.script == "vizkit_flow")
    values = np.frombuffer(b64decode(cnn[-1]["values"]), "<f4")
    last = of[0].seen.features[-1]
    strength = last.values.norm(dim=1)
    assert_allclose(values, (strength / strength.median()).numpy(), rtol=1e-3)
    assert len({(box["scale"]["low"], box["scale"]["top"]) for box in cnn if "rows" in box}) == 1
    assert [box["words"] for box in swin if box["title"] != "patches"] == [
        "6 × 6, windows",
        "6 × 6, shifted windows",
        "3 × 3, 4 into 1",
        "3 × 3",
        "3 × 3",
    ]
    windows = np.frombuffer(b64decode(swin[1]["windows"]), "<i4").reshape(6, 6)
    assert [np.unique(windows[:3, :3]).size, np.unique(windows[3:, :3]).size] == [1, 1]
    assert windows[0, 0] != windows[0, 3]


def test_costs_are_bars_on_one_scale_for_all_models():
    of = [subject("digits_vit"), subject("digits_cnn")]
    canvases = [each.data for each in shown(Network(), of)[Canvas] if each.script == "vizkit_flow"]
    costs = [max(step.multiply_adds for step in steps_of(each)) for each in of]
    shares = [max(box["share"] for box in data["boxes"]) for data in canvases]
    assert shares == pytest.approx([cost / max(costs) for cost in costs])
    block = next(box for box in canvases[0]["boxes"] if box["title"] == "block 1")
    assert f"{12 * 65 * 96**2 + 2 * 65**2 * 96:,} multiply–adds" in block["facts"]


def test_all_networks_stand_before_the_block_that_is_opened():
    of = [subject("digits_vit"), subject("digits_cnn")]
    scripts = [block.script for block in flat(Network().show(of)) if isinstance(block, Canvas)]
    assert scripts[:2] == ["vizkit_flow", "vizkit_flow"]
    assert "vizkit_flow" not in scripts[2:]
    assert scripts[2:]


@pytest.mark.parametrize("name", ["digits_mlp", "stranger", "digits_cnn"])
def test_a_block_without_attention_opens_with_its_code(name):
    of = subject(name) if name != "digits_mlp" else subject_of("bundled:digits_mlp")
    folded = shown(Network(block=1), [of]).get(Folded, [])
    codes = [code for each in folded for code in each.make()]
    assert [code.code.startswith("def forward(self") for code in codes] == [True]


def subject_of(source):
    loaded = vizkit.load(source)
    return Subject(lambda: loaded, samples.picture("digit 3"), image="digit 3")


@pytest.mark.parametrize("name, biased", [("windows", True), ("digits_vit", False)])
def test_products_of_a_cell_sum_to_its_score(name, biased):
    of = subject(name)
    found = shown(Network(block=2, head=2, part="scores"), [of])
    (data,) = [canvas.data for canvas in found[Canvas] if canvas.script == "vizkit_products"]
    query, key = (np.frombuffer(b64decode(data[each]), "<f4") for each in ("query", "key"))
    query, key = query.reshape(-1, data["channels"]), key.reshape(-1, data["channels"])
    scores = query @ key.T * data["scale"]
    assert (data["bias"] is not None) == biased
    scores = scores + np.frombuffer(b64decode(data["bias"]), "<f4").reshape(scores.shape) if biased else scores
    saved = next(each.arrays()["scores"] for each in found[Numbers] if "scores" in each.arrays())
    assert_allclose(scores, saved, atol=1e-3)
    assert (len(data["queries"]), len(data["keys"])) == scores.shape


# ---- one block -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, windows", [("windows", True), ("digits_vit", False)])
def test_a_block_says_its_window_and_shows_the_scores_of_the_chosen_row(name, windows):
    of = subject(name)
    found = shown(Network(block=2, part="scores"), [of])
    said = [line.text for line in found[Line]]
    assert ("Of window 4 of 4, which holds the patch under the cursor." in said) == windows
    (over,) = found[Map]
    scores = over.rows.values
    assert len(scores) == 1
    ends = f"{scores.min():.2f} to {scores.max():.2f}".replace("-", "−")
    assert any(heading.text.endswith(f"with every key, {ends}") for heading in found[Heading])
    (caption,) = [line.text for line in found[Line] if "strongest from ±" in line.text]
    limit = float(caption.rpartition("±")[2])
    every = next(each.arrays()["scores"] for each in found[Numbers] if "scores" in each.arrays())
    assert (np.abs(every[every > -50]) <= 1.01 * limit).mean() >= 0.98
