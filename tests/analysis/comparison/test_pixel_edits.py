"""Changes of the image: exact on toy images, the same texts again, and nothing else is accepted."""

import numpy as np
import pytest

import vizkit
from vizkit.analysis.comparison.pixel_edits import PixelEdit, PixelError, box_of, edited, parse
from vizkit.datasets import samples
from vizkit.image import prepare, seen
from vizkit.interventions import Changes

TOY = np.arange(4 * 4 * 3, dtype=np.uint8).reshape(4, 4, 3)
OTHER = TOY + 100


def other(name):
    if name != "other":
        raise PixelError("no such image")
    return OTHER


def changed(*texts):
    return edited(TOY, map(parse, texts), other)


def test_erased_cells_have_the_mean_colour_and_nothing_else_changes():
    after = changed("pixels:2x2:erase=1")
    assert np.unique(after[:2, 2:].reshape(-1, 3), axis=0).tolist() == [[round(float(c)) for c in TOY.mean((0, 1))]]
    untouched = np.ones((4, 4), bool)
    untouched[:2, 2:] = False
    assert np.array_equal(after[untouched], TOY[untouched])
    assert (changed("pixels:2x2:grey=0,3")[:2, :2] == 128).all()


def test_cells_change_places_and_back():
    after = changed("pixels:2x2:swap=0-3")
    assert np.array_equal(after[:2, :2], TOY[2:, 2:])
    assert np.array_equal(after[2:, 2:], TOY[:2, :2])
    assert np.array_equal(changed("pixels:2x2:swap=0-3", "pixels:2x2:swap=3-0"), TOY)
    assert np.array_equal(changed("pixels:2x2:swap=1-1"), TOY)


def test_cells_are_pasted_and_changes_follow_one_another():
    after = changed("pixels:2x2:paste=other@0", "pixels:2x2:swap=0-1")
    assert np.array_equal(after[:2, 2:], OTHER[:2, :2])
    assert np.array_equal(after[:2, :2], TOY[:2, 2:])


@pytest.mark.parametrize("size, grid", [((5, 7), (2, 3)), ((224, 224), (14, 14)), ((3, 3), (3, 3))])
def test_the_cells_of_a_grid_cover_every_pixel_once(size, grid):
    count = np.zeros(size, int)
    for cell in range(grid[0] * grid[1]):
        count[box_of(size, grid, cell)] += 1
    assert (count == 1).all()


def test_cells_of_unequal_sizes_change_places():
    wide = np.arange(5 * 5 * 3, dtype=np.uint8).reshape(5, 5, 3)
    after = edited(wide, [parse("pixels:2x2:swap=0-3")], other)
    assert np.array_equal(after[3:, 3:], wide[[0, 1]][:, [0, 1]])


@pytest.mark.parametrize(
    "text",
    ["pixels:14x14:erase=17,18", "pixels:2x3:swap=3-2", "pixels:2x2:paste=digit 3@0,1", "pixels:1x2:paste=a%40b%3B@1"],
)
def test_a_text_comes_back(text):
    assert str(parse(text)) == text


def test_a_name_may_hold_anything():
    edit = PixelEdit("paste", (2, 2), (1,), "a@b;c=ü,<script>")
    assert parse(str(edit)) == edit
    assert ";" not in str(edit)


@pytest.mark.parametrize(
    "text",
    [
        "pixels:",
        "pixels:2x2:erase=4",
        "pixels:0x2:erase=0",
        "pixels:999x999:erase=1",
        "pixels:2x2:swap=1",
        "pixels:2x2:swap=1-2-3",
        "pixels:2x2:erase=x@1",
        "pixels:2x2:paste=1",
        "pixels:2x2:erase=",
        "pixels:2x2:melt=1",
        "pixels:2x2:erase=1-2",
        "pixels:2x2:erase=,",
        "pixels:2x2:erase=" + "9" * 99,
    ],
)
def test_everything_else_is_refused_in_a_sentence(text):
    with pytest.raises(PixelError, match=r"\.$"):
        parse(text)


@pytest.mark.parametrize("name", ["bundled:digits_vit", "bundled:digits_cnn", "bundled:insects_swin"])
def test_a_model_is_given_exactly_the_changed_pixels(name):
    loaded, image = vizkit.load(name), samples.picture("digit 3")
    plain = seen(image, loaded.preprocessing)
    assert np.array_equal(prepare(plain, loaded.preprocessing.of_seen)[0], prepare(image, loaded.preprocessing)[0])
    same, rgb = Changes.parse(["pixels:4x4:swap=5-5"]).given(loaded, image)
    assert np.array_equal(rgb, plain)
    changes = Changes.parse(["pixels:4x4:erase=5,6", "pixels:4x4:paste=digit 5@9"])
    trace = changes.trace(loaded, image)
    assert trace.notes[0] == f"Changed: {', '.join(changes.texts)}."
    by_hand = seen(image, loaded.preprocessing)
    height, width = by_hand.shape[:2]
    by_hand[height // 4 : height // 2, width // 4 : 3 * width // 4] = np.round(plain.mean((0, 1)))
    own = seen(samples.picture("digit 5"), loaded.preprocessing)
    rows, columns = slice(height // 2, 3 * height // 4), slice(width // 4, width // 2)
    by_hand[rows, columns] = own[rows, columns]
    assert (vizkit.models.trace(same, by_hand).logits == trace.logits).all()
