"""Broken and hostile files, each made from its seed alone: pictures, zips of pictures, checkpoints and configs."""

import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.testing.tiff import Kind, samples, written

TIFFS = (
    Kind(2, 16, planar=2, deflated=True, predictor=2, tiled=True),
    Kind(1, 64, 3, deflated=True, predictor=3, order=">"),
    Kind(0, 12, tiled=True, big=True),
    Kind(3, 4, extra=(2,)),
    Kind(5, extra=(0,), planar=2, order=">", big=True),
    Kind(6),
    Kind(8, fill_order=2),
)
EXTREMES = (
    b"\0",
    b"\xff",
    b"\0\0",
    b"\xff\xff",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
)
ARCHITECTURE = "test_vit"
KEYS = (
    "depth",
    "embed_dim",
    "num_heads",
    "mlp_ratio",
    "patch_size",
    "img_size",
    "num_classes",
    "in_chans",
    "window_size",
)
VALUES = (
    0,
    -1,
    1,
    3,
    7,
    999,
    60_000,
    65_536,
    2**31,
    10**18,
    1e308,
    float("nan"),
    None,
    True,
    "x",
    "9" * 50,
    [],
    [1] * 500,
)


def saved(image: Image.Image, kind: str, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@cache
def pictures() -> tuple[tuple[str, bytes], ...]:
    """(kind, bytes) of whole pictures in every format that is read."""
    rng = np.random.default_rng(0)
    scene = Image.linear_gradient("L").resize((320, 240)).convert("RGB")
    scene.paste(Image.fromarray(rng.integers(0, 256, (80, 100, 3), np.uint8)), (30, 40))
    clear = scene.convert("RGBA")
    clear.putalpha(Image.radial_gradient("L").resize(scene.size))
    frame = scene.resize((96, 64))

    def film(kind: str, **options) -> bytes:
        return saved(
            frame.copy(), kind, save_all=True, append_images=[frame.rotate(9 * n) for n in range(5)], **options
        )

    floats = Image.fromarray(np.linspace(-1, 300, 96 * 64, dtype=np.float32).reshape(64, 96))
    exif = Image.Exif()
    exif[274], exif[305] = 6, "a camera" * 30
    made: list[tuple[str, bytes]] = [
        ("JPEG", saved(scene, "JPEG")),
        ("JPEG", saved(scene, "JPEG", exif=exif)),
        ("JPEG", saved(scene.convert("CMYK"), "JPEG", quality=95)),
        ("JPEG", saved(scene, "JPEG", restart_marker_rows=1)),
        ("JPEG", film("MPO")),
        ("progressive JPEG", saved(scene, "JPEG", progressive=True)),
        ("progressive JPEG", saved(scene.resize((2000, 1500)), "JPEG", progressive=True, quality=30)),
        ("PNG", saved(scene, "PNG")),
        ("PNG", saved(clear, "PNG", exif=exif)),
        ("PNG", saved(scene.quantize(64), "PNG", transparency=3)),
        ("PNG", saved(Image.fromarray(rng.integers(0, 2**16, (64, 96), np.uint16)), "PNG")),
        ("PNG", film("PNG")),
        ("GIF", saved(scene, "GIF")),
        ("GIF", film("GIF", comment=b"words" * 99)),
        ("WebP", saved(scene, "WEBP", exif=exif)),
        ("WebP", saved(clear, "WEBP", lossless=True)),
        ("WebP", film("WEBP")),
        ("BMP", saved(scene.resize((96, 64)), "BMP")),
        ("BMP", saved(scene.resize((96, 64)).quantize(16), "BMP")),
        *(
            ("TIFF", saved(scene, "TIFF", compression=way))
            for way in ("raw", "tiff_lzw", "tiff_deflate", "jpeg", "zstd")
        ),
        ("TIFF", saved(scene.convert("1"), "TIFF", compression="group4")),
        ("TIFF", saved(floats, "TIFF")),
        *(("TIFF", written(kind, samples(kind))) for kind in TIFFS),
        ("TIFF", film("TIFF")),
        ("AVIF", saved(scene, "AVIF", speed=10, exif=exif)),
        ("AVIF", film("AVIF", speed=10)),
    ]
    return tuple(made)


def mutated(data: bytes, other: bytes, rng: np.random.Generator, top: int = 2**20) -> bytes:
    """Bytes flipped, cut, spliced, repeated, or set to what overflows; one to three of these."""
    for _ in range(rng.integers(1, 4)):
        if not data:
            break
        at, to = sorted(int(place) for place in rng.integers(0, len(data), 2))
        way = rng.integers(0, 6)
        changed = bytearray(data)
        if way == 0:
            for place in rng.integers(0, len(data), rng.integers(1, 40)):
                changed[place] ^= 1 << rng.integers(0, 8)
        elif way == 1:
            changed = changed[:to] if rng.random() < 0.7 else changed[at:]
        elif way == 2:
            start = int(rng.integers(0, len(other)))
            changed = changed[:to] + other[start:]
        elif way == 3:
            piece = data[at : at + int(rng.integers(1, 4000))]
            changed[to:to] = piece * min(int(10 ** rng.uniform(0, 5)), top // len(piece))
        else:  # in the first bytes, where sizes and tables stand, or anywhere
            place = int(rng.integers(0, min(len(data), 600 if way == 4 else len(data))))
            extreme = EXTREMES[rng.integers(0, len(EXTREMES))]
            changed[place : place + len(extreme)] = extreme
        data = bytes(changed)
    return data


def scan_bomb(data: bytes, rng: np.random.Generator) -> bytes:
    """The scans of a progressive JPEG once more and again, in any number; some with fillers or broken."""
    places = [place for place in range(len(data) - 1) if data[place : place + 2] == b"\xff\xda"]
    start = places[rng.integers(0, len(places))] if rng.random() < 0.5 else places[-1]
    piece = data[start:-2] if rng.random() < 0.9 else b"\xff\xff" + mutated(data[start:-2], data, rng, 2**12)
    return data[:-2] + piece * min(int(10 ** rng.uniform(0, 4.5)), 2**20 // max(1, len(piece))) + data[-2:]


def picture(seed: int) -> tuple[str, bytes]:
    rng = np.random.default_rng((0, seed))
    kind, data = pictures()[rng.integers(0, len(pictures()))]
    if kind == "progressive JPEG" and rng.random() < 0.5:
        return "scan bomb", scan_bomb(data, rng)
    return kind, mutated(data, pictures()[rng.integers(0, len(pictures()))][1], rng)


NAMES = (
    "/",
    "..",
    "../x.png",
    "ant/",
    "ant//1.png",
    "a\0b.png",
    "C:/x.png",
    "ant/\ud83d.png",
    "x" * 300 + ".png",
    "ant",
)


def archive(seed: int) -> tuple[str, bytes]:
    """A zip of two classes: entries with strange names or contents, then the bytes mutated."""
    rng = np.random.default_rng((1, seed))
    file = io.BytesIO()
    packing = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)[rng.integers(0, 4)]
    with zipfile.ZipFile(file, "w") as out:

        def add(name: str, content: bytes) -> None:  # without the time of day
            out.writestr(zipfile.ZipInfo(name), content, packing)

        for label in ("ant", "bee"):
            for index in range(8):
                _, content = pictures()[rng.integers(0, 5)]
                add(f"{label}/{index}.png", content if rng.random() < 0.9 else bytes(int(10 ** rng.uniform(0, 7))))
        if rng.random() < 0.4:
            name = NAMES[rng.integers(0, len(NAMES))]
            add(name.encode("utf-8", "replace").decode(), pictures()[0][1])
    data = file.getvalue()
    if rng.random() < 0.2:
        return "zip of strange entries", data
    return "zip", mutated(data, data, rng)


@cache
def checkpoints() -> dict[str, bytes]:
    import safetensors.torch
    import timm
    import torch

    torch.manual_seed(0)
    state = timm.create_model(ARCHITECTURE, num_classes=3).state_dict()
    whole, old = io.BytesIO(), io.BytesIO()
    torch.save({"arch": ARCHITECTURE, "state_dict": state}, whole)
    torch.save(state, old, _use_new_zipfile_serialization=False)
    return {"safetensors": safetensors.torch.save(state), "pt": whole.getvalue(), "pth": old.getvalue()}


def checkpoint(seed: int, folder: Path) -> tuple[str, Path]:
    """A file of weights, or a run folder with a changed config.json."""
    rng = np.random.default_rng((2, seed))
    if rng.random() < 0.5:
        kind = ("safetensors", "pt", "pth")[rng.integers(0, 3)]
        data = checkpoints()[kind]
        head = 2**13 if kind == "safetensors" else len(data)  # names, kinds and shapes
        data = mutated(data[:head], data, rng) + data[head:]
        (folder / f"w.{kind}").write_bytes(data)
        return kind, folder / f"w.{kind}"
    (folder / "model.safetensors").write_bytes(checkpoints()["safetensors"])
    (folder / "config.json").write_bytes(config(rng))
    return "config.json", folder


def config(rng: np.random.Generator) -> bytes:
    about = {"num_classes": 3, "input_size": [3, 160, 160], "fixed_input_size": True, "classifier": "head"}
    found: dict = {"architecture": ARCHITECTURE, "num_classes": 3, "pretrained_cfg": about, "model_args": {}}
    if rng.random() < 0.3:
        found["architecture"] = ("swin_tiny_patch4_window7_224", "levit_128", "vit_giant_patch14_224")[
            rng.integers(0, 3)
        ]
    homes: list[dict] = [found, about, found["model_args"]]
    for _ in range(rng.integers(0, 4)):
        keys = KEYS if rng.random() < 0.6 else tuple(about)
        homes[rng.integers(0, 3)][keys[rng.integers(0, len(keys))]] = VALUES[rng.integers(0, len(VALUES))]
    text = json.dumps(found).encode()
    return text if rng.random() < 0.8 else mutated(text, text, rng, 2**14)


KINDS: dict[str, Callable] = {"pictures": picture, "zips": archive, "checkpoints": checkpoint}
