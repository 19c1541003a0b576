"""Receptive fields: how much of what a unit can see it uses."""

from vizkit.analysis.remarks.remark import Remark, percent


def used(stage: str, seen_px: int, used_px: float, image_px: int, held: float) -> Remark | None:
    """`seen_px`: the side of the theoretical field, `used_px` that of the square which holds `held` of the effect, both
    of a unit of `stage`; `image_px`: the shorter side of the model's input. None where the square is no smaller."""
    most = min(seen_px, image_px)
    if used_px >= most:
        return None
    beyond = seen_px > image_px
    area = (used_px / most) ** 2
    words = (
        f"A unit in the middle of {stage} can see {seen_px} × {seen_px} pixels"
        + (f", more than the image has, but {percent(held)}" if beyond else f", but {percent(held)}")
        + f" of what changes it lies in the {used_px:.0f} × {used_px:.0f} pixels around its middle: {percent(area)} of "
        + ("the image." if beyond else "its field.")
    )
    return Remark(words, {"seen_px": seen_px, "used_px": used_px, "area": area})
