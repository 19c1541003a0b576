"""How large a picture of any shape is before a network that takes any: by its edges, as in DETR's code."""


def resized_hw(picture_hw: tuple[int, int], shorter_px: int, longest_px: int) -> tuple[int, int]:
    """The shorter edge becomes `shorter_px`, or less where the longer one would have more than `longest_px`; both in
    proportion, rounded down as in transformers."""
    short, long = sorted(picture_hw)
    exact = float(shorter_px)
    if long / short * shorter_px > longest_px:
        exact = longest_px * short / long
    edge = round(exact)
    if edge == short:
        return picture_hw
    edge = max(1, edge)
    other = max(1, int(exact * long / short))
    return (edge, other) if picture_hw[0] <= picture_hw[1] else (other, edge)
