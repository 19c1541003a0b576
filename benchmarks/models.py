"""Every source of models, one row each: does it open, with the answer of its own library, its tokens in their places,
its attention equal to an independent one? `python -m benchmarks models` writes docs/models.md.

All weights are random, in the libraries' own formats; the files are those of the tests.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
import torchvision
from torch import Tensor, nn

import vizkit
from benchmarks.testing.processors import section
from vizkit.analysis.attribution.explaining import explain
from vizkit.models import Loaded, ModelError, pixels_of
from vizkit.models.families.generic import MEASURED
from vizkit.models.recording.kinds import kind
from vizkit.traces import NotApplicable, Trace, TraceError

PAGE = Path(__file__).parents[1] / "docs" / "models.md"
PICTURE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
TOLERANCE = 1e-4
NAMES = ("test_vit", "swin_tiny_patch4_window7_224", "resnet18", "maxvit_nano_rw_256", "xcit_nano_12_p16_224")

Answer = tuple[Tensor, list[Tensor]]  # logits; attention (group, head, query, key) of the layers that the oracle gives


@dataclass(frozen=True)
class Source:
    """`load(folder)` gives the model as a user would; `oracle(pixels)` what its own library gives."""

    group: str
    name: str
    load: Callable[[Path], Loaded]
    oracle: Callable[[Tensor], Answer]
    skip: Callable[[Trace], list] | None = None


def by_qkv(model: nn.Module) -> Callable[[Tensor], Answer]:
    """softmax(Q Kᵀ / √d) from what leaves the `qkv` of a timm ViT, computed here."""

    def run(pixels: Tensor) -> Answer:
        seen: list[Tensor] = []
        layers: list[Any] = [part for part in model.modules() if kind(part) == "timm.layers.attention.Attention"]
        hooks = [part.qkv.register_forward_hook(lambda *given: seen.append(given[2])) for part in layers]
        with torch.no_grad():
            logits = model(pixels)[0]
        for hook in hooks:
            hook.remove()
        maps = []
        for part, out in zip(layers, seen, strict=False):
            query, key, _ = out.unflatten(-1, (3, part.num_heads, -1)).permute(2, 0, 3, 1, 4)
            maps.append((query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5).softmax(-1))
        return logits, maps

    return run


def from_file(name: str, model: nn.Module, content: Any, architecture: str, **options: Any) -> Source:
    def load(folder: Path) -> Loaded:
        torch.save(content, folder / "weights.pth")
        return vizkit.load(folder / "weights.pth", architecture=architecture, device="cpu", **options)

    return Source("a file of weights", name, load, by_qkv(model.eval()))


def files() -> list[Source]:
    from tests.models import test_foreign_files as theirs

    vit = theirs.made(theirs.VIT, depth=2, img_size=64, num_classes=5)
    features = theirs.made(theirs.VIT, depth=2, img_size=64, num_classes=0)
    patch = theirs.made(theirs.VIT, depth=2, img_size=96, patch_size=32)
    mae = theirs.made(theirs.VIT, depth=2, img_size=64, global_pool="avg")
    grey = theirs.made(theirs.VIT, depth=2, img_size=64, in_chans=1)
    swin = theirs.made(theirs.SWIN, img_size=64, window_size=8, **theirs.SMALL_SWIN)
    second = theirs.made(theirs.SWIN2, img_size=64, window_size=4, **theirs.SMALL_SWIN)
    tower = theirs.made("vit_base_patch32_clip_224", depth=2, img_size=96, patch_size=16, num_classes=10)
    nn.init.zeros_(tower.head.bias)
    siglip = "vit_base_patch16_siglip_224"
    trunk = theirs.made(siglip, depth=1, img_size=64, num_classes=0)
    norm = {"no_embed_class": True, "norm_layer": theirs.partial(nn.LayerNorm, eps=1e-5), "qkv_bias": False}
    monai = theirs.made(theirs.VIT, depth=2, img_size=64, in_chans=1, num_classes=2, **norm)
    sizes = {"image_size": 64, "patch_size": 32, "num_layers": 2, "num_heads": 12, "hidden_dim": 768, "mlp_dim": 64}
    torch.manual_seed(0)
    tv_vit = torchvision.models.VisionTransformer(**sizes, num_classes=4)
    nn.init.normal_(tv_vit.heads.head.weight)
    tv_swin = torchvision.models.swin_transformer.SwinTransformer([4, 4], 24, [1, 2], [3, 6], [8, 8], num_classes=4)
    rows = [
        ("timm, fine-tuned at another size", vit, vit.state_dict(), theirs.VIT),
        ("timm, other patches than its name says", patch, patch.state_dict(), theirs.VIT),
        ("Lightning", vit, {"state_dict": theirs.prefixed("net.", vit.state_dict())}, theirs.VIT),
        ("torch.compile, parallel", vit, theirs.prefixed("module._orig_mod.", vit.state_dict()), theirs.VIT),
        ("DINO training (teacher, student)", features, theirs.dino(features.state_dict()), theirs.VIT),
        ("DINOv2 training (chunks of blocks)", features, theirs.dinov2_training(features.state_dict()), theirs.VIT),
        ("MAE, fine-tuned (mean of tokens)", mae, {"model": mae.state_dict()}, theirs.VIT),
        ("one channel", grey, grey.state_dict(), theirs.VIT),
        ("Swin, official, window 8", swin, theirs.official_swin(swin), theirs.SWIN),
        ("Swin V2, official, window 4", second, theirs.official_swin(second), theirs.SWIN2),
        ("CLIP and open_clip", tower, theirs.clip(tower), "vit_base_patch32_clip_224"),
        ("open_clip around timm", trunk, theirs.prefixed("visual.trunk.", trunk.state_dict()), siglip),
        ("MONAI's ViT, images", monai, theirs.monai(monai), theirs.VIT),
        ("torchvision ViT, fine-tuned", tv_vit, tv_vit.state_dict(), "torchvision:vit_b_16"),
    ]
    found = [from_file(*row) for row in rows]
    options = {"architecture": "torchvision:swin_t", "image_size": 64}
    return [*found, from_file("torchvision Swin, fine-tuned", tv_swin, tv_swin.state_dict(), **options)]


def by_name() -> list[Source]:
    rows = []
    for name in NAMES:
        torch.manual_seed(0)
        model = timm.create_model(name).eval()

        def load(folder: Path, name: str = name, model: nn.Module = model) -> Loaded:
            loaded = vizkit.load(name, pretrained=False, device="cpu")
            loaded.model.load_state_dict(model.state_dict())
            return loaded

        rows.append(Source("timm by name", name, load, by_qkv(model)))
    return rows


def of_transformers() -> list[Source]:
    from tests.models import test_transformers as theirs

    rows = []
    for case, (name, options, _) in theirs.CASES.items():
        model = theirs.made(name, options)

        def load(folder: Path, model: Any = model) -> Loaded:
            model.save_pretrained(folder)
            return vizkit.load(folder, device="cpu")

        def oracle(pixels: Tensor, model: Any = model) -> Answer:
            logits = theirs.answer(model, pixels)[0]
            try:
                model.set_attn_implementation("eager")
                with torch.no_grad():
                    maps = model(pixel_values=pixels, output_attentions=True).attentions
            except (ValueError, AttributeError, TypeError):
                maps = None
            return logits, [each for each in maps or () if each is not None]

        rows.append(Source("transformers folder", f"{case}: {name}", load, oracle))
    return rows


def with_typed_classes() -> list[Source]:
    from tests.models.sources.two_towers import KINDS, library_logits, two_towers

    texts, rows = ["a photo of a cat", "two red birds", "a dog"], []
    for tower, name in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            model = two_towers(tower, Path(folder))

        def load(folder: Path, tower: str = tower) -> Loaded:
            two_towers(tower, folder)
            return vizkit.load(folder, classes=texts, device="cpu")

        def oracle(pixels: Tensor, model: Any = model) -> Answer:
            logits = library_logits(model, pixels, texts)
            model.set_attn_implementation("eager")
            with torch.no_grad():
                maps = model.vision_model(pixel_values=pixels, output_attentions=True).attentions
            return logits, [each for each in maps or () if each is not None]

        rows.append(Source("transformers folder", f"{tower}, typed classes: {name}", load, oracle))
    return rows


def wrapped() -> list[Source]:
    from tests.models.test_wrap import Encoder, TenLines

    size = {"size_hw": (24, 40)}
    torch.manual_seed(0)
    ten, encoder = TenLines().eval(), Encoder().eval()
    rows = [("ten lines of torch", ten), ("nn.TransformerEncoder", encoder)]
    try:
        import vit_pytorch

        sizes = {"image_size": (24, 40), "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 4}
        rows.append(("vit-pytorch ViT", vit_pytorch.ViT(**sizes, mlp_dim=64, dim_head=8).eval()))
    except ImportError:
        pass
    return [
        Source("`vizkit.wrap`", name, lambda folder, model=model: vizkit.wrap(model, **size), by_qkv(model))
        for name, model in rows
    ]


def places(trace: Trace) -> str:
    total = len(trace.attention)
    if not total:
        return "no attention"
    known = sum(layer.query.grid is not None or layer.key.grid is not None for layer in trace.attention)
    how = "measured" if MEASURED in trace.notes else "known"
    return how if known == total else f"{how} in {known} of {total}" if known else "unknown"


def same_attention(trace: Trace, maps: list[Tensor]) -> str:
    """Layer by layer, in order, of those that the oracle gives: Swin's own library gives the last of each stage."""
    if not maps or not trace.attention:
        return "–"
    theirs, worst, equal = list(maps), 0.0, 0
    for layer in trace.attention:
        if theirs and layer.weights.shape == theirs[0].shape:
            apart = float((layer.weights - theirs[0]).abs().max())
            if apart < TOLERANCE:
                worst, equal, _ = max(worst, apart), equal + 1, theirs.pop(0)
    return f"{equal} of {len(maps)}, {worst:.0e}" if equal else "**no**"


def explained(method: str, trace: Trace) -> str:
    try:
        explain(method, trace)
    except NotApplicable:
        return "–"
    return "yes"


def row(source: Source) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            loaded = source.load(Path(folder))
            pixels = pixels_of(loaded, PICTURE)
            logits, maps = source.oracle(pixels)
            trace = vizkit.trace(loaded, PICTURE, target=0)
        except (ModelError, TraceError) as error:
            return (source.group, source.name, f"**no**: {error}", *[""] * 5)
        apart = float((trace.logits - logits.flatten()).abs().max())
        answer = f"{apart:.0e}" if apart <= TOLERANCE else f"**{apart:.0e}**"
        return (
            source.group,
            source.name,
            "yes",
            answer,
            places(trace),
            same_attention(trace, maps),
            explained("rollout", trace),
            explained("generic_relevance", trace),
        )


def run() -> None:
    head = (
        "source",
        "model",
        "opens",
        "logits differ by",
        "places of tokens",
        "attention equal",
        "rollout",
        "relevance",
    )
    rows = []
    for source in [*by_name(), *files(), *of_transformers(), *with_typed_classes(), *wrapped()]:
        rows.append(row(source))
        print(" · ".join(rows[-1]), flush=True)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    import transformers

    PAGE.write_text(
        TEXT.format(
            table="\n".join(lines),
            opened=sum(cells[2] == "yes" for cells in rows),
            rows=len(rows),
            processors=section(PAGE.read_text(encoding="utf-8")),
            versions=f"timm {timm.__version__}, torchvision {torchvision.__version__}, "
            f"transformers {transformers.__version__}, torch {torch.__version__}",
        ),
        encoding="utf-8",
    )
    print(f"written to docs/{PAGE.name}")


TEXT = """# Where models come from

`python -m benchmarks models` writes this page. Every source has a small model with random weights in the format of
its own library; {opened} of {rows} open. *Logits* are compared with those of the library that wrote the file (for a
file in other names, of the model before it was renamed). *Places*: where each token lies in the picture is **known**
from the model, or **measured** (noise over a part of the picture changes the tokens that see it). *Attention* is
compared with what the library itself returns (`output_attentions`) or, for timm's ViTs, with softmax(Q Kᵀ / √d)
computed from what leaves `qkv`: so many layers of those that the oracle gives, and the largest difference of a weight;
– where no oracle gives them. *Rollout* and *relevance* (generic, of class 0): – where a sentence says why
there is none.

{table}

Measured with {versions}.

{processors}## What is not opened

- Anything that would run code: pickles with functions, TorchScript archives, and code that comes with a folder of
  transformers (`trust_remote_code`).
- The boxes and maps of detection and segmentation (Yolos, SegFormer): the model below that head is shown. The boxes
  of a DETR are what `vizkit detect` gives.
- Models around a backbone that is fetched by its name (`use_timm_backbone`).
- Quantized models, and models of volumes.
"""
