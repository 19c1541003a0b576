"""Train a small timm model from scratch on the 8×8 digits, and write it as a folder timm opens.

    python -m vizkit.training.digits --model vit -o runs/digits_vit

Minutes on one CPU core. The folder holds config.json, model.safetensors and card.md, timm's Hugging Face layout:
`timm.create_model("local-dir:runs/digits_vit", pretrained=True)`.
"""

import argparse
import copy
import math
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path

import timm
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from timm.models import get_pretrained_cfg, save_for_hf
from timm.optim import create_optimizer_v2
from torch import Tensor, nn

from vizkit.datasets import digits

# One thread: on a busy machine two wait for each other (20 times slower), and their number changes the last bits.
THREADS = 1
BATCH = 32
PEAK_RATE = 1.5e-3
EPOCHS = 60
LABELS = list(digits.LABELS)

# Tokens: ViT 8×8, one per digit pixel. Swin 16×16, then 8×8, each larger than its 4×4 window, as timm shifts windows
# only then. The CNN stops at stride 8, a last map of 4×4, where a usual ResNet would be down to one pixel.
ARCHITECTURES = {
    "vit": ("vit_tiny_patch16_224", {"img_size": 32, "patch_size": 4, "embed_dim": 96, "depth": 6, "num_heads": 4}),
    "swin": (
        "swin_tiny_patch4_window7_224",
        {"img_size": 32, "patch_size": 2, "window_size": 4, "embed_dim": 48, "depths": [2, 4], "num_heads": [4, 8]},
    ),
    "cnn": ("resnetv2_18d", {"layers": [2, 2, 2], "channels": [16, 32, 64], "stem_chs": 32, "output_stride": 8}),
}

CARD = """\
# digits_{name}

{architecture} from timm with the arguments in config.json, {parameters:,} parameters, trained from scratch on
scikit-learn's 8×8 handwritten digits, each enlarged to 32×32 (`vizkit.datasets.digits.enlarge`).

| | |
|---|---|
| Test | {test} |
| Validation | {val}, which chose epoch {best_epoch} of {epochs} |
| Trained on | {train} images, three of four shifted ≤ 3 px, turned ≤ 15° and scaled ≤ 15 %, none flipped |
| Command | `{command}` |
| Seed | {seed} |
| Time, device | {minutes:.1f} min, CPU, {threads} thread(s) |
| Versions | torch {torch}, timm {timm} |

The test images had no part in training or in the choice of the epoch. All thirteen writers occur in training,
validation and test images: expect less from a new hand, and nothing from pictures that are not digits.

Images: Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak (1998), UCI Machine Learning Repository,
doi:10.24432/C50P49, CC BY 4.0. Model: MIT.
"""


def create(name: str) -> nn.Module:
    """The untrained "vit", "swin" or "cnn": images 3×32×32 in -1..1 to ten logits."""
    architecture, arguments = ARCHITECTURES[name]
    usual = get_pretrained_cfg(architecture)
    own = ("fixed_input_size", "first_conv", "classifier")  # facts of the architecture, not of ImageNet
    config = {key: getattr(usual, key) for key in own} | {
        "architecture": architecture,
        "input_size": (3, 32, 32),
        "num_classes": len(LABELS),
        "mean": (0.5, 0.5, 0.5),
        "std": (0.5, 0.5, 0.5),
        "crop_pct": 1.0,
        "crop_mode": "center",
        "interpolation": "bilinear",
        "license": "mit",
        "description": "Trained from scratch on scikit-learn's 8×8 handwritten digits, enlarged to 32×32.",
    }
    model = timm.create_model(architecture, pretrained_cfg=config, num_classes=len(LABELS), **arguments)
    if name != "cnn":
        redraw(model)
    return model


def redraw(model: nn.Module) -> None:
    """Initial weights for a narrow transformer.

    timm's deviation of 0.02 suits a width of 768. Here positions drown in it beside patch tokens of 0.5: a ViT sees a
    bag of pixels for a dozen epochs, and ended at 91 % of the validation images.
    """
    for name, parameter in model.named_parameters():
        if name == "pos_embed":
            nn.init.normal_(parameter, std=0.5)
        elif "relative_position_bias" in name:
            nn.init.normal_(parameter, std=2)
        elif parameter.ndim == 2 and "head" not in name:
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)


def tensors(split: str, limit: int | None = None) -> tuple[Float[Tensor, "image 3 32 32"], Int[Tensor, " image"]]:
    """The first `limit` (or all) pictures of a split, -1 (paper) to 1 (ink), and their labels."""
    levels, labels = digits.load(split)
    pictures = torch.from_numpy(digits.enlarge(levels[:limit])).permute(0, 3, 1, 2)
    return (pictures / 255 - 0.5) / 0.5, torch.from_numpy(labels[:limit])


def warp(pictures: Float[Tensor, "image 3 32 32"], draw: torch.Generator) -> Float[Tensor, "image 3 32 32"]:
    """About three of four pictures turned ≤ 15°, scaled ≤ 15 % and shifted ≤ 3 px; paper comes in from outside.

    What the warp made is averaged over 4×4 blocks again, as the digits themselves were made. Without that, training
    pictures had slopes inside a patch that no real digit has, and a ViT learnt to read those.
    """

    def uniform(bound: float) -> Float[Tensor, " image"]:
        return (2 * torch.rand(len(pictures), generator=draw) - 1) * bound

    angle, size = uniform(math.radians(15)), 1 + uniform(0.15)
    right, down = uniform(3 / 16), uniform(3 / 16)  # affine_grid's unit is half a picture, 16 px
    cosine, sine = angle.cos() / size, angle.sin() / size
    rows = [torch.stack([cosine, -sine, right], -1), torch.stack([sine, cosine, down], -1)]
    grid = F.affine_grid(torch.stack(rows, 1), list(pictures.shape), align_corners=False)
    warped = F.grid_sample(pictures + 1, grid, align_corners=False) - 1  # outside is 0 to torch, paper is -1
    flat = F.interpolate(F.avg_pool2d(warped, digits.ENLARGEMENT), scale_factor=digits.ENLARGEMENT)
    return torch.where((uniform(1.0) > -0.5)[:, None, None, None], flat, pictures)


@torch.inference_mode()
def right_answers(model: nn.Module, pictures: Float[Tensor, "image 3 32 32"], labels: Int[Tensor, " image"]) -> int:
    """How many pictures the model gets right."""
    model.eval()
    batches = zip(pictures.split(BATCH), labels.split(BATCH), strict=True)
    return sum(int((model(some).argmax(-1) == true).sum()) for some, true in batches)


def fit(model: nn.Module, epochs: int, seed: int, limit: int | None = None) -> tuple[int, int]:
    """Train with AdamW, warm-up and cosine, and leave the model as it was at its best on the validation images.

    Returns that epoch, the latest of equals, and its number of right answers.
    """
    (pictures, labels), val = tensors("train", limit), tensors("val", limit)
    draw = torch.Generator().manual_seed(seed)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=PEAK_RATE, weight_decay=0.05)
    steps = epochs * math.ceil(len(pictures) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, steps, pct_start=0.1, cycle_momentum=False)
    best, best_epoch, best_right = {}, 0, -1
    for epoch in range(1, epochs + 1):
        start, total = time.perf_counter(), 0.0
        model.train()
        for rows in torch.randperm(len(pictures), generator=draw).split(BATCH):
            loss = F.cross_entropy(model(warp(pictures[rows], draw)), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(rows) / len(pictures)
        right = right_answers(model, *val)
        if right >= best_right:
            best, best_epoch, best_right = copy.deepcopy(model.state_dict()), epoch, right
        seconds = time.perf_counter() - start
        print(f"epoch {epoch}/{epochs}  loss {total:.4f}  val {right} of {len(val[1])}  {seconds:.1f} s", flush=True)
    model.load_state_dict(best)
    return best_epoch, best_right


def write(model: nn.Module, folder: Path, card: str) -> None:
    """Write the three files; `folder` appears complete or not at all."""
    names = {"label_names": LABELS, "label_descriptions": {name: f"digit {name}" for name in LABELS}}
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        unfinished = Path(temporary, "model")
        save_for_hf(model, str(unfinished), model_config=names, safe_serialization=True)
        Path(unfinished, "card.md").write_text(card, encoding="utf-8")
        os.replace(unfinished, folder)


def train(name: str, folder: Path, epochs: int, seed: int, limit: int | None = None, command: str = "") -> None:
    """Train "vit", "swin" or "cnn" into `folder`, which must be new or empty; `limit` images a split for a trial."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"expected a new or empty folder, found files in {folder}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    torch.manual_seed(seed)  # weights and stochastic depth; the order and the warps have a generator of their own
    model = create(name)
    best_epoch, val_right = fit(model, epochs, seed, limit)
    minutes = (time.perf_counter() - start) / 60

    def share(right: int, split: str) -> str:
        images = len(digits.members(split)[:limit])
        return f"{right} of {images} right ({100 * right / images:.1f} %)"

    test = share(right_answers(model, *tensors("test", limit)), "test")
    facts = {"name": name, "architecture": ARCHITECTURES[name][0], "test": test, "val": share(val_right, "val")}
    facts |= {"best_epoch": best_epoch, "epochs": epochs, "train": len(digits.members("train")[:limit]), "seed": seed}
    facts |= {"parameters": sum(p.numel() for p in model.parameters()), "command": command, "minutes": minutes}
    facts |= {"threads": torch.get_num_threads(), "torch": torch.__version__, "timm": timm.__version__}
    write(model, folder, CARD.format_map(facts))
    print(f"test {test}  {minutes:.1f} min  {folder}", flush=True)


def main() -> None:
    module = "python -m vizkit.training.digits"
    parser = argparse.ArgumentParser(prog=module)
    parser.add_argument("--model", choices=ARCHITECTURES, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="a new folder")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True)
    train(args.model, args.output, args.epochs, args.seed, command=f"{module} {shlex.join(sys.argv[1:])}")


if __name__ == "__main__":
    main()
