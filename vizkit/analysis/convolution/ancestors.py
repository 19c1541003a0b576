"""The networks before transformers, as they were published: how deep, how large, how far they see, what was new."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ancestor:
    """`layers` with weights; `parameters` and `field_px` (the receptive field before the head) of `architecture`, as
    timm ("lenet5") or torchvision builds it. `brought`: what it was the first to show."""

    title: str
    architecture: str
    year: int
    layers: int
    parameters: int
    field_px: int
    brought: str
    source: str


LECUN = "LeCun et al. 1998, Proc. IEEE 86 (11)"
KRIZHEVSKY = "Krizhevsky et al. 2012, NeurIPS"  # torchvision builds the one column of Krizhevsky 2014, arXiv 1404.5997
SIMONYAN = "Simonyan & Zisserman 2014 (arXiv 1409.1556)"
HE = "He et al. 2015 (arXiv 1512.03385)"
SMALL = "3×3 convolutions alone: three see 7×7 with 27 C² weights instead of 49 C²"
SHORTCUT = "shortcuts, y = F(x) + x, with which more layers are better, not worse"

ANCESTORS = (
    Ancestor("LeNet-5", "lenet5", 1998, 5, 61_706, 16, "local fields, shared weights, subsampling", LECUN),
    Ancestor("AlexNet", "alexnet", 2012, 8, 61_100_840, 195, "ReLU, dropout, augmentation, two GPUs", KRIZHEVSKY),
    Ancestor("VGG-16", "vgg16", 2014, 16, 138_357_544, 212, SMALL, SIMONYAN),
    Ancestor("VGG-19", "vgg19", 2014, 19, 143_667_240, 268, SMALL, SIMONYAN),
    Ancestor("ResNet-18", "resnet18", 2015, 18, 11_689_512, 435, SHORTCUT, HE),
    Ancestor("ResNet-34", "resnet34", 2015, 34, 21_797_672, 899, SHORTCUT, HE),
    Ancestor("ResNet-50", "resnet50", 2015, 50, 25_557_032, 427, SHORTCUT, HE),
    Ancestor("ResNet-101", "resnet101", 2015, 101, 44_549_160, 971, SHORTCUT, HE),
    Ancestor("ResNet-152", "resnet152", 2015, 152, 60_192_808, 1451, SHORTCUT, HE),
)
"""The stride of a ResNet's bottleneck stands in its 3×3 convolution, as in torchvision and timm: with the paper's own,
in the 1×1 before it, ResNet-50 sees 483 pixels instead of 427."""
