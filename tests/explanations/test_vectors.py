"""Vectors of patches beside the maps of many images, and the search among them."""

import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

import vizkit
from vizkit.__main__ import main
from vizkit.datasets.insects import draw
from vizkit.explanations import opened
from vizkit.explanations.vectors import Alike, PatchIndex, PatchVectors, said
from vizkit.image import prepare
from vizkit.models.probes.interventions.stream import after_blocks
from vizkit.traces import NotApplicable

MODELS = ("bundled:digits_vit", "bundled:digits_swin", "bundled:digits_cnn")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alike") / "photos"
    folder.mkdir()
    for index in range(5):
        Image.fromarray(draw(index, split="test", seed=3, size_px=64).picture).save(folder / f"{index}.png")
    (folder / "broken.png").write_bytes(b"no image")
    return folder


@pytest.fixture(scope="module")
def written(photos, tmp_path_factory):
    output = tmp_path_factory.mktemp("written") / "maps"
    assert explained(photos, output, MODELS[0], "--patch-features") == 0
    return output


def explained(photos, output, model, *options):
    return main(["explain", str(photos), "--model", model, "-o", str(output), "--device", "cpu", *options])


def index_of(vectors):
    unit = torch.nn.functional.normalize(torch.tensor(vectors), dim=-1).half()
    return PatchIndex([f"{number}.png" for number in range(len(vectors))], unit)


def test_by_hand():
    """Three images of one row of two patches; cosines of (1, 0) with (3, 4), (0, 1), (4, 3), (-1, 0)."""
    index = index_of([[[[1.0, 0.0], [0.0, 1.0]]], [[[3.0, 4.0], [0.0, 1.0]]], [[[4.0, 3.0], [-1.0, 0.0]]]])
    asking = index.patch("0.png", 0.2, 0.9)
    assert asking == Alike("0.png", 0, 0, 1.0)
    found = index.most_alike(asking, 5)
    assert [each[:3] for each in found] == [("2.png", 0, 0), ("1.png", 0, 0)]
    assert [each.cosine for each in found] == pytest.approx([0.8, 0.6], abs=1e-3)
    assert "row 1, column 1 of 0.png" in said(asking, found).lower()
    assert "0.80" in said(asking, found)
    assert index.most_alike(index.patch("0.png", 1.0, 0.0), 1)[0][:3] == ("1.png", 0, 1)
    alone = index_of([[[[1.0, 0.0]]]])
    assert alone.most_alike(alone.patch("0.png", 0.0, 0.0), 3) == []
    assert said(asking, []) == "There is no other image."


def test_it_is_exact_where_float16_cannot_tell():
    """Neighbours closer than the rounding of a float16 product are told apart as a plain loop in double precision
    tells them."""
    chance = torch.Generator().manual_seed(5)
    middle = torch.randn(384, generator=chance)
    vectors = middle + 0.02 * torch.randn(40, 3, 7, 384, generator=chance)
    index = index_of(vectors.tolist())
    own = index.vectors.double()
    asking = index.patch("11.png", 0.5, 0.5)
    found = index.most_alike(asking, 10)
    cosines = torch.einsum("irkc,c->irk", own, own[11, asking.row, asking.column])
    cosines[11] = -1
    order = cosines.flatten(1).amax(1).argsort(descending=True)[:10].tolist()
    assert [each.key for each in found] == [f"{number}.png" for number in order]
    for each, number in zip(found, order, strict=True):
        assert (each.row, each.column) == tuple(divmod(int(cosines[number].argmax()), 7))
    rough = (index.vectors.flatten(0, 2) @ index.vectors[11, asking.row, asking.column]).view(40, -1)
    assert rough.float().amax(1).topk(20).values.unique().numel() < 15  # so float16 alone would not do


@pytest.mark.product
@pytest.mark.parametrize("model", MODELS)
def test_the_column_holds_what_leaves_the_last_block(model, photos, tmp_path):
    assert explained(photos, tmp_path / "maps", model, "--method", "grad-cam", "--patch-features") == 0
    results, loaded = opened(tmp_path / "maps"), vizkit.load(model)
    index = PatchIndex.of(results)
    assert index.keys == [f"{number}.png" for number in range(5)]  # without the broken one
    for number in (0, 4):
        image = vizkit.open_image(str(photos / f"{number}.png"))
        pixels = torch.from_numpy(prepare(image, loaded.preprocessing)[0])[None]
        last = after_blocks(loaded, vizkit.trace(loaded, image), pixels)[1][-1]
        rows, columns = last.tokens.grid
        own = last.values[len(last.tokens.special) :][: rows * columns].float().unflatten(0, (rows, columns))
        unit = torch.nn.functional.normalize(own, dim=-1)
        assert_close(index.vectors[number].float(), unit, atol=1e-3, rtol=0)
    assert results.manifest["patch_features"] == [*index.vectors.shape[1:]]
    assert "patch_features" not in results.row("0.png")


def test_vectors_that_are_none_of_the_last_block_are_refused():
    loaded = vizkit.load(MODELS[0])
    needs = loaded.preprocessing
    pixels = torch.randn(1, needs.channels, *needs.size_hw, generator=torch.Generator().manual_seed(0))
    trace = vizkit.trace(loaded, draw(0, split="test", size_px=64).picture)  # of another image
    with pytest.raises(NotApplicable, match="does not give the vectors"):
        PatchVectors(loaded, trace, pixels)


def test_the_command_lists_and_draws_them(written, tmp_path, capsys):
    drawn = tmp_path / "alike.png"
    assert main(["explained", str(written), "1.png", "--alike", "0.4", "0.6", "-o", str(drawn)]) == 0
    out = capsys.readouterr().out.splitlines()
    index = PatchIndex.of(opened(written))
    found = index.most_alike(index.patch("1.png", 0.4, 0.6), 11)
    assert "of 1.png: the most similar patch of another image has a cosine of" in out[0]
    assert [line.split()[0] for line in out[2 : 2 + len(found)]] == [each.key for each in found]
    with Image.open(drawn) as image:
        assert (np.asarray(image.convert("RGB")) == (255, 176, 0)).all(-1).any()  # the frames


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["nobody.png", "--alike", "0.1", "0.1"], "No image 'nobody.png' has vectors"),
        (["broken.png", "--alike", "0.1", "0.1"], "No image 'broken.png' has vectors"),
        (["1.png", "--alike", "1.5", "0.1"], "from 0 to 1"),
        (["1.png", "--alike", "nan", "0.1"], "from 0 to 1"),
        (["--alike", "0.1", "0.1"], "give its key"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(written, capsys, options, sentence):
    assert main(["explained", str(written), *options]) != 0
    assert sentence in capsys.readouterr().err


def test_a_run_without_them_or_with_damaged_ones_is_refused(written, photos, tmp_path):
    assert explained(photos, tmp_path / "without", MODELS[0]) == 0
    with pytest.raises(ValueError, match="--patch-features"):
        PatchIndex.of(opened(tmp_path / "without"))
    (part, *_) = written.glob("*.parquet")
    table = pyarrow.parquet.read_table(part)
    at = table.schema.get_field_index("patch_features")
    for shape in ([1, 1, 10**9], "words", [-1, -1, 4], None):
        told = {} if shape is None else {"shape": json.dumps(shape)}
        other = tmp_path / f"damaged {shape}"
        other.mkdir()
        (other / "_manifest.json").write_bytes((written / "_manifest.json").read_bytes())
        changed = table.set_column(at, table.schema.field(at).with_metadata(told), table.column(at))
        pyarrow.parquet.write_table(changed, other / part.name)
        with pytest.raises(ValueError, match="are damaged"):
            PatchIndex.of(opened(other))


def test_a_run_without_images_has_no_patches(written, tmp_path):
    (part, *_) = written.glob("*.parquet")
    (tmp_path / "_manifest.json").write_bytes((written / "_manifest.json").read_bytes())
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(part).slice(0, 0), tmp_path / part.name)
    with pytest.raises(ValueError, match=r"No image .* has vectors"):
        PatchIndex.of(opened(tmp_path)).patch("1.png", 0.5, 0.5)
