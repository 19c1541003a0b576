"""The directions of the classes of a set of pictures, in a model's residual stream."""

from collections.abc import Callable

from vizkit.evaluation.inside.few_pictures import few_pictures
from vizkit.models import Loaded
from vizkit.models.probes.interventions.steering import class_directions
from vizkit.models.probes.interventions.stream_edits import Directions

BATCH = 8


def directions_of(
    loaded: Loaded, data: str, images: int, *, tell: Callable[[int, int], None] = lambda *_: None
) -> tuple[Directions, tuple[str, ...]]:
    """From the first training pictures of a set, see `few_pictures`, and the names of its classes. `tell` hears how
    many pictures of how many are through, and may raise to stop. Raises DatasetError, and NotApplicable as
    `class_directions`."""
    few = few_pictures(loaded, data, images, "train")
    directions = class_directions(loaded, few.labelled(BATCH), lambda done: tell(done, len(few)))
    return directions, few.images.labels
