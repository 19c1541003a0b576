"""Enlarging any picture, and what is seen of its attention."""

import json

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import save_file

from tests.drawn import noisy_picture as picture
from tests.models.super_resolution.conftest import SIZES
from vizkit.__main__ import main
from vizkit.models.sources.hub import ModelError
from vizkit.models.super_resolution import bundled_enlargers, enlarge, open_enlarger, see
from vizkit.models.super_resolution.enlarging import LARGEST_REFERENCE, fitting_reference, tiles
from vizkit.models.super_resolution.opening import BUNDLED
from vizkit.saving import open_npz


@pytest.fixture
def folder(tiny, tmp_path):
    """A run folder of it."""
    folder = tmp_path / "run"
    folder.mkdir()
    save_file(tiny.model.state_dict(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"architecture": "ttsr_small", "sizes": SIZES, "license": "mit"}))
    return folder


def test_tiles_cover_every_place_once_and_see_their_surroundings():
    covered = np.zeros((41, 29), int)
    for rows, columns, seen_rows, seen_columns in tiles(41, 29, side=11, border=3):
        covered[rows, columns] += 1
        assert seen_rows.start == max(rows.start - 3, 0)
        assert seen_columns.stop == min(columns.stop + 3, 29)
    assert (covered == 1).all()


def test_tiles_give_the_picture_that_the_whole_gives(tiny):
    small, reference = picture(13, 101), picture(40, 52, 1)
    whole, tiled = (enlarge(tiny, small, reference, tile=tile) for tile in (1000, 37))
    apart = np.abs(whole.astype(int) - tiled)
    assert whole.shape == (52, 404, 3)
    assert apart.max() <= 1  # of 255: sums of another order


@pytest.mark.parametrize("rows_columns", [(1, 1), (3, 2), (5, 7), (31, 2)])
@pytest.mark.parametrize("reference", [(1, 1), (3, 9), (17, 13)])
def test_pictures_and_references_of_any_shape(tiny, rows_columns, reference):
    enlarged = enlarge(tiny, picture(*rows_columns), picture(*reference, 1))
    assert enlarged.shape == (4 * rows_columns[0], 4 * rows_columns[1], 3)


def test_a_reference_is_cut_to_multiples_of_four_and_shrunk_where_it_is_large():
    assert fitting_reference(picture(17, 13)).shape == (16, 12, 3)
    large = fitting_reference(picture(1300, 700))
    assert large.shape[0] * large.shape[1] <= LARGEST_REFERENCE
    assert large.shape[0] / large.shape[1] == pytest.approx(1300 / 700, rel=0.02)


def test_the_work_can_be_followed_and_stopped(tiny):
    heard = []
    enlarge(tiny, picture(9, 50), picture(8, 8), tell=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 2), (2, 2)]

    def stop(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        enlarge(tiny, picture(9, 50), picture(8, 8), tell=stop)


def test_what_attention_saw_is_what_the_network_used(tiny):
    small, reference = picture(5, 7), picture(44, 52, 1)
    seen = see(tiny, small, reference)
    assert seen.hard.shape == seen.mixture.shape == seen.bicubic.shape == (20, 28, 3)
    assert np.array_equal(seen.hard, enlarge(tiny, small, reference))
    for place in range(35):
        relevance = seen.map_of(place)
        assert relevance.shape == (11, 13)
        assert int(relevance.argmax()) == int(seen.place[place])
        assert float(relevance.max()) == pytest.approx(float(seen.relevance[place]), abs=1e-5)
    with pytest.raises(ValueError, match="up to 64"):
        see(tiny, picture(65, 5), reference)


def test_a_run_folder_opens_and_a_damaged_one_is_a_sentence(folder):
    assert open_enlarger(folder).uses_reference
    for text, word in (('{"architecture": "vit"}', "names no network"), ('{"architecture": "sr_small"}', "another")):
        (folder / "config.json").write_text(text)
        with pytest.raises(ModelError, match=word):
            open_enlarger(folder)
    with pytest.raises(ModelError, match="no run folder"):
        open_enlarger(folder / "nothing")
    with pytest.raises(ModelError, match="no bundled model that enlarges 'x'"):
        open_enlarger("bundled:x")


def test_the_command_enlarges_or_says_why_not(folder, tmp_path, capsys):
    small, reference, out = tmp_path / "small.png", tmp_path / "reference.png", tmp_path / "out.png"
    Image.fromarray(picture(9, 11)).save(small)
    Image.fromarray(picture(44, 52, 1)).save(reference)
    usual = ["enlarge", str(small), "--model", str(folder), "--quiet"]
    assert main([*usual, "--reference", str(reference), "-o", str(out)]) == 0
    with Image.open(out) as written:
        assert written.size == (44, 36)
    assert "44 × 36 pixels" in capsys.readouterr().out
    out.unlink()
    traced = tmp_path / "attention.npz"
    assert main([*usual, "--reference", str(reference), "-o", str(out), "--trace", str(traced)]) == 0
    assert open_npz(traced)[0].attention[0].key.grid == (11, 13)
    assert main([*usual, "--reference", str(reference), "-o", str(out), "--trace", str(tmp_path / "taken.png")]) == 0
    with Image.open(tmp_path / "taken.png") as lines:
        assert lines.size == (11 * 44 + 32 + 52 * 9, 9 * 44)  # 44 and 9 times as large
    capsys.readouterr()
    out.unlink()
    for arguments, word in (
        ([*usual, "-o", str(out)], "--reference"),
        ([*usual, "--reference", str(tmp_path / "none.png"), "-o", str(out)], "no file"),
        ([*usual, "--reference", str(reference), "-o", str(tmp_path / "out.jpg")], "ends in .png"),
        (
            [*usual, "--reference", str(reference), "-o", str(out), "--trace", str(tmp_path / "taken.txt")],
            "ends in .npz or .png",
        ),
    ):
        assert main(arguments) == 2
        assert word in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.skipif(not bundled_enlargers(), reason="none are bundled")
def test_bundled_networks_open_and_are_small():
    for name in bundled_enlargers():
        assert open_enlarger(f"bundled:{name}").name == name
        assert sum(file.stat().st_size for file in (BUNDLED / name).iterdir()) < 8e6
