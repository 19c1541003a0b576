"""What a training run is made of: one frozen `Recipe`, every field documented, as JSON and back.

A recipe, its data and its seed decide the result; a run folder keeps it as recipe.json. Named recipes are the
experiments of papers and of the study that this project reproduces, and short ones for a laptop.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

OPTIMIZERS = ("adamw", "adam", "sgd", "muon")
SCHEDULES = ("cosine", "plateau", "constant")
DISTILLATIONS = ("none", "soft", "hard")
PRECISIONS = ("fp32", "bf16", "fp16")
TASK_OF = {
    "seq2seq_transformer": "translate",
    "seq2seq_lstm_attention": "translate",
    "seq2seq_lstm": "translate",
    "seq2seq_rnn": "translate",
    "masked_lm": "masked",
    "causal_lm": "causal",
    "ttsr_small": "enlarge",
    "sr_small": "enlarge",
    "detr": "detect",
    "detr_small": "detect",
    "detr_masks": "masks",
}
"""Models that learn something other than classes: to translate, to guess hidden words (BERT), to continue a line (GPT),
to enlarge images, to find things in them, to say which pixels are theirs."""
_LICENCE = re.compile(r"[\w .+-]{0,60}")
_RANDAUGMENT = re.compile(r"rand(-((m|n|mmax|inc)\d{1,2}|(p|mstd)\d{1,3}(\.\d{1,3})?))*|")
MOST = {
    "images": 100_000_000,
    "data_seed": 2**31 - 1,
    "seed": 2**31 - 1,
    "image_size": 4096,
    "train_blocks": 1000,
    "epochs": 100_000,
    "passes": 100_000,
    "batch": 1_000_000,
    "repeats": 1000,
    "lr": 100.0,
    "weight_decay": 100.0,
    "plateau_patience": 100_000,
    "stop_patience": 100_000,
    "clip_norm": 1e6,
    "turn_deg": 180.0,
    "square_px": 4096,
    "mixup": 100.0,
    "cutmix": 100.0,
    "temperature": 1000.0,
    "perceptual": 1000.0,
    "adversarial": 1000.0,
    "checkpoints": 1000,
}
"""The largest values of fields that no other rule bounds: beyond them nobody trains, and α of 2³¹ is a slip."""


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message is one sentence for the user."""


def _said(default: Any, help: str, choices: tuple[str, ...] | None = None) -> Any:
    """A field with the sentence that the command line and the page show beside it."""
    metadata = {"help": help, "choices": choices}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides how a run comes out. Units and ranges stand in each field's sentence."""

    # what is learned
    data: str = _said(
        "insects",
        "a set such as insects:hard (vizkit datasets lists all), a folder, a zip; scenes; texts: dates, copy …",
    )
    images: int = _said(0, "training images or texts; 0 takes the data set's own number")
    data_seed: int = _said(0, "seed of the drawn or split data")
    # by what
    model: str = _said(
        "small_vit",
        "ours (small_vit …; of texts seq2seq_lstm …), a timm name, or a trained model to go on from: bundled:NAME, a "
        "run folder, a file of weights, hf-hub:OWNER/NAME",
    )
    model_args: dict[str, Any] = _said(  # noqa: RUF009 - a field, its default made anew
        {}, 'timm arguments beside the name, as JSON: {"depth": 6}; of a file that does not name it its "architecture"'
    )
    image_size: int = _said(0, "input side in pixels; 0 takes the model's own")
    pretrained: bool = _said(False, "start from published weights (a new head if the classes differ)")
    train_blocks: int = _said(-1, "which blocks learn: -1 all, 0 only the new head, k the last k blocks and the head")
    # how long, in what steps
    epochs: int = _said(20, "epochs; the model is validated after each")
    passes: int = _said(1, "times an epoch goes through the training images; more where they are few")
    batch: int = _said(64, "images a step (one change of the weights), over all processes together")
    accumulate: int = _said(
        1, "parts of a batch that go through the model in turn: less memory, the same step (gradient accumulation)"
    )
    repeats: int = _said(1, "times each image occurs in an epoch, differently augmented (repeated augmentation)")
    optimizer: str = _said("adamw", "the optimiser", OPTIMIZERS)
    lr: float = _said(1e-3, "highest learning rate")
    min_lr: float = _said(1e-5, "lowest learning rate of a cosine or plateau schedule")
    weight_decay: float = _said(0.05, "weight decay; biases, norms and position tables are spared")
    momentum: float = _said(0.9, "of SGD and Muon, or Adam's first β")
    schedule: str = _said("cosine", "cosine: by step, after the warm-up; plateau: ÷10 without progress", SCHEDULES)
    warmup_epochs: float = _said(0.5, "epochs, or part of one, in which the rate climbs from near 0")
    plateau_patience: int = _said(12, "epochs without a better validation accuracy before the rate is divided by 10")
    stop_patience: int = _said(0, "epochs without a better validation accuracy before the run stops; 0 never stops")
    clip_norm: float = _said(1.0, "largest norm of the gradient; 0 does not clip")
    precision: str = _said("fp32", "fp32, or mixed precision (a GPU)", PRECISIONS)
    ema: float = _said(0.0, "decay of the moving average of weights, .999 say; 0 keeps none")
    # against learning by heart
    smoothing: float = _said(0.0, "label smoothing, 0 to 1")
    flip: float = _said(0.5, "chance of a left-right flip; 0 where left and right differ, as in digits")
    crop: float = _said(1.0, "smallest share of the image's area in a random crop; 1 does not crop")
    turn_deg: float = _said(0.0, "largest random turn, degrees; comes with shifts of up to 8 % and scales of 15 %")
    square_px: int = _said(
        1, "squares over which a turned image is averaged again: 4 for the digits, whose own pixels are so large"
    )
    randaugment: str = _said("", "timm's RandAugment, rand-m9-mstd0.5-inc1 say; empty for none")
    mixup: float = _said(0.0, "α of Mixup; 0 for none")
    cutmix: float = _said(0.0, "α of CutMix; 0 for none")
    erasing: float = _said(0.0, "chance of random erasing")
    drop_path: float = _said(0.0, "stochastic depth: chance that the last block is skipped")
    patch_drop: float = _said(0.0, "share of patches a ViT does not see in a training step (faster, and regularises)")
    # from whom
    teacher: str = _said("", "a model to learn from: bundled:NAME, a run folder, a timm name; empty for none")
    distillation: str = _said("none", "soft: KL at a temperature; hard: the teacher's first choice", DISTILLATIONS)
    temperature: float = _said(3.0, "T of soft distillation, > 0")
    teacher_share: float = _said(
        0.5,
        "λ: the teacher's share of the loss, 0 to 1 (a distillation head learns from it alone)",
    )
    seed: int = _said(0, "of initial weights, order and augmentation")
    # by what else networks that enlarge are judged
    perceptual: float = _said(0.0, "enlarging: weight of the difference of features (perceptual loss), .01 say")
    adversarial: float = _said(0.0, "enlarging: weight of a critic's opinion (adversarial loss, WGAN-GP), .001 say")
    # what stays of it
    checkpoints: int = _said(
        20, "how many steps are kept, each half a model large, spread evenly over the logarithm of time; 0 keeps none"
    )
    # for others
    licence: str = _said("", "licence that you give the trained model, cc-by-4.0 say; empty: not stated")

    def __post_init__(self) -> None:
        for entry in fields(self):
            _checked(entry, getattr(self, entry.name))
        for holds, sentence in (
            (
                min(self.epochs, self.passes, self.batch, self.accumulate, self.repeats, self.square_px) >= 1,
                "Epochs, passes, batch, accumulate, repeats and squares are 1 or more.",
            ),
            (self.batch % self.accumulate == 0, "A batch divides into its parts: change batch or accumulate."),
            (self.images >= 0 and self.image_size >= 0, "Images and image size are 0 (the usual) or more."),
            (self.lr > 0 and 0 <= self.min_lr <= self.lr, "The learning rate lies above 0, the lowest below it."),
            (0 <= self.warmup_epochs < self.epochs, "The warm-up is shorter than the run."),
            (
                all(
                    0 <= share < 1
                    for share in (self.ema, self.smoothing, self.drop_path, self.patch_drop, self.momentum)
                ),
                "EMA, smoothing, drop path, patch drop and momentum lie from 0 to below 1.",
            ),
            (
                all(0 <= share <= 1 for share in (self.flip, self.erasing, self.teacher_share)),
                "The chances of flip and erasing and the teacher's share lie from 0 to 1.",
            ),
            (0 < self.crop <= 1, "A crop's smallest area lies above 0 and is at most 1."),
            (
                min(self.mixup, self.cutmix, self.clip_norm, self.weight_decay, self.turn_deg) >= 0,
                "Mixup, CutMix, clipping, weight decay and turn are 0 or more.",
            ),
            (min(self.perceptual, self.adversarial) >= 0, "The weights of losses are 0 or more."),
            (
                self.task == "enlarge" or not (self.perceptual or self.adversarial),
                "Perceptual and adversarial losses are for networks that enlarge: choose ttsr_small, or leave them 0.",
            ),
            (
                _RANDAUGMENT.fullmatch(self.randaugment),
                "The recipe's randaugment is as in rand-m9-mstd0.5-inc1: m the strength, n how many, p how often.",
            ),
            (
                min(self.seed, self.data_seed, self.plateau_patience, self.stop_patience, self.checkpoints) >= 0,
                "Seeds, patience and checkpoints are 0 or more.",
            ),
            (_LICENCE.fullmatch(self.licence), "A licence is a name of letters, digits, spaces, -, + and dots."),
            (self.temperature > 0, "The temperature lies above 0."),
            (self.train_blocks >= -1, "Blocks to train: -1 for all, 0 for the head, or a number."),
            (bool(self.teacher) == (self.distillation != "none"), "A teacher and a kind of distillation go together."),
        ):
            if not holds:
                raise RecipeError(sentence)

    @property
    def task(self) -> str:
        """What is learned, which the model decides: to "classify" images, or one of `TASK_OF`."""
        return TASK_OF.get(self.model, "classify")

    @property
    def mixes(self) -> bool:
        """Whether images are mixed with one another."""
        return bool(self.mixup or self.cutmix)

    def to_json(self) -> str:
        """The recipe as JSON text, fields in reading order."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    @lru_cache(maxsize=1024)
    def from_json(cls, text: str) -> "Recipe":
        """Read `to_json`'s text again; missing fields keep their default. RecipeError says what is wrong."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            raise RecipeError("The recipe is not valid JSON.") from None
        if not isinstance(values, dict):
            raise RecipeError("A recipe is a JSON object of fields.")
        return cls().but(values)

    def but(self, changes: Mapping[str, Any]) -> "Recipe":
        """The same recipe with some fields changed; RecipeError on a field that there is not."""
        known = {entry.name: entry for entry in fields(self)}
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise RecipeError(f"A recipe has no field {unknown[0]!r}.")
        return replace(self, **{name: _checked(known[name], value) for name, value in changes.items()})


def _checked(entry: "Field[Any]", value: Any) -> Any:
    """A value of the field's kind and among its choices; JSON writes 1.0 as 1, which is a float again."""
    kinds = {"str": str, "int": int, "float": (int, float), "bool": bool}
    expected = getattr(entry.type, "__name__", str(entry.type))
    kind: Any = kinds.get(expected, dict)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise RecipeError(f"The recipe's {entry.name} is a {expected.split('[')[0]}, not {str(value)[:40]!r}.")
    if isinstance(value, (int, float)) and not -1e12 < value < 1e12:  # NaN fails this too
        raise RecipeError(f"The recipe's {entry.name} is no usable number.")
    if entry.name in MOST and value > MOST[entry.name]:
        raise RecipeError(f"The recipe's {entry.name} is at most {MOST[entry.name]:,}, not {value:,}.")
    if entry.metadata["choices"] and value not in entry.metadata["choices"]:
        raise RecipeError(f"The recipe's {entry.name} is one of {', '.join(entry.metadata['choices'])}; not {value!r}.")
    return float(value) if expected == "float" else value


_STUDY = Recipe(
    epochs=60,
    optimizer="adam",
    lr=3e-3,
    weight_decay=0.0,
    schedule="plateau",
    warmup_epochs=0.0,
    plateau_patience=12,
    stop_patience=15,
    clip_norm=0.0,
    min_lr=0.0,
)

_PUBLISHED = Recipe(  # what DeiT and Swin were both trained with on ImageNet
    epochs=300,
    batch=1024,
    accumulate=8,  # 128 images at once on one GPU; on several give fewer parts
    smoothing=0.1,
    randaugment="rand-m9-mstd0.5-inc1",
    mixup=0.8,
    cutmix=1.0,
    erasing=0.25,
    drop_path=0.1,
    crop=0.08,
)

NAMED: dict[str, tuple[str, Recipe]] = {
    "quick": (
        "a small model of ours, minutes on a laptop",
        Recipe(epochs=6, images=2400, optimizer="muon", lr=4e-3, warmup_epochs=0.5, turn_deg=15.0),
    ),
    "vit-frozen": (
        "ViT-B/16 with ImageNet weights, frozen, new head: Adam 3e-3, 60 epochs",
        _STUDY.but({"model": "vit_base_patch16_224", "pretrained": True, "train_blocks": 0}),
    ),
    "vit-scratch": (
        "ViT-B/16 from scratch: SGD 3e-3, 100 epochs, patience 20",
        _STUDY.but({"model": "vit_base_patch16_224", "epochs": 100, "optimizer": "sgd", "stop_patience": 20}),
    ),
    "swin-frozen": (
        "Swin-B with ImageNet weights, frozen, new head: Adam 3e-3, 100 epochs",
        _STUDY.but({"model": "swin_base_patch4_window7_224", "epochs": 100, "pretrained": True, "train_blocks": 0}),
    ),
    "deit-frozen": (
        "DeiT-B with ImageNet weights, frozen, new head: Adam 3e-3, 60 epochs",
        _STUDY.but({"model": "deit_base_patch16_224", "pretrained": True, "train_blocks": 0}),
    ),
    "deit": (
        "DeiT as published (Touvron et al. 2021): AdamW 1e-3 at batch 1,024, 300 epochs, all its augmentation",
        _PUBLISHED.but(
            {"model": "deit_small_distilled_patch16_224", "repeats": 3, "warmup_epochs": 5.0, "clip_norm": 0.0}
        ),
    ),
    "swin": (
        "Swin as published (Liu et al. 2021): AdamW 1e-3 at batch 1,024, 300 epochs, 20 of warm-up, clip 5",
        _PUBLISHED.but(
            {"model": "swin_tiny_patch4_window7_224", "warmup_epochs": 20.0, "drop_path": 0.2, "clip_norm": 5.0}
        ),
    ),
}


def named(name: str) -> Recipe:
    """A recipe by its name in NAMED."""
    if name not in NAMED:
        raise RecipeError(f"There is no recipe {name!r}; there are {', '.join(NAMED)}.")
    return NAMED[name][1]


HARDER = {
    "flip": "are mirrored at times",
    "turn_deg": "are turned",
    "randaugment": "are changed by RandAugment",
    "mixup": "are mixed",
    "cutmix": "are cut and mixed",
    "erasing": "lose a rectangle",
    "patch_drop": "lose some of their patches",
    "drop_path": "skip some layers",
}


def harder(recipe: Recipe) -> list[str]:
    """What this recipe does to training pictures alone."""
    done = [words for name, words in HARDER.items() if getattr(recipe, name)]
    return [*(["are cropped"] if recipe.crop < 1 else []), *done]
