"""How hard a picture is made."""

from dataclasses import dataclass

__all__ = ["DIFFICULTIES", "Difficulty"]


@dataclass(frozen=True)
class Difficulty:
    """What the draws of a scene may reach."""

    turn_deg: float  # largest turn from "head up", either way
    extent: tuple[float, float]  # longer side of the animal's bounding box, as a share of the frame
    shift: float  # largest shift of the animal from the middle, as a share of the frame
    occlusion: float  # probability, 0..1, that a weed, leaf or pebble lies over the animal
    covered: float  # largest share of the animal that may be covered
    debris: tuple[int, int]  # fewest and most things that lie about
    contrast: float  # least difference of brightness between animal and ground, in grey levels of 255
    noise: float  # standard deviation of the sensor's noise, in grey levels of 255


DIFFICULTIES = {
    "easy": Difficulty(15.0, (0.8, 0.94), 0.02, 0.0, 0.0, (0, 3), 70.0, 2.0),
    "normal": Difficulty(45.0, (0.64, 0.92), 0.05, 0.33, 0.15, (2, 9), 55.0, 4.0),
    "hard": Difficulty(180.0, (0.45, 0.8), 0.1, 0.7, 0.3, (5, 16), 34.0, 7.0),
}
