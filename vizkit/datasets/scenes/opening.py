"""Sets of pictures with boxes: drawn scenes by name, people's own in COCO's format from a folder."""

from pathlib import Path

from vizkit.datasets.image_set import SPLITS, DatasetError, digest_of
from vizkit.datasets.scenes.annotated import Annotated, BoxSet

ABOUT = {"scenes": "drawn images of none to five water insects of 12 kinds, with boxes and masks"}
COUNTS = {"train": 20_000, "val": 500, "test": 1_000}


def open_boxes(name: str, split: str, *, count: int | None = None, size_px: int = 160, seed: int = 0) -> BoxSet:
    """`name`: "scenes", or a folder with annotations.json (`coco`). `size_px`: of drawn scenes. Raises DatasetError."""
    if split not in SPLITS:
        raise DatasetError(f"There is no split {split[:40]!r}; there are {', '.join(SPLITS)}.")
    if name in ABOUT:
        return _drawn(split, COUNTS[split] if count is None else count, size_px, seed)
    from vizkit.datasets.scenes.coco import open_coco

    return open_coco(Path(name), split, count=count, seed=seed)


def _drawn(split: str, count: int, size_px: int, seed: int) -> BoxSet:
    from vizkit.datasets.insects import EDITION
    from vizkit.datasets.scenes.drawing import LABELS, SIZES_PX, draw_scene

    if not SIZES_PX[0] <= size_px <= SIZES_PX[1]:
        raise DatasetError(f"Scenes are drawn {SIZES_PX[0]} to {SIZES_PX[1]} pixels wide, not {size_px}.")
    if count < 1 or seed < 0:
        raise DatasetError(f"A set has one scene at least and a seed from 0, not {count} and {seed}.")

    def read(index: int) -> Annotated:
        return draw_scene(index, split=split, seed=seed, size_px=size_px)

    digest = digest_of("scenes", split, count, size_px, seed, EDITION)
    return BoxSet("scenes", split, LABELS, count, read, digest)
