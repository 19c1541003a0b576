"""What of somebody's pictures and boxes a training will not see, to be said before it starts."""

from vizkit.datasets.image_set import SPLITS, DatasetError
from vizkit.datasets.scenes.opening import ABOUT, open_boxes
from vizkit.training.recipe import Recipe


def left_out(recipe: Recipe) -> list[str]:
    """Sentences; none for drawn scenes, for other tasks, and for data that cannot be opened: the run says that."""
    if recipe.task != "detect" or recipe.data in ABOUT:
        return []
    try:
        opened = [open_boxes(recipe.data, split, seed=recipe.data_seed) for split in SPLITS]
    except DatasetError:
        return []
    return list(dict.fromkeys(note for each in opened for note in each.notes))
