"""Folders of the transformers library: the same answer as the library gives, by timm where timm has the model."""

import json
import re
import sys
from contextlib import suppress

import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.drawn import seeded
from vizkit.models import ModelError, family_of, pixels_of
from vizkit.models.sources.from_transformers import LOCATING

transformers = pytest.importorskip("transformers")

VIT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}
WIDE = VIT | {"intermediate_size": 48}
SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4], "window_size": 4}
STAGES = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}
BEIT = WIDE | {"use_relative_position_bias": True, "layer_scale_init_value": 0.5}
HEADS = {"num_attention_heads": [1, 2, 3, 4]}
RESNET = {"hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 2, 1]}
DETR = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
DETR |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "num_queries": 4}
DETR |= {"use_timm_backbone": False, "backbone": None}
DETR |= {"backbone_config": {"model_type": "resnet", "layer_type": "basic", "out_features": ["stage4"]} | RESNET}

# name → (class, its configuration, the family in vizkit, or "generic" where the module of transformers is recorded)
CASES = {
    "vit": ("ViTForImageClassification", WIDE, "vit"),
    "vit, another activation": ("ViTForImageClassification", WIDE | {"hidden_act": "gelu_pytorch_tanh"}, "vit"),
    "vit, features": ("ViTModel", WIDE, "vit"),
    "deit": ("DeiTForImageClassification", WIDE, "vit"),
    "deit, distilled": ("DeiTForImageClassificationWithTeacher", WIDE, "vit"),
    "beit": ("BeitForImageClassification", BEIT, "vit"),
    "beit, absolute": (
        "BeitForImageClassification",
        WIDE | {"use_absolute_position_embeddings": True, "layer_scale_init_value": 0.5},
        "vit",
    ),
    "dinov2": ("Dinov2Model", VIT, "vit"),
    "dinov2, registers": ("Dinov2WithRegistersModel", VIT | {"num_register_tokens": 3}, "vit"),
    "dinov2, classes": ("Dinov2ForImageClassification", VIT, "generic"),
    "dinov3": ("DINOv3ViTModel", WIDE | {"num_register_tokens": 4}, "generic"),
    "clip": ("CLIPVisionModelWithProjection", WIDE | {"projection_dim": 12}, "vit"),
    "clip, features": ("CLIPVisionModel", WIDE, "vit"),
    "siglip": ("SiglipVisionModel", WIDE, "vit"),
    "swin": ("SwinForImageClassification", SWIN, "swin"),
    "swinv2": ("Swinv2ForImageClassification", SWIN, "swin"),
    "swinv2, windows before": (
        "Swinv2ForImageClassification",
        SWIN | {"pretrained_window_sizes": [3, 3]},
        "swin",
    ),
    "convnext": ("ConvNextForImageClassification", STAGES | {"image_size": 64}, "cnn"),
    "convnextv2": ("ConvNextV2ForImageClassification", STAGES | {"image_size": 64}, "cnn"),
    "resnet": ("ResNetForImageClassification", RESNET, "cnn"),
    "resnet, basic": ("ResNetForImageClassification", RESNET | {"layer_type": "basic"}, "cnn"),
    "segformer": ("SegformerForImageClassification", STAGES | HEADS, "generic"),
    "pvt": ("PvtForImageClassification", STAGES | HEADS | {"image_size": 64}, "generic"),
    "yolos": ("YolosForObjectDetection", VIT | {"image_size": [32, 48], "num_detection_tokens": 3}, "generic"),
    "detr": ("DetrForObjectDetection", DETR, "generic"),
    "segformer, maps": ("SegformerForSemanticSegmentation", STAGES | HEADS, "generic"),
}

ANY_SIZE = ("detr", "segformer", "segformer, maps")  # places of the first are measured for a minute at 224 pixels


def made(kind, options, labels=5):
    cls = getattr(transformers, kind)
    named = {} if "Classification" not in kind else {"num_labels": labels}
    with seeded():
        config = cls.config_class(**options, **named)
        model = cls(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.15)
    return model


def answer(model, pixels):
    with torch.no_grad():
        if type(model).__name__.endswith(LOCATING):  # features, without boxes or maps
            tokens = model.base_model(pixel_values=pixels).last_hidden_state
            return tokens.mean(1) if tokens.dim() == 3 else tokens.mean((-2, -1))
        out = model(pixel_values=pixels)
    for name in ("logits", "image_embeds"):
        if getattr(out, name, None) is not None:
            return getattr(out, name)
    if type(model).__name__ == "ViTModel":  # its pooler was made for another task
        return out.last_hidden_state[:, 0]
    return out.pooler_output.flatten(1)


@pytest.mark.parametrize("case", CASES)
def test_a_folder_gives_the_logits_of_its_library(tmp_path, photo, case):
    kind, options, family = CASES[case]
    model = made(kind, options)
    model.save_pretrained(tmp_path / "folder")
    size = {"image_size": (64, 96)} if case in ANY_SIZE else {}
    loaded = vizkit.load(tmp_path / "folder", **size)
    assert family_of(loaded.model) == family
    pixels = pixels_of(loaded, photo)
    expected = answer(model, pixels)[0]
    trace = vizkit.trace(loaded, photo)
    assert trace.check.passed
    assert_close(trace.logits, expected, rtol=0, atol=1e-4)
    assert loaded.classifies == ("Classification" in kind)
    assert loaded.name == "folder"
    assert ("without the head" in loaded.source) == kind.endswith(LOCATING)
    assert "own module" in loaded.source if family == "generic" else "as timm's" in loaded.source


@pytest.mark.parametrize(
    "case", ["vit", "deit", "deit, distilled", "beit", "dinov2, registers", "swin", "clip", "siglip"]
)
def test_translated_attention_is_that_of_the_library(tmp_path, photo, case):
    kind, options, _ = CASES[case]
    model = made(kind, options)
    model.save_pretrained(tmp_path / "folder")
    loaded = vizkit.load(tmp_path / "folder")
    trace = vizkit.trace(loaded, photo)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        own = model(pixel_values=pixels_of(loaded, photo), output_attentions=True).attentions
    theirs = [w for w in own if w is not None]
    recorded = [layer for layer in trace.attention if "attn" in layer.name]  # merging is no attention
    recorded = recorded[1:] if case == "swin" else recorded  # it gives the last block of each stage
    for layer, weights in zip(recorded, theirs, strict=False):  # SigLIP's pooling comes last
        assert_close(layer.weights, weights, rtol=0, atol=1e-5)
    assert len(theirs) > 0
    if "deit" in case:
        assert trace.attention[0].query.special == ("cls", "dist")


def test_mae_is_shown_without_its_mask(tmp_path, photo):
    """transformers hides three quarters of the patches in every pass; nothing is hidden here."""
    model = made("ViTMAEForPreTraining", WIDE | {"decoder_hidden_size": 16, "decoder_num_attention_heads": 2})
    model.save_pretrained(tmp_path / "folder")
    loaded = vizkit.load(tmp_path / "folder")
    model.config.mask_ratio = 0.0
    with torch.no_grad():
        expected = model.vit(pixels_of(loaded, photo)).last_hidden_state[0, 0]
    assert_close(vizkit.trace(loaded, photo).logits, expected, rtol=0, atol=1e-4)


def test_both_towers_of_clip_give_that_of_the_pictures(tmp_path, photo):
    text = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 20}
    model = made("CLIPModel", {"vision_config": WIDE, "text_config": text, "projection_dim": 12})
    model.save_pretrained(tmp_path / "folder")
    loaded = vizkit.load(tmp_path / "folder")
    with torch.no_grad():
        pooled = model.vision_model(pixels_of(loaded, photo)).pooler_output
        expected = model.visual_projection(pooled)[0]
    assert_close(vizkit.trace(loaded, photo).logits, expected, rtol=0, atol=1e-4)


# ---- what stands beside the weights ----------------------------------------------------------------------------------
def test_labels_licence_and_processor(tmp_path, photo):
    model = made("ViTForImageClassification", WIDE | {"id2label": {0: "ant", 1: "bee", 2: "cat"}}, labels=3)
    model.save_pretrained(tmp_path)
    processor = {"size": {"height": 32, "width": 32}, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor | {"resample": 2}))
    (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    loaded = vizkit.load(tmp_path)
    assert (loaded.labels, loaded.licence) == (("ant", "bee", "cat"), "apache-2.0")
    needs = loaded.preprocessing
    assert (needs.mean, needs.std, needs.interpolation) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), "bilinear")
    assert needs.crop_mode == "squash"
    untrained = vizkit.load(tmp_path, pretrained=False)
    assert not untrained.trained
    assert "random weights" in untrained.source
    wide = vizkit.load(tmp_path, image_size=(32, 64))
    assert vizkit.trace(wide, photo).attention[0].query.grid == (4, 8)


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_damaged_image_processor_is_refused(tmp_path, text):
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(text)
    with pytest.raises(ModelError, match=r"preprocessor_config\.json of .* cannot be read"):
        vizkit.load(tmp_path)


def test_a_guessed_preprocessing_is_said(tmp_path, monkeypatch):
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    path = tmp_path / "preprocessor_config.json"
    assert "those of ImageNet" in vizkit.load(tmp_path).source
    path.write_text('{"size": {"height": 32, "width": 32}}')
    assert vizkit.load(tmp_path).preprocessing.mean == (0.5, 0.5, 0.5)  # of the class for a ViT
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "those of ImageNet" in vizkit.load(tmp_path).source
    path.write_text('{"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}')
    assert "ImageNet" not in vizkit.load(tmp_path).source


# ---- refusals --------------------------------------------------------------------------------------------------------
def refusal(folder):
    with pytest.raises(ModelError) as caught:
        vizkit.load(folder)
    return str(caught.value)


def changed(folder, **entries):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | entries))
    return folder


def test_without_transformers_it_says_what_to_install(tmp_path, monkeypatch):
    made("SegformerForImageClassification", STAGES | HEADS).save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "pip install -r requirements-transformers.txt" in refusal(tmp_path)


def test_a_translated_model_never_imports_transformers(tmp_path, photo, monkeypatch):
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert vizkit.trace(vizkit.load(tmp_path), photo).check.passed


def test_code_that_comes_with_a_folder_is_never_run(tmp_path):
    made("SegformerForImageClassification", STAGES | HEADS).save_pretrained(tmp_path)
    (tmp_path / "modeling.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')")
    own = {"AutoModelForImageClassification": "modeling.MineForImageClassification"}
    changed(tmp_path, auto_map=own, architectures=["MineForImageClassification"])
    assert "which this transformers does not have" in refusal(tmp_path)
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    "entries, words",
    [
        ({"architectures": ["SegformerForDepthEstimation"]}, "shows classifiers"),
        ({"architectures": ["BertModel"], "model_type": "bert"}, "does not take an image alone"),
        ({"quantization_config": {"bits": 4}}, "quantized"),
        ({"backbone_config": {"model_type": "dpt", "backbone": "a/b", "backbone_kwargs": {"x": 1}}}, "of its own"),
        ({"parts": [{"model_type": "timm_backbone", "backbone": "hf-hub:a/b"}]}, "of its own"),
        ({"depths": [10**6, 1, 1, 1]}, "above 1000"),
        ({"hidden_sizes": [8, 16, 24, 48]}, "cannot be made by transformers|lacks weights|does not fit"),
        ({"hidden_sizes": "many"}, "cannot be made by transformers"),
    ],
)
def test_folders_that_are_refused(tmp_path, entries, words):
    made("SegformerForImageClassification", STAGES | HEADS).save_pretrained(tmp_path)
    assert re.search(words, refusal(changed(tmp_path, **entries)))


def test_weights_that_do_not_fit_their_configuration(tmp_path):
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    assert "does not fit" in refusal(changed(tmp_path, num_hidden_layers=3))


def test_a_model_above_the_budget_is_refused_before_it_is_made(tmp_path, monkeypatch):
    made("SegformerForImageClassification", STAGES | HEADS).save_pretrained(tmp_path)
    changed(tmp_path, hidden_sizes=[8, 16, 24, 512])
    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", lambda *_, **__: pytest.fail("it was made"))
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "0.001")
    assert "more than the" in refusal(tmp_path)


@pytest.mark.parametrize(
    "entries",
    [
        {"patch_size": []},
        {"hidden_size": "x"},
        {"image_size": None},
        {"layer_norm_eps": {}},
        {"num_hidden_layers": -1},
        {"architectures": [3]},
        {"vision_config": 7},
        {"num_attention_heads": 5},
        {"hidden_act": ["gelu"]},
    ],
    ids=str,
)
def test_a_strange_configuration_is_refused_in_a_sentence_or_does_not_matter(tmp_path, photo, entries):
    made("ViTForImageClassification", WIDE).save_pretrained(tmp_path)
    with suppress(ModelError):
        assert vizkit.trace(vizkit.load(changed(tmp_path, **entries)), photo).check.passed


def test_an_adapter_spoken_of_beside_a_whole_model_leads_nowhere_and_is_said(tmp_path, photo):
    made("SegformerForImageClassification", STAGES | HEADS).save_pretrained(tmp_path)
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "somebody/else"}')
    loaded = vizkit.load(tmp_path, image_size=64)
    assert "without the adapter" in loaded.source
    assert vizkit.trace(loaded, photo).check.passed
