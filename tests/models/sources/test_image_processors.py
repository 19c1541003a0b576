"""What image processors of the transformers library give, and what vizkit gives in their place."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

import vizkit
from benchmarks.testing import processors
from tests.models.test_transformers import STAGES, VIT, WIDE, made
from vizkit.image import mean_difference, prepare, seen_box, unprepare
from vizkit.models import ModelError, TraceError, pixels_of
from vizkit.models.sources.transformers_processor import OwnProcessor, preprocessing_of

transformers = pytest.importorskip("transformers")

WIDE_PICTURE, TALL = (processors.picture(*hw) for hw in processors.SIZES_HW)
CONVNEXT = {"image_processor_type": "ConvNextImageProcessor"}
BGR = {"image_processor_type": "MobileViTImageProcessor", "do_flip_channel_order": True}
CUT = {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 40}}
CUT |= {"crop_size": {"height": 32, "width": 32}}

WORDS = {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, "resample": 0}


def needs_of(folder, settings, config=None):
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return preprocessing_of(folder, "it", config or {"image_size": 224}, None)


def theirs(folder, rgb):
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    return processor(Image.fromarray(rgb), return_tensors="pt")["pixel_values"][0].float().numpy()


@pytest.mark.rest
@pytest.mark.parametrize("name", processors.names())
def test_every_processor_gives_its_own_numbers_or_a_sentence(name):
    for turned, settings in processors.variants(name):
        found = processors.outcome(settings)
        assert found.difference < 5e-4 or (found.way.endswith(".") and len(found.way) > 30), turned


@pytest.mark.parametrize(
    "settings",
    [
        CONVNEXT | {"size": 64, "crop_pct": 0.875},
        CONVNEXT | {"size": {"shortest_edge": 384}},
        {"image_processor_type": "BeitImageProcessor", "do_center_crop": True, "size": {"height": 96, "width": 96}}
        | {"crop_size": {"height": 64, "width": 64}},
        BGR,
        {"image_processor_type": "EfficientNetImageProcessor", "size": {"height": 64, "width": 64}},
        {"image_processor_type": "ViTImageProcessor", "do_resize": False},
        {"image_processor_type": "DINOv3ViTImageProcessor", "size": {"height": 64, "width": 64}},
        {"feature_extractor_type": "ViTFeatureExtractor", "size": 64},
        {"size": 64},  # the class follows from config.json
        CUT,
        CUT | {"image_processor_type": "BitImageProcessor"},
        CUT | {"image_processor_type": "DeiTImageProcessor", "size": {"height": 40, "width": 40}},
    ],
    ids=lambda settings: "-".join(map(str, settings.values()))[:60],
)
def test_pixels_are_those_of_the_folders_own_processor(tmp_path, settings):
    config = {"model_type": "vit", "image_size": 64}
    (tmp_path / "config.json").write_text(json.dumps(config))
    needs = needs_of(tmp_path, settings, config)
    for rgb in (WIDE_PICTURE, TALL, TALL[:61, :47]):
        assert mean_difference(prepare(rgb, needs)[0], theirs(tmp_path, rgb)) < 5e-4


def box_by_hand(height, width, short, crop):
    """Of a middle that is cut out after the short side was made `short` long."""
    scale = min(height, width) / short
    top, left = (int((int(side / scale) - crop) / 2) * scale for side in (height, width))
    return left, top, left + crop * scale, top + crop * scale


@pytest.mark.parametrize("rgb", [WIDE_PICTURE, TALL], ids=["wide", "tall"])
@pytest.mark.parametrize("kind", ["MobileViTImageProcessor", "PoolFormerImageProcessor", "LevitImageProcessor"])
def test_the_crop_of_an_own_processor_is_drawn_where_it_lies(tmp_path, kind, rgb):
    needs = needs_of(tmp_path, {"image_processor_type": kind})
    short = {"Mob": 224, "Poo": 248, "Lev": 256}[kind[:3]]  # MobileViT fills up to 256, as its defaults ask
    side = needs.size_hw[0]
    expected = box_by_hand(rgb.shape[0], rgb.shape[1], short, side)
    assert needs.crop_mode == "own"
    assert seen_box(rgb.shape[:2], needs) == pytest.approx(expected, abs=1.0)
    if min(expected) < 0:
        return
    # What lies there in the picture is what the input shows.
    part = Image.fromarray(rgb).resize((side, side), Image.Resampling.BILINEAR, box=expected)
    shown = unprepare(prepare(rgb, needs)[0], needs)
    assert np.abs(np.asarray(part).astype(int) - shown).mean() < 6


def test_the_badge_says_that_the_model_saw_what_its_processor_gives(tmp_path, photo):
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(WORDS))
    loaded = vizkit.load(tmp_path)
    assert loaded.preprocessing.translated
    trace = vizkit.trace(loaded, photo)
    assert trace.check.passed
    assert trace.check.pixels == "the model saw what its own processor gives: 0.000"
    loaded.preprocessing = replace(loaded.preprocessing, mean=(0.4, 0.4, 0.4))
    wrong = vizkit.trace(loaded, photo)
    assert "saw other pixels" in (wrong.check.failure or "")
    assert wrong.notes[0] == wrong.check.failure
    other = vizkit.load(tmp_path, image_size=64)
    assert vizkit.trace(other, photo).check.pixels == ""


def test_without_transformers_the_badge_claims_nothing(tmp_path, photo, monkeypatch):
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(WORDS))
    monkeypatch.setitem(sys.modules, "transformers", None)
    trace = vizkit.trace(vizkit.load(tmp_path), photo)
    assert trace.check.passed
    assert trace.check.pixels == ""
    for more in (BGR, {"do_resize": False}, {"image_processor_type": "MineImageProcessor"}):
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(more))
        with pytest.raises(ModelError, match="pip install"):
            vizkit.load(tmp_path)


def test_a_picture_of_its_own_size_is_shown_or_refused(tmp_path):
    settings = {"image_processor_type": "ViTImageProcessor", "do_resize": False}
    for kind, options in (("ViTForImageClassification", WIDE), ("ConvNextForImageClassification", STAGES)):
        folder = tmp_path / kind
        made(kind, options).save_pretrained(folder)
        (folder / "preprocessor_config.json").write_text(json.dumps(settings))
        loaded = vizkit.load(folder)
        rgb = WIDE_PICTURE[:64, :96]
        if kind.startswith("ViT"):
            with pytest.raises(TraceError, match="does not take 64×96 pixels"):
                vizkit.trace(loaded, rgb)
            rgb = rgb[:32, :32]
        trace = vizkit.trace(loaded, rgb)
        assert trace.image_size == rgb.shape[:2]
        assert trace.seen_box_xyxy == pytest.approx((0, 0, rgb.shape[1], rgb.shape[0]), abs=0.1)


@pytest.mark.parametrize("registers", [0, 3])
def test_dinov2_sees_the_size_that_its_processor_gives(tmp_path, photo, registers):
    """facebook/dinov2-base has places for 518 pixels and a processor that gives 224."""
    kind, more = ("Dinov2WithRegistersModel", {"num_register_tokens": 3}) if registers else ("Dinov2Model", {})
    model = made(kind, VIT | more | {"image_size": 56})
    model.save_pretrained(tmp_path)
    cut = CUT | {"image_processor_type": "BitImageProcessor"}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(cut))
    loaded = vizkit.load(tmp_path)
    with torch.no_grad():
        expected = model(torch.from_numpy(theirs(tmp_path, photo))[None]).pooler_output[0]
    trace = vizkit.trace(loaded, photo)
    assert trace.check.pixels.endswith("0.000")
    assert_close(trace.logits, expected, rtol=0, atol=1e-4)


def test_blue_comes_first_also_where_the_size_is_another(tmp_path):
    needs = needs_of(tmp_path, BGR | {"do_normalize": False})
    assert needs.channel_order == "BGR"
    red = np.zeros((40, 40, 3), np.uint8)
    red[..., 0] = 255
    for each in (needs, needs.of_size((64, 48)), needs.of_seen):
        pixels = prepare(red, each)[0][:, 16:-16, 16:-16]  # around it the processor fills up
        assert pixels[2].min() > 0.99 > 0.01 > pixels[0].max()
        assert (unprepare(pixels, each) == (255, 0, 0)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"image_processor_type": "OneFormerImageProcessor", "repo_path": "somebody/files"},
        {"image_processor_type": "LayoutLMv3ImageProcessor", "tesseract_config": "--outputbase /tmp/a"},
        {"image_processor_type": "ViTImageProcessor", "size": {"height": 10**6, "width": 10**6}},
        {"image_processor_type": "ConvNextImageProcessor", "crop_pct": 1e-9},
        {"image_processor_type": "MineImageProcessor", "auto_map": {"AutoImageProcessor": "mine.MineImageProcessor"}},
    ],
)
def test_a_processor_reads_no_files_and_fills_no_memory(tmp_path, settings):
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')")
    with pytest.raises(ModelError, match=r"image processor|vizkit gives to no processor"):
        needs_of(tmp_path, settings)
    assert not (tmp_path / "marker").exists()


def test_an_own_processor_can_be_kept_and_sent():
    own = OwnProcessor("ViTImageProcessor", json.dumps({"size": {"height": 32, "width": 32}}))
    again = OwnProcessor(**json.loads(json.dumps(vars(own))))
    assert {again, own} == {own}
    assert own.box((40, 60)) == pytest.approx((0, 0, 60, 40), abs=0.1)
    with pytest.raises(vizkit.image.ImageError, match="no image processor"):
        OwnProcessor("AutoModel", "{}")(TALL)


def test_a_set_of_pictures_is_given_the_same_numbers(tmp_path, photo):
    from vizkit.explanations.reading import pixels_on, stored_input

    settings = {"image_processor_type": "DINOv3ViTImageProcessor", "size": {"height": 32, "width": 32}}
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    loaded = vizkit.load(tmp_path)
    batch = torch.from_numpy(stored_input(photo, loaded.preprocessing))[None]
    assert torch.equal(pixels_on(loaded.device, batch, loaded.preprocessing), pixels_of(loaded, photo))
