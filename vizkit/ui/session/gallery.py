"""Models to start with, by what one wants, and what each costs to get.

Numbers of parameters are those of the architectures (a test counts them again), a weight takes four bytes. Licences are
those that timm states for its weights; of CLIP that of the authors' repository, of SigLIP that of its model card.
"""

from dataclasses import dataclass

from vizkit.settings import GIB, settings
from vizkit.ui.duration import duration
from vizkit.ui.session import model_names
from vizkit.views.licences import licence_words

MBIT_S = 50  # at which a download is timed
WEIGHT_BYTES = 4


@dataclass(frozen=True)
class Entry:
    """`source` as `vizkit.load` takes it; `parameters` of all that is downloaded, text towers too."""

    source: str
    name: str
    parameters: int
    licence: str

    @property
    def repo(self) -> str:
        """Where the hub keeps it."""
        kind, _, rest = self.source.rpartition(":")
        return rest if kind else f"timm/{rest}"

    @property
    def bytes(self) -> int:
        return WEIGHT_BYTES * self.parameters

    @property
    def seconds(self) -> float:
        """Of the download at `MBIT_S`, as it is calculated from the size."""
        return 8 * self.bytes / (MBIT_S * 1e6)


GALLERY: dict[str, tuple[Entry, ...]] = {
    "Photographs: 1,000 classes of ImageNet": (
        Entry("vit_small_patch16_224.augreg_in21k_ft_in1k", "ViT-S/16", 22_050_664, "apache-2.0"),
        Entry("deit_small_distilled_patch16_224.fb_in1k", "DeiT-S distilled", 22_436_432, "apache-2.0"),
        Entry("swin_tiny_patch4_window7_224.ms_in1k", "Swin-T", 28_288_354, "mit"),
        Entry("convnext_tiny.fb_in1k", "ConvNeXt-T", 28_589_128, "apache-2.0"),
    ),
    "Before transformers: convolutional networks, 1,000 classes of ImageNet": (
        Entry("vgg16.tv_in1k", "VGG-16", 138_357_544, "bsd-3-clause"),
        Entry("resnet50.tv_in1k", "ResNet-50", 25_557_032, "bsd-3-clause"),
    ),
    "Registers: features without classes": (
        Entry("vit_small_patch14_reg4_dinov2.lvd142m", "DINOv2 ViT-S/14", 22_057_344, "apache-2.0"),
    ),
    "Text prompts: classes that you type": (
        Entry("hf-hub:openai/clip-vit-base-patch32", "CLIP ViT-B/32", 151_277_313, "mit"),
        Entry("hf-hub:google/siglip-base-patch16-224", "SigLIP ViT-B/16", 203_155_970, "apache-2.0"),
    ),
}
FOR_PHOTOGRAPHS = next(iter(GALLERY.values()))[0]


def bundled() -> dict[str, list[str]]:
    """The models that came with vizkit, by what they know."""
    groups: dict[str, list[str]] = {}
    for source in model_names.bundled():
        groups.setdefault(model_names.knows(source), []).append(source)
    return groups


def here(entry: Entry) -> bool:
    """Whether its weights are on this machine."""
    from vizkit.models.sources.hub import cached

    return cached(entry.repo) is not None


def above_budget(entry: Entry) -> bool:
    return entry.bytes > settings().model_bytes


def cost(entry: Entry) -> str:
    """Parameters, bytes, how long the download takes or why there is none, and the licence."""
    if above_budget(entry):
        get = f"more than the {settings().model_bytes / GIB:.1f} GiB that a model may take here"
    elif here(entry):
        get = "on this machine"
    else:
        get = f"about {duration(entry.seconds)} at {MBIT_S} Mbit/s"
    size = f"{entry.parameters / 1e6:.0f} M parameters · {entry.bytes / 1e6:.0f} MB"
    return f"{size} · {get} · {licence_words(entry.licence)}"


def why_not(entry: Entry) -> str:
    """A sentence where its weights cannot be had now, "" where they are here or the hub answers, which is asked."""
    from vizkit.models import ModelError
    from vizkit.models.sources.hub import refuse_unreachable

    try:
        refuse_unreachable(entry.repo)
    except ModelError as error:
        return str(error)
    return ""
