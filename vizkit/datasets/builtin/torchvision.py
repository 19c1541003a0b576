"""Some of torchvision's sets, as built-in ones."""

from vizkit.datasets.from_torchvision import open_torchvision
from vizkit.datasets.image_set import ImageSet

ABOUT = {
    "torchvision:cifar10": "60,000 photographs of 10 kinds of things, 32×32 pixels, downloaded at first use",
    "torchvision:cifar100": "60,000 photographs of 100 kinds of things, 32×32 pixels, downloaded at first use",
    "torchvision:flowers102": "8,189 photographs of 102 kinds of flowers, downloaded at first use",
    "torchvision:pets": "7,349 photographs of 37 breeds of cats and dogs, downloaded at first use",
}


def open_split(detail: str, split: str, *, images: int | None, size_px: int, seed: int) -> ImageSet:
    return open_torchvision(detail, split, seed=seed)
