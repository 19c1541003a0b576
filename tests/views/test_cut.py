"""What the animation of the cut is given: the numbers of the model, each patch's own."""

import base64

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.views.contract import subject
from vizkit.analysis.attention.attention_map import most_attended
from vizkit.image import prepare
from vizkit.models.probes.parts import attention_parts, patch_embedding
from vizkit.models.probes.positions import learned_table
from vizkit.views.blocks import Canvas, Said
from vizkit.views.patches import cut
from vizkit.views.patches.cut import Cut, packed
from vizkit.views.patches.cut_rows import cut_of
from vizkit.views.patches.opening import asked


def unpacked(part):
    """As cut.js reads it."""
    whole = np.frombuffer(base64.b64decode(part["values"]), "<u2").reshape(part["rows"], part["columns"])
    return part["low"] + whole * part["step"]


def data_of(of, **settings):
    (canvas,) = (block for block in Cut(**settings).show(of) if isinstance(block, Canvas))
    return canvas.data


def test_numbers_survive_in_steps_of_their_range():
    part = packed(np.array([[-1.0, 0.5], [2.0, 5.5535]]))
    assert_allclose(unpacked(part), [[-1.0, 0.5], [2.0, 5.5535]], atol=6.5535 / 65535)
    assert part["step"] == pytest.approx(0.0001)


def test_a_patch_times_w_is_what_the_model_embeds_there():
    of = subject("insects_deit")
    data, embedded, table = data_of(of), patch_embedding(of.loaded, of.pixels), learned_table(of.loaded)
    assert embedded.weight is not None
    assert embedded.bias is not None
    assert table is not None
    own = data["sizes"][data["own"]]
    assert (own["rows"], own["columns"], own["patch"], data["channels"]) == (14, 14, 8, 3)
    pixels = prepare(of.rgb, of.loaded.preprocessing)[0]
    patches = unpacked(data["patches"])
    assert_allclose(patches[17], pixels[:, 8:16, 24:32].ravel(), atol=1e-4)  # row 2, column 4
    product = patches @ embedded.weight.flatten(1).numpy().T + embedded.bias.numpy()
    assert_allclose(unpacked(data["embedding"]), product, atol=2e-3)
    assert_allclose(unpacked(data["position"])[17], table[1, 3].numpy(), atol=1e-4)


def test_of_very_many_numbers_only_those_of_the_chosen_patch_are_sent(monkeypatch):
    of = subject("digits_vit")
    everything = data_of(of)
    monkeypatch.setattr(cut, "MOST_SENT", 10)
    one, index = data_of(subject("digits_vit")), everything["cell"]
    for name in ("patches", "embedding", "position"):
        assert one[name]["rows"] == 1
        assert_allclose(unpacked(one[name])[0], unpacked(everything[name])[index], atol=1e-3)


def test_a_step_changes_the_step_alone():
    of = subject("digits_vit")
    first, last = data_of(of, step=1), data_of(of, step=5)
    assert first | {"step": 5} == last


def test_every_step_says_what_it_does_and_the_last_what_the_sequence_costs():
    of = subject("digits_vit")
    said = [
        next(block.text for block in Cut(step=step).show(of) if isinstance(block, Said))
        for step in (1, 2, 2.25, 3, 4, 4.75, 5)
    ]
    assert [words[0] for words in said] == list("1233455")
    assert "64 patches" in said[1]
    assert said[5] == "5 · To each of the 64 embeddings the vector of its place is added."
    assert [("pairs" in words) for words in said] == [False] * 6 + [True]


def test_the_patch_is_that_of_the_cursor_and_before_anybody_set_it_the_one_that_the_model_looks_at():
    of = subject("insects_deit")
    x, y = asked(of)
    assert (x, y) == most_attended(of.whole())
    assert data_of(of)["cell"] == int(14 * y) * 14 + int(14 * x)
    of.point = (0.99, 0.01)
    assert data_of(of)["cell"] == 13


def test_models_beside_one_another_open_at_the_same_patch():
    vit, swin = subject("digits_vit"), subject("digits_swin")
    vit.beside, swin.beside = (swin,), (vit,)
    assert asked(vit) == asked(swin) == most_attended(vit.whole())  # the ViT has a class token
    assert asked(subject("digits_cnn")) != (0.5, 0.5)  # where its last features are strongest


def test_matrices_are_those_of_the_model_and_positions_have_a_scale_of_their_own():
    of = subject("insects_deit")
    cut = cut_of(of)
    sheets = {sheet.name: sheet for sheet in cut.sheets()}
    assert list(sheets) == ["patches", "W: its main patterns", "embeddings", "positions", "tokens"]
    sizes = [sheet.size.partition(",")[0] for sheet in sheets.values()]
    assert sizes == ["196 × 192", "W is 192 × 128", "196 × 128", "196 × 128", "198 × 128"]
    assert all(sheet.size.endswith(f"±{sheet.limit:.2g}") for sheet in sheets.values() if sheet.tiles is None)
    assert_array_equal(sheets["tokens"].values, sheets["embeddings"].values + sheets["positions"].values)
    recorded = attention_parts(of.loaded, of.pixels, 0).stream.before.numpy()  # what the first layer reads
    assert sheets["tokens"].above is not None
    assert_allclose(sheets["tokens"].above, recorded[:2])  # [cls] and [dist]
    assert_allclose(sheets["tokens"].values, recorded[2:], atol=1e-4)
    one = {sheets[name].limit for name in ("embeddings", "tokens")}
    assert one == {max(np.abs(sheets[name].values).max() for name in ("embeddings", "tokens"))}
    assert sheets["positions"].limit == np.abs(sheets["positions"].values).max() < one.pop()
    assert cut.linear == "× W + b"
    assert cut_of(subject("digits_swin")).linear == "× W + b, normalised"  # its patch embedding ends in a LayerNorm


def test_another_patch_size_is_counted_on_the_same_picture():
    """Of 112 pixels a side. N² pairs, two special tokens counted; of a Swin N times the places of its windows."""
    words = {size["patch"]: size["words"] for size in data_of(subject("insects_deit"))["sizes"]}
    assert list(words) == [2, 4, 7, 8, 14, 16, 28, 56, 112]
    assert words[28] == "28 × 28 px: 16 patches + [cls] + [dist] = 18 tokens, 324 pairs"
    swin = {size["patch"]: size["words"] for size in data_of(subject("digits_swin"))["sizes"]}
    assert swin[2] == "2 × 2 px: 256 patches, 4,096 pairs in windows of 4 × 4"
    assert swin[4] == "4 × 4 px: 64 patches, 1,024 pairs in windows of 4 × 4"
    assert swin[16] == "16 × 16 px: 4 patches, 16 pairs in windows of 2 × 2"  # no larger than the grid


def test_patches_of_another_size_have_no_numbers_of_this_model():
    of = subject("insects_deit")
    data = data_of(of, patch=15)  # the nearest that divides 112
    assert data["sizes"][data["size"]]["patch"] == 14
    assert data["size"] != data["own"]
    assert Cut(patch=15).title(of) == "Cut: 8 × 8 patches"


def test_smaller_patches_than_the_models_own_are_drawn_too():
    assert data_of(subject("insects_deit"), patch=4, step=2)["size"] == 1  # of 2, 4, 7 …
