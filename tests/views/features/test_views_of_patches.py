"""The views of the page Features: what is shown, what is said, what is saved, and proofs that fail."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

import vizkit
from tests.views.contract import everything, subject
from vizkit.analysis.features import objects
from vizkit.datasets import samples
from vizkit.figure.saved.plate import Outline, Raster, Stroke, Words
from vizkit.traces import Features, NotApplicable, Tokens
from vizkit.views.blocks import Canvas, Download, Numbers, Picture, Proof, Said, Table
from vizkit.views.features import label, match
from vizkit.views.features import object as object_view
from vizkit.views.features.colours import Colours
from vizkit.views.features.label import Label, painted_by
from vizkit.views.features.match import Match
from vizkit.views.features.object import KEYS, Object
from vizkit.views.features.vectors import AFTER, grid_of, patch_at
from vizkit.views.subject import Subject


def shown(view, of, kind):
    return [block for block in everything(view.show(of)) if isinstance(block, kind)]


def arrays(view, of):
    (block,) = shown(view, of, Numbers)
    return block.arrays()


# ---- vectors ---------------------------------------------------------------------------------------------------------
def test_special_tokens_are_no_patches_and_very_fine_grids_are_averaged():
    values = torch.arange(14.0)[:, None]
    assert grid_of(Features("", values, Tokens("", ("cls",), (3, 4), free=1))).flatten().tolist() == list(range(1, 13))
    fine = grid_of(Features("", torch.ones(100 * 60, 2), Tokens("", (), (100, 60))))
    assert fine.shape == (50, 30, 2)
    with pytest.raises(NotApplicable, match="lie in the image"):
        grid_of(Features("", values, Tokens("", free=14)))


@pytest.mark.parametrize("name", ["digits_vit", "windows"])
def test_after_the_last_norm_vectors_are_those_that_the_head_reads(name):
    of = subject(name)
    before, after = (Colours(norm=norm).vectors(of) for norm in (Colours().norm, AFTER))
    norm = of.loaded.model.norm
    assert_close(after, norm(before).detach())


def test_keys_are_those_that_meet_the_queries():
    of = subject("digits_vit")
    given = []
    block = of.loaded.model.blocks[-1].attn.qkv
    handle = block.register_forward_hook(lambda _, __, out: given.append(out.detach()))
    of.loaded.model(of.pixels)
    handle.remove()
    width = given[0].shape[-1] // 3
    read, said = Object(vectors=KEYS).read(of)
    assert said == "keys of layer 4 of 4" or said.startswith("keys of layer")
    assert_close(read.flatten(0, 1), given[0][0, 1:, width : 2 * width], atol=1e-5, rtol=1e-4)


# ---- colours ---------------------------------------------------------------------------------------------------------
def test_the_images_are_the_sidebars_and_others_in_one_basis():
    of = subject("digits_vit")
    found = arrays(Colours(images=("digit 5",)), of)
    rows, columns = found["grids"][0]
    assert len(found["scores"]) == 2 * rows * columns
    alone = arrays(Colours(images=("digit 3",)), of)
    assert not np.allclose(alone["directions"], found["directions"])
    (drawn,) = shown(Colours(images=("digit 5",), patch="1:190,1"), of, Canvas)
    assert drawn.data["names"] == ["digit 3", "digit 5"]
    assert drawn.data["chosen"] == 1
    assert shown(Colours(), of, Canvas)[0].data["chosen"] == -1


def test_a_basis_that_is_none_fails_its_proof(monkeypatch):
    from vizkit.analysis.features import principal

    def tilted(vectors):
        mean, directions, explained = original(vectors)
        return mean, directions + 0.05, explained

    original = principal.components
    of = subject("digits_vit")
    assert all(proof.holds for proof in shown(Colours(), of, Proof))
    monkeypatch.setattr(principal, "components", tilted)
    assert not shown(Colours(), subject("digits_vit"), Proof)[-1].holds


def test_a_patch_that_is_kept_is_kept_on_paper_with_those_like_it():
    of = subject("digits_vit")
    (usual,), (asked,) = (shown(Colours(patch=patch), of, Canvas) for patch in ("", "1:400,300"))
    (plain, _), (marked, _) = (each.still[0].draw(400.0) for each in (usual, asked))
    assert not [mark for mark in plain if isinstance(mark, Outline)]
    count = asked.data["count"]
    assert len([mark for mark in marked if isinstance(mark, Outline)]) == 2 * (count + 1)
    grey = [bool((mark.rgb.min(2) == mark.rgb.max(2)).all()) for mark in plain if isinstance(mark, Raster)]
    assert not all(grey), "the colours of patches"


def test_other_images_are_named_by_their_paths_too(tmp_path):
    Image.fromarray(samples.picture("digit 7")).save(tmp_path / "mine.png")
    of = subject("digits_vit")
    made = vizkit.show("pca", of.loaded, "sample:digit 3", images=(str(tmp_path / "mine.png"), "digit 5"))
    rows, columns = made.numbers["grids"][0]
    assert len(made.numbers["scores"]) == 3 * rows * columns
    with pytest.raises(ValueError, match="there are china"):
        vizkit.show("pca", of.loaded, "sample:digit 3", images=(str(tmp_path / "none.png"),))


# ---- object ----------------------------------------------------------------------------------------------------------
def test_the_truth_is_said_of_a_drawn_insect_and_of_nothing_else():
    of = subject("two_heads")
    (table,) = shown(Object(), of, Table)
    assert [row["rule"] for row in table.rows] == [*object_view.RULES, "the whole image"]
    (said,) = shown(Object(rule="LOST"), of, Said)
    (row,) = (row for row in table.rows if row["rule"] == "LOST")
    assert f"IoU of {row['IoU']}" in said.text
    assert not shown(Object(), subject("digits_vit"), Table)


def test_the_mask_is_saved_with_what_is_around_it_clear():
    of = subject("two_heads")
    (download,) = shown(Object(), of, Download)
    saved = np.asarray(Image.open(io.BytesIO(download.make())))
    mask = arrays(Object(), of)["TokenCut"]
    assert saved.shape == (48, 48, 4)
    assert np.array_equal(saved[4::8, 4::8, 3] > 0, mask)
    assert np.array_equal(saved[..., :3], of.seen_rgb)


def test_a_vector_that_solves_nothing_fails_its_proof(monkeypatch):
    real = objects.token_cut

    def wrong(vectors, threshold):
        cut = real(vectors, threshold)
        moved = cut.vector.roll(1)
        return replace(cut, vector=moved, error=objects.cut_error(vectors, moved, cut.value, threshold))

    assert shown(Object(), subject("digits_vit"), Proof)[-1].holds
    monkeypatch.setattr(object_view, "token_cut", wrong)
    assert not shown(Object(), subject("digits_vit"), Proof)[-1].holds


def test_of_a_network_without_keys_the_outputs_are_said_to_be_used():
    of = subject("digits_cnn")
    pictures = shown(Object(vectors=KEYS), of, Picture)
    assert len(pictures) == 4
    assert "outputs of" in pictures[0].caption


# ---- match -----------------------------------------------------------------------------------------------------------
def pointed(of, point):
    """The same, where somebody has set the cursor."""
    there = Subject(of.open, of.rgb, image=of.image, point=point)
    there.marked = True
    return there


def symmetric():
    """An image that is its own mirror image."""
    of = subject("digits_vit")
    half = samples.picture("digit 3")[:, :4]
    loaded = of.loaded
    return Subject(lambda: loaded, np.concatenate([half, half[:, ::-1]], 1), image="symmetric")


def test_of_an_image_that_is_its_mirror_image_every_patch_stays_where_it_was():
    found = arrays(Match(images=("digit 5",)), symmetric())
    rows, columns = found["grids"][0]
    assert np.array_equal(found["ids"][: rows * columns, -1] - 2 * rows * columns, np.arange(rows * columns))
    assert not (found["right"] & found["swapped"]).any()
    assert (found["right"] | found["swapped"]).all()


def test_left_and_right_of_a_mirror_are_told_apart():
    grid = (2, 10)
    own = torch.arange(20)
    mirrored = own.view(grid).flip(1).flatten()
    right, swapped = match.of_mirror(mirrored, grid)
    assert right.all()
    assert not swapped.any()
    right, swapped = match.of_mirror(own, grid)
    assert right.view(grid)[0].tolist() == [False] * 4 + [True] * 2 + [False] * 4
    assert torch.equal(swapped, ~right)


def test_a_patch_asks_where_the_cursor_stands_or_where_the_link_says():
    of = subject("digits_vit")
    rows, columns = arrays(Match(), of)["grids"][0]
    aside = pointed(of, (0.9, 0.5))
    assert shown(Match(), aside, Canvas)[0].data["chosen"] == rows // 2 * columns + int(0.9 * columns)
    assert shown(Match(), pointed(of, (0.5, 0.5)), Canvas)[0].data["chosen"] == rows // 2 * columns + columns // 2
    assert shown(Match(patch="1:0,0"), of, Canvas)[0].data["chosen"] == 0
    assert shown(Match(patch="1:999,999"), of, Canvas)[0].data["chosen"] == rows * columns - 1
    assert shown(Match(patch="2:0,0"), of, Canvas)[0].data["chosen"] == rows * columns
    assert shown(Match(patch="9:0,0"), of, Canvas)[0].data["chosen"] == -1
    with pytest.raises(NotApplicable, match="is no patch such as"):
        shown(Match(patch="here"), of, Canvas)


@pytest.mark.parametrize("grid", [(14, 14), (6, 6), (5, 3)])
def test_it_opens_on_the_insect_where_its_right_place_is_not_where_it_stays(grid):
    of, columns = subject("two_heads"), grid[1]
    seen, away = object_view.insect(of, grid), (torch.arange(columns) + 0.5 - columns / 2).abs() / columns > match.LIMIT
    row, column = divmod(match.begins(of, grid), columns)
    assert away[column]
    assert seen[row, column] == (seen & away).any()


def test_of_images_whose_parts_are_not_known_it_says_that_no_place_may_be_right():
    assert "may be no right place" in shown(Match(), subject("digits_vit"), Said)[0].text


def test_a_way_back_ends_where_it_began_by_a_plain_loop():
    grids = [(2, 10), (3, 4), (1, 5)]
    every = [torch.randn(rows * columns, 7, generator=torch.Generator().manual_seed(rows)) for rows, columns in grids]
    ids, _ = match.pairs(every)
    back, own = match.returning(ids, grids), torch.cat([match.middles(grid) for grid in grids])
    starts = np.cumsum([0, *map(len, every)])
    expected = []
    for image, asking in enumerate(every):
        for at, vector in enumerate(asking):
            ends = []
            for number, other in enumerate(every):
                if number != image:
                    there = other[torch.cosine_similarity(other, vector[None]).argmax()]
                    home = int(starts[image] + torch.cosine_similarity(asking, there[None]).argmax())
                    ends.append(bool((own[home] - own[starts[image] + at]).norm() <= match.LIMIT + 1e-6))
            expected.append(ends)
    assert back.tolist() == expected
    assert 0 < back.float().mean() < 1


def test_a_match_whose_way_back_ends_elsewhere_is_dashed():
    of = subject("digits_vit")
    found = arrays(Match(), of)
    rows, columns = found["grids"][0]
    for patch in (
        int(found["back"][: rows * columns].sum(1).argmin()),
        int(found["back"][: rows * columns].sum(1).argmax()),
    ):
        row, column = divmod(patch, columns)
        place = f"1:{round(1000 * (column + 0.5) / columns)},{round(1000 * (row + 0.5) / rows)}"
        (drawn,) = shown(Match(patch=place), of, Canvas)
        marks = drawn.still[0].draw(900.0)[0]
        dashed = [mark for mark in marks if isinstance(mark, Stroke) and mark.dash == "dash"]
        assert len(dashed) == (~found["back"][patch]).sum()
        words = " ".join(mark.text for mark in marks if isinstance(mark, Words))
        assert words.count("one way") == len(dashed)


@pytest.mark.parametrize("grid", [(14, 14), (7, 7), (5, 3)])
@pytest.mark.parametrize("place", ["2:750,180", "1:999,0", "2:500,500"])
def test_a_place_is_kept_where_another_model_has_other_patches(place, grid):
    """The cell of a grid in which it lies, by a plain loop over all."""
    x, y = (int(each) / 1000 for each in place[2:].split(","))
    (rows, columns), start = ((2, 2), 0) if place[0] == "1" else (grid, 4)
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    inside = [row <= y * rows < row + 1 and column <= x * columns < column + 1 for row, column in cells]
    assert patch_at(place, [(2, 2), grid]) == start + inside.index(True)


def test_the_words_of_a_match_say_whether_its_mirror_image_is_right():
    of = subject("digits_vit")
    found = arrays(Match(), of)
    right, (rows, columns) = found["right"], found["grids"][0]
    assert right.any()
    assert not right.all()
    for patch in (int(right.argmax()), int(right.argmin())):
        row, column = divmod(patch, columns)
        place = f"1:{round(1000 * (column + 0.5) / columns)},{round(1000 * (row + 0.5) / rows)}"
        (drawn,) = shown(Match(patch=place), of, Canvas)
        words = " ".join(mark.text for mark in drawn.still[0].draw(900.0)[0] if isinstance(mark, Words))
        assert ("✓" in words, "✗" in words) == (bool(right[patch]), not right[patch])


def test_a_match_that_is_not_the_nearest_fails_its_proof(monkeypatch):
    real = match.pairs

    def moved(every):
        ids, cosines = real(every)
        own = len(every[0])
        return torch.cat([ids[:own].roll(1, 0), ids[own:]]), cosines

    assert shown(Match(), subject("digits_vit"), Proof)[-1].holds
    monkeypatch.setattr(match, "pairs", moved)
    assert not shown(Match(), subject("digits_vit"), Proof)[-1].holds


def test_parts_of_insects_are_counted_where_they_are_known():
    said = shown(Match(images=("stonefly nymph",)), subject("two_heads"), Said)[0].text
    assert "lie on the same part" in said
    assert "by chance" in said
    assert "95 % interval" in said
    assert "may be no right place" not in said
    assert "same part" not in shown(Match(), subject("digits_vit"), Said)[0].text


# ---- label -----------------------------------------------------------------------------------------------------------
def test_clicks_are_patches_on_any_grid_the_last_of_a_patch_counting():
    grids = [(2, 2), (4, 5)]
    assert painted_by("1:1:250,750 3:2:0,0 2:2:999,999 4:2:100,100", grids) == {2: 1, 4: 4, 23: 2}
    assert painted_by("none", grids) == painted_by("1:3:500,500", grids) == {}
    with pytest.raises(NotApplicable, match="no painted patch such as"):
        painted_by("5:1:0,0", grids)


def test_it_opens_on_something_painted_and_a_click_that_is_taken_back_leaves_it():
    of = subject("digits_vit")
    (begins,) = shown(Label(), of, Canvas)
    clicks, things = begins.data["clicks"], arrays(Label(), of)["things"]
    assert {*things} == {1, 2}
    assert np.array_equal(arrays(Label(clicks=clicks), of)["things"], things)
    more = arrays(Label(clicks=f"{clicks} 3:2:500,500"), of)
    assert 3 in more["things"]
    assert len(more["painted"]) == len(clicks.split()) + 1
    assert not arrays(Label(clicks="none"), of)["things"].any()


def test_the_number_of_the_thing_is_saved_for_every_pixel():
    of = subject("two_heads")
    first, *_ = shown(Label(clicks="4:1:500,500 2:1:10,10"), of, Download)
    saved = Image.open(io.BytesIO(first.make()))
    things = arrays(Label(clicks="4:1:500,500 2:1:10,10"), of)["things"][:36].reshape(6, 6)
    assert np.array_equal(np.asarray(saved)[4::8, 4::8], things)
    palette = label.TINTS[things]
    assert np.array_equal(np.asarray(saved.convert("RGB"))[4::8, 4::8], palette)


def test_the_truth_is_of_what_nobody_painted():
    of, grid = subject("two_heads"), (6, 6)
    truth = object_view.insect(of, grid).flatten().numpy()
    on, off = int(truth.argmax()), int((~truth).argmax())
    found = label.judged([of], [grid], {on: 2, off: 1}, truth + 1)
    assert found[:3] == (1, 34, 1.0)
    assert label.judged([of], [grid], {on: 2, off: 1}, np.ones(36, int))[2] == pytest.approx((35 - truth.sum()) / 68)
    assert label.judged([of], [grid], {on: 1, off: 1, off + 1: 2}, np.where(truth, 1, 2))[2] == 1.0, "half is enough"
    assert label.judged([subject("digits_vit")], [(8, 8)], {0: 1}, np.ones(64, int)) is None


def test_scores_that_are_no_ridge_regression_fail_their_proof(monkeypatch):
    real = label.probe
    assert shown(Label(), subject("digits_vit"), Proof)[-1].holds
    monkeypatch.setattr(label, "probe", lambda *given: (1.01 * real(*given)[0], real(*given)[1]))
    assert not shown(Label(), subject("digits_vit"), Proof)[-1].holds
