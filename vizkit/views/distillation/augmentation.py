"""Augmentation: what a DeiT recipe does to a picture before the model learns from it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import UInt8

from vizkit.analysis.remarks import distillation as remarks
from vizkit.datasets import samples
from vizkit.figure.charts import curves, heat_map, paired_bars
from vizkit.image import Preprocessing, prepare, unprepare
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Blocks, Chart, Heading, Line, Numbers, Picture, Said, side_by_side
from vizkit.views.controls import choice, number
from vizkit.views.distillation.classes import Classes
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.training.pictures.preview import Changed

Rgb = UInt8[np.ndarray, "_row _column 3"]
RAND, MIX, ERASE, DEPTH, PAPER = "RandAugment", "Mixup and CutMix", "Erasing", "Drop path", "Does it matter?"
ACROSS = 3  # beside one another
NONE = np.empty(0)  # in the file of a part that has no such array
DRAWS, BATCH = 5, 8  # pictures of one draw, and of the batch of Drop path
PLAIN = Preprocessing((224, 224), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0)
ALPHAS = {"Mixup": "mixup", "CutMix": "cutmix"}


def partners(of: Sequence[Subject]) -> list[str]:
    """Other pictures: uploads, and samples, those of the same kind first."""
    image = of[0].image if of else ""
    others = [name for name in (*(of[0].uploads if of else ()), *samples.names()) if name != image]
    return sorted(others, key=lambda name: kind_of(name) != kind_of(image))


def only(*parts: str) -> Callable[["Augmentation"], bool]:
    return lambda view: view.part in parts


class Augmentation(View):
    """What a recipe does to a picture before the model learns from it."""

    part: Literal["RandAugment", "Mixup and CutMix", "Erasing", "Drop path", "Does it matter?"] = choice(
        "What", (RAND, MIX, ERASE, DEPTH, PAPER), key="augmentation_part"
    )
    magnitude: int = number(
        "Magnitude",
        0,
        10,
        9,
        "How strong each operation is, 0 to 10; DeiT takes 9.",
        key="ra_magnitude",
        when=only(RAND),
    )
    operations: int = number(
        "Operations drawn",
        1,
        4,
        2,
        "For each picture; each is applied with probability 0.5. DeiT draws 2.",
        key="ra_operations",
        when=only(RAND),
    )
    partner: str | None = choice(
        "Partner",
        partners,
        "In training another picture of the same batch.",
        key="mix_partner",
        when=only(MIX),
    )
    mixup: float = number(
        "α of Mixup",
        0.1,
        2.0,
        0.8,
        "Large: both have about the same share. DeiT takes 0.8.",
        step=0.1,
        key="mixup_alpha",
        when=only(MIX),
    )
    cutmix: float = number(
        "α of CutMix",
        0.1,
        2.0,
        1.0,
        "Large: both have about the same share. DeiT takes 1.",
        step=0.1,
        key="cutmix_alpha",
        when=only(MIX),
    )
    smoothing: float = number(
        "Label smoothing",
        0.0,
        0.3,
        0.1,
        "Spread evenly over all classes; DeiT takes 0.1.",
        step=0.05,
        key="mix_smoothing",
        when=only(MIX),
    )
    chance: float = number(
        "Chance",
        0.0,
        1.0,
        0.5,
        "Of a picture to lose a rectangle; DeiT takes 0.25.",
        step=0.05,
        key="erase_chance",
        when=only(ERASE),
    )
    rate: float = number(
        "Drop path",
        0.0,
        0.9,
        0.3,
        "Chance that the last block is skipped; DeiT-B and DeiT-S take 0.1.",
        step=0.05,
        key="drop_rate",
        when=only(DEPTH),
    )
    draw: int = number(
        "Draw", 1, 999, 1, "Another number is another random draw.", key="ra_draw", when=only(RAND, MIX, ERASE, DEPTH)
    )

    alone = True
    overlays = False
    how = How(
        "RandAugment draws operations from fifteen, with a strength near the magnitude; the label stays, so the model "
        "learns what does not matter for it. Mixup lays one picture over another and CutMix pastes a rectangle, and "
        "the labels are mixed with them: the bars are the target of the cross-entropy. Erasing fills 2 to 33 % of the "
        "picture with noise. Drop path goes past residual branches, of late blocks more often; when the model is used, "
        "past none. The last part is what each of these was worth to DeiT; the Train page offers them all.",
        r"x' = (o_n \circ \dots \circ o_1)(x), \quad y' = \lambda y_a + (1-\lambda) y_b, \ \lambda \sim "
        r"\mathrm{Beta}(\alpha, \alpha), \quad x_{l+1} = x_l + \frac{b_l}{1-p_l}\, f_l(x_l), \ b_l \sim "
        r"\mathrm{Bernoulli}(1-p_l), \ p_l = p\,\frac{l-1}{L-1}",
        "whether a change keeps the label true: turned digits become something else, a pasted rectangle may hold "
        "nothing but background; nor what each would be worth with other pictures, or with a recipe tuned anew.",
        "Cubuk et al. 2020; Zhang et al. 2018; Yun et al. 2019; Zhong et al. 2020; Huang et al. 2016; smoothing: "
        "Szegedy et al. 2016; numbers: Touvron et al. 2021, table 8; operations as in timm",
    )

    def title(self, of: Subject) -> str:
        return f"{self.part}{'' if self.part == PAPER else f', draw {self.draw}'}"

    def show(self, of: Subject) -> Blocks:
        needs = of.loaded.preprocessing if of.has_model else PLAIN
        part = {RAND: self.rand_augment, MIX: self.mixing, ERASE: self.erasing, DEPTH: self.drop_path, PAPER: ablation}
        yield from part[self.part](of, needs)

    def seeds(self, count: int) -> tuple[int, ...]:
        first = 1000 * (self.draw + 2)  # so that the first draw has pictures with no, one and two operations
        return tuple(range(first, first + count))

    # ---- single pictures ---------------------------------------------------------------------------------------------
    def rand_augment(self, of: Subject, needs: Preprocessing) -> Blocks:
        from vizkit.training.pictures.preview import rand_augmented

        changed = rand_augmented(of.rgb, needs, self.magnitude, self.operations, self.seeds(DRAWS))
        unchanged = sum(each.words.startswith("nothing") for each in changed)
        yield Said(remarks.drawn(self.operations, unchanged, DRAWS))
        yield from beside(seen(of.rgb, needs), changed)

    def erasing(self, of: Subject, needs: Preprocessing) -> Blocks:
        from vizkit.training.pictures.preview import erased

        changed = erased(of.rgb, needs, self.chance, self.seeds(DRAWS))
        yield Said(remarks.erased(sum(each.words != "kept" for each in changed), DRAWS, self.chance))
        yield from beside(seen(of.rgb, needs), changed)

    # ---- two pictures ------------------------------------------------------------------------------------------------
    def mixing(self, of: Subject, needs: Preprocessing) -> Blocks:
        from vizkit.training.pictures.preview import mixed
        from vizkit.training.recipe import Recipe

        own, other = of.image or "this image", self.partner or partners([of])[0]
        both = (of.rgb, of.uploads[other] if other in of.uploads else samples.picture(other))
        labels, (first, second) = label_space(own, other)
        found = {}
        for kind, field in ALPHAS.items():
            recipe = Recipe(smoothing=self.smoothing).but({field: getattr(self, field)})
            seed = 2000 + 3 * self.draw  # the first draw shows both pictures
            found[kind] = mixed(both, (first, second), len(labels), needs, recipe, seed)
        shares = {kind: each.share for kind, each in found.items()}
        yield Said(remarks.mixed(shares, (labels[first], labels[second])))
        columns: list[tuple[Block, ...]] = []
        for kind, mixture in found.items():
            rows = Classes.of(torch.from_numpy(mixture.label), labels, 6)
            rest = len(labels) - len(rows.shown)
            each = f"; {rest} other classes have {mixture.label.min():.3f} each" if rest else ""
            picture = Picture(enlarged(mixture.picture), f"{kind} of both", "what the model gets")
            bars = rows.bars(mixture.label[list(rows.shown)].tolist(), f"The mixed label of {kind}")
            pair = side_by_side(picture, (bars, Line(f"the mixed label{each}")))
            columns.append((Heading(f"{kind}: λ = {mixture.share:.2f}"), pair))
        columns.append(
            tuple(
                Picture(enlarged(seen(rgb, needs)), name, name, 0.7)
                for name, rgb in zip((own, other), both, strict=True)
            )
        )
        yield side_by_side(*columns, widths=(2, 2, 0.6))
        yield Line("A teacher is run on the mixed picture itself: its prediction need not match λ.")
        pictures, values = (np.array([getattr(each, part) for each in found.values()]) for part in ("picture", "label"))
        yield Numbers(lambda: {"pictures": pictures, "values": values})

    # ---- blocks ------------------------------------------------------------------------------------------------------
    def drop_path(self, of: Subject, needs: Preprocessing) -> Blocks:
        from vizkit.models.probes.residual import branches
        from vizkit.training.pictures.preview import chances, skipped

        if not of.has_model:
            raise NotApplicable("Choose a model in the sidebar: its blocks are drawn here.")
        counts = branches(of.loaded)
        by_block = chances(self.rate, len(counts))
        by_branch = [chance for chance, count in zip(by_block, counts, strict=True) for _ in range(count)]
        drawn = skipped(by_branch, BATCH, self.seeds(1)[0])
        named = [f"{block}.{branch}" for block, count in enumerate(counts, 1) for branch in range(1, count + 1)]
        yield Said(remarks.skipped(sum(counts), sum(1 - chance for chance in by_branch), drawn))
        works, axes = (~drawn).astype(float), ("block.branch", "picture of the batch")
        rows = [f"{index}" for index in range(1, BATCH + 1)]
        figure = heat_map(works, *axes, x_names=named, y_names=rows, limit=1.0, square=False)
        figure.update_traces(showscale=False, xgap=2, ygap=2)
        figure.update_xaxes(type="category").update_yaxes(type="category")
        chance = {"chance": (np.arange(len(counts)) + 1.0, np.array(by_block))}
        curve = curves(chance, "block", "chance of being skipped", mode="lines+markers")
        yield side_by_side(
            Chart(figure, f"{int(drawn.sum())} of {drawn.size} branches skipped", "Bright: works, dark: skipped"),
            Chart(curve, f"Chance of being skipped, from 0 to {self.rate:g}", "The later, the likelier"),
            widths=(1.6, 1),
        )
        yield Line(f"{of.name}: {len(counts)} blocks, {sum(counts)} branches.")
        yield Numbers(lambda: {"pictures": NONE, "values": drawn})


def ablation(of: Subject, needs: Preprocessing) -> Blocks:
    """What each part was worth to DeiT-B, the dearest first."""
    from vizkit.training.pictures.preview import ABLATION, BASELINE, FAILED

    lines = sorted(ABLATION, key=lambda line: line.at_224)
    changes = {
        "trained at 224²": [line.at_224 - BASELINE.at_224 for line in lines],
        "fine-tuned at 384²": [line.at_384 - BASELINE.at_384 for line in lines],
    }
    figure = paired_bars([line.change for line in lines], changes, "points of top-1 on ImageNet, against the recipe")
    yield Said(remarks.worth({line.change: line.at_224 for line in lines}, BASELINE.at_224))
    yield Chart(figure, "DeiT's ablation: the points that every change of the recipe costs")
    failed = " and ".join(f"{line.change} ({line.at_224:.1f} %)" for line in FAILED)
    yield Line(
        f"{BASELINE.change} reaches {BASELINE.at_224} % at 224² and {BASELINE.at_384} % at 384². Two runs did not "
        f"train at all: {failed}; the paper says that other hyper-parameters might have made them."
    )
    yield Numbers(lambda: {"pictures": NONE, "values": np.array([*changes.values()])})


# ---- pictures and their labels ---------------------------------------------------------------------------------------
def beside(original: Rgb, changed: "Sequence[Changed]") -> Blocks:
    """The original and what became of it, in rows."""
    named = [("as the model sees it", original)]
    named += [(f"{index}: {each.words}", each.picture) for index, each in enumerate(changed, 1)]
    every = [Picture(enlarged(rgb), f"Picture: {said}", said) for said, rgb in named]
    for start in range(0, len(every), ACROSS):
        yield side_by_side(*every[start : start + ACROSS])
    yield Numbers(lambda: {"pictures": np.array([each.picture for each in changed]), "values": NONE})


def seen(rgb: Rgb, needs: Preprocessing) -> Rgb:
    return unprepare(prepare(rgb, needs)[0], needs)


def enlarged(rgb: Rgb) -> Rgb:
    """Small pictures keep their pixels as squares."""
    zoom = max(1, -(-300 // max(rgb.shape[:2])))
    return rgb.repeat(zoom, 0).repeat(zoom, 1)


def kind_of(name: str) -> str:
    return "insect" if name in samples.INSECTS else "digit" if name.startswith("digit ") else "other"


def label_space(name: str, partner: str) -> tuple[list[str], tuple[int, int]]:
    """The classes that the label is one of, and those of both pictures; of pictures without any, their own names."""
    kinds = kind_of(name), kind_of(partner)
    if kinds == ("insect", "insect"):
        return list(samples.INSECTS), (samples.INSECTS.index(name), samples.INSECTS.index(partner))
    if kinds == ("digit", "digit"):
        return list("0123456789"), (int(name.removeprefix("digit ")), int(partner.removeprefix("digit ")))
    return [name, partner], (0, 1)
