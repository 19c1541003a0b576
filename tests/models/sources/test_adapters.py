"""LoRA: merged as peft merges it, or refused by name; never the base in silence."""

import json
import re
import shutil

import pytest
import timm
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import vizkit
from tests.drawn import seeded
from vizkit.models import ModelError

VIT = "test_vit"
QUERY, VALUE = "attention.attention.query", "attention.attention.value"


def lora(folder, factors, others=(), **config):
    """An adapter by hand, as `save_pretrained` writes it."""
    folder.mkdir(exist_ok=True)
    state = dict(others)
    for module, (first, second) in factors.items():
        state |= {f"{module}.lora_A.weight": first, f"{module}.lora_B.weight": second}
    save_file(
        {f"base_model.model.{name}": value for name, value in state.items()}, folder / "adapter_model.safetensors"
    )
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "base_model_name_or_path": None} | config
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def base(tmp_path):
    with seeded():
        model = timm.create_model(VIT, num_classes=5).eval()
    torch.save({"arch": VIT, "state_dict": model.state_dict()}, tmp_path / "base.pth")
    return model


FACTORS = {"blocks.0.attn.qkv": (torch.arange(128.0).reshape(2, 64) / 99, torch.ones(192, 2) / 9)}


def test_the_product_is_added_as_often_as_alpha_says(tmp_path, base):
    """Row i of B is 1/9 twice, so to every row the two of A are added, each a ninth of it, α/r = 3 times."""
    folder = lora(tmp_path / "adapter", FACTORS, {"head.bias": torch.ones(5)})
    loaded = vizkit.load(folder, architecture=str(tmp_path / "base.pth"))
    first, _ = FACTORS["blocks.0.attn.qkv"]
    own, found = base.state_dict(), loaded.model.state_dict()
    expected = own["blocks.0.attn.qkv.weight"] + 3 * (first[0] + first[1]) / 9
    assert_close(found["blocks.0.attn.qkv.weight"], expected)
    assert found["head.bias"].tolist() == [1] * 5
    assert {name for name in own if not torch.equal(own[name], found[name])} == {
        "blocks.0.attn.qkv.weight",
        "head.bias",
    }
    assert "adapter merged (LoRA of rank 2)" in loaded.source
    assert loaded.name == "adapter"


REFUSED = {
    "another kind": ({"peft_type": "IA3"}, "adapter of the kind IA3"),
    "DoRA": ({"use_dora": True}, "adapter with use_dora"),
    "an option of tomorrow": ({"use_tomorrow": 3}, "adapter with use_tomorrow"),
    "PiSSA": ({"init_lora_weights": "pissa"}, "adapter whose base was changed"),
    "no alpha": ({"lora_alpha": None}, "does not say its alpha"),
    "a hostile pattern": ({"alpha_pattern": {"(a+)+$": 3}}, "does not say its alpha"),
    "no base": ({}, "adapter and does not name its base.*architecture="),
    "a base elsewhere": (
        {"base_model_name_or_path": "/etc/base"},
        "adapter of base, which lies elsewhere.*architecture=",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_plainly_lora_is_refused_as_an_adapter(tmp_path, case):
    config, words = REFUSED[case]
    with pytest.raises(ModelError, match=words):
        vizkit.load(lora(tmp_path / "mine", FACTORS, **config))


@pytest.mark.parametrize(
    "name",
    ["lora_A.default.weight", "base_layer.weight", "lora_A", "ia3_l", "hada_w1_a", "lora_magnitude_vector"],
)
def test_a_file_with_adapters_alone_says_so(tmp_path, base, name):
    state = {f"base_model.model.{key}": value for key, value in base.state_dict().items()}
    torch.save(state | {f"base_model.model.blocks.0.attn.qkv.{name}": torch.ones(2, 64)}, tmp_path / "full.pth")
    with pytest.raises(ModelError, match="adapter without its adapter_config"):
        vizkit.load(tmp_path / "full.pth", architecture=VIT)


def test_an_adapter_of_another_base(tmp_path, base):
    for module, words in (("blocks.9.attn.qkv", "lacks"), ("blocks.0.attn.proj", "64, 64")):
        folder = lora(tmp_path / "mine", {module: FACTORS["blocks.0.attn.qkv"]})
        with pytest.raises(ModelError, match=f"mine is an adapter of another base.*{words}"):
            vizkit.load(folder, architecture=str(tmp_path / "base.pth"))


# ---- against peft ----------------------------------------------------------------------------------------------------
def trained(model, **options):
    peft = pytest.importorskip("peft")
    with seeded(1):
        found = peft.get_peft_model(model, peft.LoraConfig(**{"r": 4, "lora_alpha": 16, **options}))
        for weight in found.parameters():
            if weight.requires_grad:
                weight.data.normal_(std=0.2)
    return found


def same_answers(loaded, adapted, side):
    merged, pixels = adapted.merge_and_unload().eval(), torch.rand(2, 3, side, side)
    with torch.no_grad():
        theirs = merged(pixels)
        assert torch.equal(loaded.model(pixels), getattr(theirs, "logits", theirs))


OF_TIMM = {
    "attention": {},
    "another head": {"modules_to_save": ["head"]},
    "convolution and MLP": {"target_modules": ["proj", "fc1"]},
    "stabilised": {"use_rslora": True},
    "biases": {"bias": "all", "lora_bias": True},
    "patterns": {"alpha_pattern": {"blocks.1.attn.qkv": 3}, "rank_pattern": {"blocks.0.attn.qkv": 2}},
    "orthogonal": {"init_lora_weights": "orthogonal"},
}


@pytest.mark.filterwarnings("ignore")  # peft's own
@pytest.mark.parametrize("case", OF_TIMM)
def test_peft_around_timm(tmp_path, base, case):
    if case == "another head":
        base.reset_classifier(3)
    adapted = trained(base, **{"target_modules": ["qkv"], **OF_TIMM[case]})
    adapted.save_pretrained(tmp_path / "adapter")
    loaded = vizkit.load(tmp_path / "adapter", architecture=str(tmp_path / "base.pth"))
    side = loaded.preprocessing.size_hw[0]
    torch.save(adapted.state_dict(), tmp_path / "adapter" / "whole.pth")  # with its base, beside its configuration
    whole = vizkit.load(tmp_path / "adapter" / "whole.pth", architecture=VIT)
    same_answers(loaded, adapted, side)
    same_answers(whole, adapted, side)
    assert "adapter" in whole.source


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", ["of modules", "of files"])
@pytest.mark.parametrize("head", [False, True])
def test_peft_around_transformers(tmp_path, names, head):
    """Since its fifth version the library calls modules otherwise than files; adapters of both are there."""
    library = pytest.importorskip("transformers")
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    config = library.ViTConfig(**small, image_size=32, patch_size=8, num_labels=3)
    kind = library.ViTModel if head else library.ViTForImageClassification
    kind(config).save_pretrained(tmp_path / "base")
    model = library.ViTForImageClassification.from_pretrained(tmp_path / "base", config=config)
    places = dict(model.named_modules())
    query, value = (QUERY, VALUE) if "vit.encoder.layer.0." + QUERY in places else ("q_proj", "v_proj")
    options = {"modules_to_save": ["classifier"], "bias": "all"} if head and names == "of modules" else {}
    options |= {"modules_to_save": ["classifier"]} if head else {}
    adapted = trained(model, target_modules=[query.split(".")[-1], value.split(".")[-1]], **options)
    folder = tmp_path / "adapter"
    adapted.save_pretrained(folder)
    if names == "of files":
        state = load_file(folder / "adapter_model.safetensors")
        for new, old in (("q_proj", QUERY), ("v_proj", VALUE)):
            state = {
                re.sub(rf"layers\.(\d+)\.attention\.{new}", rf"encoder.layer.\1.{old}", k): v for k, v in state.items()
            }
        save_file(state, folder / "adapter_model.safetensors")
    loaded = vizkit.load(folder, architecture=str(tmp_path / "base"))
    for file in (tmp_path / "base").iterdir():  # the model beside its adapter is not shown without it
        shutil.copy(file, folder)
    beside = vizkit.load(folder)
    same_answers(loaded, adapted, 32)
    same_answers(beside, adapted, 32)
    assert "adapter" in beside.source
