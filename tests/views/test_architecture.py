"""The views of Architecture: two scales merged at any α, fewer and fewer tokens, words inside of patches, and what the
runs of five equal models allow to say."""

import numpy as np
import pytest
import torch

from tests.training.test_architecture_table import finish
from tests.views.contract import subject
from vizkit.figure.saved.plate import Stroke
from vizkit.figure.scales import SHARES
from vizkit.hosts.column import Column
from vizkit.hosts.stage import leading
from vizkit.models.networks import dual_scale
from vizkit.models.probes.multiply_adds import counted
from vizkit.traces import NotApplicable, Tokens
from vizkit.training.experiments.architectures import SIZES, VARIANTS, worths
from vizkit.views.architecture import dual, gradual, worth
from vizkit.views.architecture.block import DrawnBlock
from vizkit.views.architecture.dual import ALPHAS, DualScale, exactly
from vizkit.views.architecture.gradual import GradualReduction
from vizkit.views.architecture.tnt import TNT
from vizkit.views.architecture.worth import IsItWorthIt
from vizkit.views.blocks import Bars, Chart, Grid, Heading, Line, Map, Metrics, Numbers, Picture, Said, Table, Tiles
from vizkit.views.settled import flat
from vizkit.views.subject import Subject, no_model


@pytest.fixture(autouse=True)
def _no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path))


def shown(view, of):
    """By their kinds."""
    found = {}
    for block in flat(view.show(of)):
        found.setdefault(type(block), []).append(block)
    return found


# ---- two scales ------------------------------------------------------------------------------------------------------
def test_alpha_moves_the_answers_and_the_maps_as_a_whole_pass_would():
    of = subject("digits_dual")
    blocks = shown(DualScale(0.9), of)
    own = float(of.loaded.model.balance())
    (bars,), (tiles,) = blocks[Bars], blocks[Tiles]
    for alpha, values in ((0.9, bars.bars.values), (own, bars.bars.before)):
        with torch.no_grad():
            expected = dual_scale.with_alpha(of.loaded.model, alpha)(of.pixels)[0].softmax(-1)
        for label, value in zip(bars.bars.names, values, strict=True):
            assert value == pytest.approx(float(expected[int(label)]), abs=1e-4)
    fine, coarse, merged, attention = (tile.values for tile in tiles.maps)
    np.testing.assert_allclose(merged, 0.9 * fine + 0.1 * coarse, atol=1e-4)
    assert attention.sum() == pytest.approx(1, abs=1e-3)
    assert tiles.maps[0].scale == tiles.maps[2].scale  # one scale for all scores


def test_the_step_nearest_to_the_own_alpha_is_that_alpha():
    assert exactly(0.45, 0.4583) == 0.4583
    assert exactly(0.5, 0.4583) == 0.5
    assert [exactly(each, 0.97) for each in ALPHAS][-2:] == [0.97, 1.0]


def test_all_steps_come_in_one_message_on_one_scale():
    of = subject("digits_dual")
    book, rest = leading(DualScale(), [of], "over image")
    assert len(book["frames"]) == len(ALPHAS)
    assert any(isinstance(block, Chart) for block in flat(rest))
    maps = [block.rows for at in (0.0, 0.6) for block in shown(DualScale(at), of)[Map] if block.rows.kind != "pick"]
    assert [rows.scale for rows in maps] == [SHARES] * 2


def test_a_new_alpha_runs_only_what_follows_the_merging(monkeypatch):
    of = subject("digits_dual")
    shown(DualScale(0.1), of)
    monkeypatch.setattr(dual, "streams", None)
    shown(DualScale(0.65), of)
    monkeypatch.setattr(dual, "logits_at", None)  # all are known by now
    shown(DualScale(0.3), of)


def test_the_alignment_is_that_of_the_model():
    of = subject("digits_dual")
    of.point = (0.1, 0.1)
    blocks = shown(DualScale(), of)
    rows = blocks[Map][0].rows
    assert rows.query_ids.ravel().tolist() == of.loaded.model.order.tolist()
    assert (rows.key_grid, rows.second_grid) == ((8, 8), (4, 4))
    assert "Coarse patch 1 stands beside fine patches 1, 2, 9, 10" in " ".join(line.text for line in blocks[Line])


def test_on_paper_the_coarse_grid_is_drawn_over_the_fine_one():
    of = subject("digits_dual")
    column = Column([of], (0.2, 0.8))
    column.draw([shown(DualScale(), of)[Map][0]])
    lines = [mark.colour for mark in column.marks if isinstance(mark, Stroke)]
    assert (lines.count("#ffffff"), lines.count("#38e0ff")) == (2 * 7, 2 * 3)


@pytest.mark.parametrize("view", [DualScale(), GradualReduction(), TNT()])
def test_another_model_is_refused_in_a_sentence(view):
    with pytest.raises(NotApplicable, match="bundled:digits_vit"):
        list(view.show(subject("digits_vit")))


# ---- fewer and fewer tokens ------------------------------------------------------------------------------------------
def test_gradual_reduction_tells_its_stages_and_what_they_save():
    of = subject("digits_gradual")
    blocks = shown(GradualReduction(), of)
    titles = [heading.text for heading in blocks[Heading]][1:]
    assert titles == ["At first: 64 + [cls]", *(f"After block {n}: {64 >> n} + [cls]" for n in (1, 2, 3))]
    (metrics,) = blocks[Metrics]
    assert float(metrics.items[0][1].split()[0]) == pytest.approx(counted(of.loaded) / 1e6, rel=0.01)
    tokens = blocks[Chart][0].figure.data
    assert [list(line.y[::2]) for line in tokens] == [[65, 33, 17, 9], [65] * 4]
    (numbers,) = blocks[Numbers]
    kept = numbers.arrays()["contrast"]
    assert (np.diff(kept) < 0).all()
    assert f"{100 * kept[-1]:.0f} % in the last 8" in blocks[Said][0].text


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
@pytest.mark.product(first=0)
def test_the_words_of_the_clicked_patch_are_the_recorded_ones():
    of = subject("tnt_s_patch16_224")
    of.point = (0.4, 0.3)
    blocks = shown(TNT(block=3, inner=2), of)
    inner = [layer for layer in of.layers if "attn_in" in layer.name][2]
    x, y = of.asked
    patch = int(y * 14) * 14 + int(x * 14)
    (grid,) = blocks[Grid]
    drawn = np.stack([tile.values.ravel() for tile, _ in grid.cells])
    np.testing.assert_allclose(drawn, inner.weights[patch, 1].numpy(), atol=1e-6)
    assert all(of_patch.rgb.shape == (16, 16, 3) and of_patch.box_xyxy == (0, 0, 16, 16) for _, of_patch in grid.cells)
    assert blocks[Said][0].text.startswith("The weights are random, nothing was learned: ")


# ---- is it worth it? -------------------------------------------------------------------------------------------------
def test_shipped_runs_are_a_fair_comparison_of_three_seeds():
    rows = worths(SIZES["digits"], worth.shipped())
    assert [row.variant for row in rows] == list(VARIANTS)
    assert all([run.recipe.seed for run in row.runs] == [0, 1, 2] for row in rows)
    assert all(len(run.metrics()) == run.recipe.epochs for row in rows for run in row.runs)
    assert all(row.mean > 0.9 for row in rows)


def of_picture(name):
    return Subject(no_model, np.zeros((8, 8, 3), np.uint8), image=name)


def test_the_runs_are_those_of_the_picture():
    assert worth.titles([of_picture("mayfly nymph")])[0].startswith("insects")
    assert worth.titles([of_picture("digit 3")])[0].startswith("digits")
    rows = {row.words: row for row in worths(SIZES["digits"], worth.shipped())}
    (table,) = shown(IsItWorthIt(), of_picture("digit 3"))[Table]
    assert {line["Model"]: line["Test"] for line in table.rows} == {
        name: f"{100 * row.mean:.1f} %" for name, row in rows.items()
    }


def test_own_runs_stand_beside_the_shipped_ones_and_unfair_ones_are_named(tmp_path):
    finish(tmp_path, "digits_gradual", 0, 0.75)
    mine = next(title for title in worth.titles([of_picture("digit 3")]) if title.startswith("your runs"))
    (table,) = shown(IsItWorthIt(mine), of_picture("digit 3"))[Table]
    assert [line["Test"] for line in table.rows] == ["75.0 %"]
    finish(tmp_path, "digits_dual", 0, epochs=3)  # another recipe: said, and nothing is lost
    lines = shown(IsItWorthIt(), of_picture("digit 3"))[Line]
    assert any("no fair comparison: its epochs differ" in line.text for line in lines)


def test_cost_is_that_of_the_trained_models():
    of = subject("digits_gradual")
    assert worth.multiply_adds("digits_gradual", 32, 10) == counted(of.loaded)


# ---- one block -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "windows"), [("windows", True), ("digits_vit", False)])
def test_a_block_says_its_window_and_shows_the_scores_of_the_chosen_row(name, windows):
    of = subject(name)
    found = shown(DrawnBlock(block=1, part="scores"), of)
    said = [line.text for line in found[Line]]
    assert ("Of window 4 of 4, which holds the patch under the cursor." in said) == windows
    (over,) = found[Map]
    scores = over.rows.values
    assert len(scores) == 1
    ends = f"{scores.min():.2f} to {scores.max():.2f}".replace("-", "−")
    assert any(heading.text.endswith(f"with every key, {ends}") for heading in found[Heading])
    (opened,) = [picture for picture in found[Picture] if "strongest from ±" in picture.caption]
    limit = float(opened.caption.rpartition("±")[2])
    every = found[Numbers][0].arrays()["scores"]
    assert (np.abs(every[every > -50]) <= 1.01 * limit).mean() >= 0.98
