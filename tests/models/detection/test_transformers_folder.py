"""Folders of transformers with a DETR: same answers, sizes and classes as there, or one sentence."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch.testing import assert_close
from transformers import DetrConfig, DetrForObjectDetection, DetrImageProcessor
from transformers.models.detr.image_processing_detr import get_size_with_aspect_ratio

from tests.drawn import noisy_picture
from tests.models.detection.test_detr import theirs
from vizkit.models.detection.detecting import detect
from vizkit.models.detection.opening import finds, open_detector
from vizkit.models.detection.resizing import resized_hw
from vizkit.models.sources.hub import ModelError


@pytest.fixture(scope="module")
def model():
    made = theirs()
    made.config.id2label = {0: "cat", 1: "dog", 2: "bird"}
    made.config.label2id = {"cat": 0, "dog": 1, "bird": 2}
    return made


@pytest.fixture
def folder(model, tmp_path):
    model.save_pretrained(tmp_path / "detr")
    size = {"shortest_edge": 96, "longest_edge": 150}
    DetrImageProcessor(size=size).save_pretrained(tmp_path / "detr")
    return tmp_path / "detr"


def test_what_is_found_is_what_transformers_finds(folder, model):
    detector = open_detector(folder)
    assert finds(folder)
    assert detector.labels == ("cat", "dog", "bird")
    assert detector.edges_px == (96, 150)
    picture = noisy_picture(60, 140)
    expected_processor = DetrImageProcessor.from_pretrained(folder)
    with torch.no_grad():
        given_pixels = expected_processor(images=Image.fromarray(picture), return_tensors="pt")
        assert tuple(given_pixels["pixel_values"].shape[-2:]) == detector.needs((60, 140)).size_hw
        answers = model(pixel_values=given_pixels["pixel_values"])
    (expected,) = expected_processor.post_process_object_detection(answers, 0.0, torch.tensor([[60, 140]]))
    found = detect(detector, picture, 0.0)
    order = expected["scores"].argsort(descending=True)
    scores = torch.tensor([each.score for each in found])
    assert_close(scores, expected["scores"][order], atol=0.02, rtol=0)  # other code resizes
    best = found[0]
    assert best.label == model.config.id2label[int(expected["labels"][order[0]])]
    lowest, highest = torch.zeros(4), torch.tensor([140.0, 60, 140, 60])
    box = expected["boxes"][order[0]].clamp(lowest, highest)
    assert_close(torch.tensor(best.box_xyxy), box, atol=2.0, rtol=0)


OLDER = {"use_timm_backbone": True, "backbone": "resnet18", "scale_embedding": False, "num_hidden_layers": 1}


@pytest.mark.product
@pytest.mark.parametrize(
    "older",
    [
        None,
        {},
        {"backbone_kwargs": None, "backbone_config": None},
        {"use_pretrained_backbone": True, "backbone_kwargs": {"out_indices": [1, 2, 3, 4]}},
    ],
    ids=["today", "the hub's", "null", "keywords"],
)
def test_a_backbone_of_timm_opens_as_today_and_as_facebook_wrote_it(tmp_path, older):
    """config.json and preprocessor_config.json of facebook/detr-resnet-50 name their backbone in older ways."""
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "num_queries": 7, "num_labels": 3}
    widths = {
        f"{part}_{what}": number
        for part in ("encoder", "decoder")
        for what, number in (("attention_heads", 4), ("ffn_dim", 40))
    }
    model = DetrForObjectDetection(DetrConfig(backbone="resnet18", **sizes, **widths)).eval()
    model.save_pretrained(tmp_path)
    processor = {
        "do_resize": True,
        "do_normalize": True,
        "feature_extractor_type": "DetrFeatureExtractor",
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
        "max_size": 1333,
        "size": 800,
    }
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    if older is not None:
        config = json.loads((tmp_path / "config.json").read_text())
        del config["backbone_config"]
        (tmp_path / "config.json").write_text(json.dumps(config | OLDER | older))
    detector, pixels = open_detector(tmp_path), torch.randn(1, 3, 96, 160)
    assert detector.edges_px == (800, 1333)
    with torch.no_grad():
        answers, expected = detector.model(pixels), model(pixel_values=pixels)
    assert_close(answers.logits, expected.logits, atol=1e-4, rtol=0)
    assert_close(answers.boxes_cxcywh, expected.pred_boxes, atol=1e-5, rtol=0)


@given(height=st.integers(1, 3000), width=st.integers(1, 3000), shorter=st.integers(1, 900), more=st.integers(0, 900))
def test_sizes_are_those_of_transformers(height, width, shorter, more):
    expected = get_size_with_aspect_ratio((height, width), shorter, shorter + more)
    assert resized_hw((height, width), shorter, shorter + more) == tuple(max(1, side) for side in expected)


def changed(file, **changes):
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"d_model": 10**9},
        {"decoder_layers": "three"},
        {"encoder_layers": 10**6},
        {"position_embedding_type": "learned"},
        {"num_queries": 9},
        {"backbone_config": {"model_type": "timm_backbone", "backbone": "hf-hub:somebody/cnn"}},
        {"backbone_config": {"model_type": "no such model"}},
        {"encoder_attention_heads": 7},
        {"backbone_config": None, "backbone": "somebody/cnn", "use_timm_backbone": False},
        {"backbone_config": None, "backbone": "somebody/cnn", "backbone_kwargs": {"out_indices": [4]}},
        {"backbone_config": {"model_type": "dpt", "backbone": "somebody/cnn", "backbone_kwargs": {"out_indices": [4]}}},
    ],
)
def test_hostile_configurations_get_a_sentence(folder, changes):
    changed(folder / "config.json", **changes)
    with pytest.raises(ModelError) as error:
        open_detector(folder)
    assert "\n" not in str(error.value)
    assert "Cannot reach" not in str(error.value)  # nothing was looked up elsewhere


@pytest.mark.parametrize(
    "size",
    [
        {"shortest_edge": 0},
        {"shortest_edge": 900, "longest_edge": 800},
        "wide",
        [1, 2],
        {"shortest_edge": 800, "longest_edge": 10**6},
    ],
)
def test_hostile_sizes_get_a_sentence(folder, size):
    changed(folder / "preprocessor_config.json", size=size)
    with pytest.raises(ModelError):
        open_detector(folder)


def test_a_folder_without_weights_gets_a_sentence(folder):
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError):
        open_detector(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError):
        open_detector(folder)
