"""What is said of an image that is not shown."""

MAX_PIXELS = 50_000_000  # width × height, checked before a pixel is decoded; a 48-megapixel telephone passes
MAX_SIDE, MIN_SIDE, MAX_RATIO = 16_384, 8, 20  # of the picture: pixels, pixels, longer side / shorter side
SIZE_LIMIT = f"the limits are {MAX_PIXELS // 10**6} megapixels and {MAX_SIDE} pixels a side; make it smaller."


class ImageError(ValueError):
    """An image was refused. The message is one plain sentence for the user that says what to do."""


def damaged() -> ImageError:
    return ImageError("The image is damaged or cut off; save it again as PNG or JPEG.")


def refuse_size(width: int, height: int) -> None:
    """Raises ImageError for an image that no model could be shown, or that would fill the memory."""
    short, long = sorted((width, height))
    if width * height > MAX_PIXELS or long > MAX_SIDE:
        raise ImageError(f"The image is too large ({width}×{height}): {SIZE_LIMIT}")
    if short < MIN_SIDE:
        raise ImageError(f"The image is too small ({width}×{height}); it needs at least {MIN_SIDE} pixels a side.")
    if long > MAX_RATIO * short:
        raise ImageError(f"The image is too narrow ({width}×{height}); crop it to at most {MAX_RATIO}:1.")
