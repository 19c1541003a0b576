"""Where the limbs of a drawn insect's legs begin: hips, knees and ankles, by which places of two insects correspond."""

import numpy as np
from jaxtyping import Float

from vizkit.datasets.insects import LABELS, SPLITS, label_of
from vizkit.datasets.insects.difficulty import DIFFICULTIES
from vizkit.datasets.insects.pose import cut, pose
from vizkit.datasets.insects.species import SPECIES
from vizkit.datasets.insects.specimen import PARTS, Specimen


def joints(
    index: int, *, split: str = "train", seed: int = 0, difficulty: str = "normal"
) -> Float[np.ndarray, "joint 2"]:
    """Of sample `index`, as `draw` draws it: the middle of the upper end of every limb, (x, y) in shares of the image,
    seen or hidden. Insects of a kind have the same ones in the same order, on the animal's own left and right; kinds
    without legs have none."""
    draw = np.random.default_rng([seed, SPLITS.index(split), index, 0])
    one = Specimen(draw)
    SPECIES[LABELS[label_of(index, split, seed)]](one)
    outlines = cut(one.pieces, pose(one, DIFFICULTIES[difficulty], draw).points)
    found = [
        (outline[0] + outline[-1]) / 2  # a strip goes down one side and up the other
        for piece, outline in zip(one.pieces, outlines, strict=True)
        if piece.part == 1 + PARTS.index("legs") and not piece.width
    ]
    return np.array(found).reshape(-1, 2)
