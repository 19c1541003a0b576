"""The bytes of a picture to upright 8-bit RGB: what is refused, and which files are quick to decode for sure."""

import contextlib
import io
import math
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError
from PIL.Image import Resampling, Transpose

MAX_BYTES = 20 * 2**20  # of the file
MAX_PIXELS = 50_000_000  # width × height, checked before a pixel is decoded; a 48-megapixel telephone passes
MAX_SIDE, MIN_SIDE, MAX_RATIO = 16_384, 8, 20  # of the picture: pixels, pixels, longer side / shorter side
MAX_SCANS = 100  # of a JPEG: a progressive photograph has about ten, and each costs a pass over the whole picture
LIGHT_PIXELS, LIGHT_HEADER, LIGHT_MARKERS = 2**26, 2**18, 300  # pixels × scans, bytes and segments of a light JPEG
LIGHT_BYTES, LIGHT_SMALL = 2**16, 2**20  # of a light PNG, and its pixels; a data set may have thousands

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")  # few decoders, few holes: no EPS, PSD, ICNS …
_SIZE_LIMIT = f"the limits are {MAX_PIXELS // 10**6} megapixels and {MAX_SIDE} pixels a side; make it smaller."
_TILE_WIDTH, _TILE_LENGTH, _ORIENTATION = 322, 323, 274  # TIFF 6.0 tags, the last one in EXIF too
_CORNERS = (Transpose.TRANSPOSE, Transpose.ROTATE_270, Transpose.TRANSVERSE, Transpose.ROTATE_90)  # EXIF 2.32: 5 … 8
_UPRIGHT = dict(enumerate((Transpose.FLIP_LEFT_RIGHT, Transpose.ROTATE_180, Transpose.FLIP_TOP_BOTTOM, *_CORNERS), 2))
_HUSH = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
# JPEG (ITU T.81, B.1.1): a marker is 0xFF and a code; but 0 means data, 0xFF fills, 1 and 0xD0–0xD7 stand alone.
_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd7\xff])")
_START, _END, _SCAN = 0xD8, 0xD9, 0xDA
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF: codes of all processes, tables left out
_LIGHT_FRAMES = frozenset((0xC0, 0xC1, 0xC2))  # Huffman coding; arithmetic coding is slow


class ImageError(ValueError):
    """A picture was refused. The message is one plain sentence for the user that says what to do."""


class Work(NamedTuple):
    """What decoding a JPEG takes. `scans` are counted up to one above the limit, `markers` up to 1,000 or so."""

    scans: int
    markers: int
    pixels: int
    header: int
    """Bytes before the first scan."""
    frames: frozenset[int]
    """Codes of the frames: how the picture is coded."""


def jpeg_work(data: bytes) -> Work:
    """The markers of a JPEG as libjpeg finds them, without decoding anything: a few milliseconds for 20 MiB."""
    scans = markers = pixels = header = position = 0
    frames = set()
    while scans <= MAX_SCANS and markers < 1000 and (marker := _MARKER.search(data, position)):
        code, position = marker[1][0], marker.end()
        if code == _END:
            break
        if code == _START:
            continue
        markers += 1
        if code == _SCAN:
            scans, header = scans + 1, header or position
        if code in _FRAMES:
            frames.add(code)
            height, width = (int.from_bytes(data[position + at : position + at + 2]) for at in (3, 5))
            pixels = max(pixels, height * width)
        position += max(2, int.from_bytes(data[position : position + 2]))
    return Work(scans, markers, pixels, header or len(data), frozenset(frames))


def light(data: bytes) -> bool:
    """Whether decoding takes well under a second and little memory, whatever the bytes say.

    Raises ImageError for a JPEG that says of itself that it is endless work.
    """
    if data.startswith(b"\xff\xd8\xff"):
        work = jpeg_work(data)
        if work.scans > MAX_SCANS:
            raise ImageError(f"The JPEG has more than {MAX_SCANS} scans, as no photograph has; save it again as PNG.")
        small = work.header <= LIGHT_HEADER and work.markers <= LIGHT_MARKERS
        return small and work.frames <= _LIGHT_FRAMES and work.pixels * max(1, work.scans) <= LIGHT_PIXELS
    if len(data) <= LIGHT_BYTES and data.startswith(b"\x89PNG\r\n\x1a\n") and data.count(b"IHDR") == 1:
        return data[12:16] == b"IHDR" and int.from_bytes(data[16:20]) * int.from_bytes(data[20:24]) <= LIGHT_SMALL
    return False


def decode(data: bytes, max_side: int) -> tuple[np.ndarray, str]:
    """(read-only RGB (height, width, 3), what was done to it), with no side above `max_side`; or ImageError."""
    # Not `catch_warnings`, which swaps a list that all threads share: this filter names Pillow alone, and stays.
    if list(warnings.filters[:1]) != [_HUSH]:
        warnings.filterwarnings("ignore", module=r"PIL\.")
    try:
        image, note = _upright(data, max_side)
        return np.asarray(image), note  # a copy in immutable bytes, hence read-only for good
    except ImageError:
        raise
    except Image.DecompressionBombError:  # Pillow's own, far higher limit, checked on opening
        raise ImageError(f"The picture is too large: {_SIZE_LIMIT}") from None
    except UnidentifiedImageError:
        if data[4:8] == b"ftyp" and data[8:11] in (b"hei", b"hev", b"mif", b"msf"):
            raise ImageError("HEIC pictures cannot be read here; save it as JPEG.") from None
        raise ImageError(f"This is not a picture that can be read here; choose one of {', '.join(_FORMATS)}.") from None
    except Exception:  # hostile bytes make decoders raise anything, from SyntaxError to MemoryError
        raise damaged() from None


def damaged() -> ImageError:
    return ImageError("The picture is damaged or cut off; save it again as PNG or JPEG.")


def _upright(data: bytes, max_side: int) -> tuple[Image.Image, str]:
    image = Image.open(io.BytesIO(data), formats=_FORMATS)  # reads the header only
    _refuse_size(image)
    width, height = image.size
    shrink = min(1.0, max_side / max(width, height))
    # libjpeg decodes at 1/2, 1/4 or 1/8, never below the size needed: a large photograph then costs little.
    image.draft(None, (math.ceil(width * shrink), math.ceil(height * shrink)))
    image.load()
    flat, converted = _eight_bits(image)
    flat.thumbnail((max_side, max_side), Resampling.LANCZOS, reducing_gap=3.0)
    turn = _if_readable(
        lambda: _UPRIGHT[image.getexif()[_ORIENTATION]]
    )  # no longer in a TIFF: loading it has turned it
    if turn is not None:
        flat = flat.transpose(turn)
        width, height = (height, width) if turn in _CORNERS else (width, height)
    # Counting the pages of a TIFF takes time quadratic in their number, and a hostile file has a million.
    count = "several" if image.format == "TIFF" else _if_readable(lambda: getattr(image, "n_frames", 1))
    first = f"first frame of {count}" if _if_readable(lambda: getattr(image, "is_animated", False)) else ""
    turned = "" if turn is None else "turned upright by EXIF"
    shrunk = f"shrunk from {width}×{height}" if shrink < 1 else ""
    return flat, ", ".join(filter(None, (first, turned, converted, shrunk)))


def _if_readable(question: Callable[[], Any]) -> Any:
    """The answer, or None: missing or corrupt metadata are no reason to refuse a picture."""
    with contextlib.suppress(Exception):
        return question()


def _refuse_size(image: Image.Image) -> None:
    width, height = image.size
    short, long = sorted(image.size)
    # libtiff makes room for a whole tile, however small the picture: 260 kB of file would become 256 MB and more.
    tags = getattr(image, "tag_v2", {})  # `int`, because a tag may hold text, and text × 2³¹ fills the memory
    pixels = max(width * height, int(tags.get(_TILE_WIDTH, 0)) * int(tags.get(_TILE_LENGTH, 0)))
    if pixels > MAX_PIXELS or long > MAX_SIDE:
        raise ImageError(f"The picture is too large ({width}×{height}): {_SIZE_LIMIT}")
    if short < MIN_SIDE:
        raise ImageError(f"The picture is too small ({width}×{height}); it needs at least {MIN_SIDE} pixels a side.")
    if long > MAX_RATIO * short:
        raise ImageError(f"The picture is too narrow ({width}×{height}); crop it to at most {MAX_RATIO}:1.")


def _eight_bits(image: Image.Image) -> tuple[Image.Image, str]:
    """The image as RGB, and in words what that took."""
    if image.mode[0] in "IF":
        return _scaled(image)
    if image.has_transparency_data:  # an alpha channel, a transparent palette entry or a transparent colour
        image = image.convert("RGBA")
        alpha, white = image.getchannel("A"), Image.new("RGB", image.size, "white")
        white.paste(image, mask=alpha)
        return white, "" if alpha.getextrema() == (255, 255) else "transparency laid on white"
    return image.convert("RGB"), f"{image.mode} converted" if image.mode in ("CMYK", "LAB") else ""


def _scaled(image: Image.Image) -> tuple[Image.Image, str]:
    """16- and 32-bit greys as 8-bit ones (Pillow's `convert` would cut everything above 255 to white).

    16 bits mean 0–65535. 32-bit integers and floats have no agreed range: the first of 0–1, 0–255 and 0–65535 that
    holds all values, else from the lowest to the highest. NaN and infinities are shown as the lowest.
    """
    values = np.asarray(image)
    if image.mode.startswith("I;16"):
        table = np.rint(np.arange(2**16) / 257).astype(np.uint8)
        return Image.fromarray(table[values]).convert("RGB"), "16-bit scaled to 8-bit"
    known = np.isfinite(values)
    low, high = float(values[known].min()), float(values[known].max())
    if low >= 0 and high <= 65535:
        low, high = 0.0, next(top for top in (1, 255, 65535) if high <= top)
    scale = 255 / max(high - low, 1e-30)
    rows = [  # a few at a time, for float64 takes eight times the memory of the result
        np.rint((np.where(np.isfinite(part), part.astype(np.float64), low) - low) * scale).astype(np.uint8)
        for part in np.array_split(values, math.ceil(len(values) / 64))
    ]
    lost = "" if known.all() else ", missing values shown as the lowest"
    return Image.fromarray(np.vstack(rows)).convert("RGB"), f"32-bit scaled to 8-bit{lost}"
