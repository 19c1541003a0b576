"""The bytes of an image to upright 8-bit RGB: what is refused, and which files are quick to decode for sure."""

import contextlib
import io
import math
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError
from PIL.ExifTags import Base as Tag
from PIL.Image import Resampling

from vizkit.decoding.refusal import SIZE_LIMIT, ImageError, damaged, refuse_size
from vizkit.decoding.tiff import CORNERS, MARKS, UPRIGHT, read_tiff, tones_of

MAX_BYTES = 20 * 2**20  # of the file
MAX_SCANS = 100  # of a JPEG: a progressive photograph has about ten, and each costs a pass over the whole picture
LIGHT_PIXELS, LIGHT_HEADER, LIGHT_MARKERS = 2**26, 2**18, 300  # pixels × scans, bytes and segments of a light JPEG
LIGHT_BYTES, LIGHT_SMALL = 2**16, 2**20  # of a light PNG, and its pixels; a data set may have thousands

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")  # few decoders, few holes: no EPS, PSD, ICNS …
_UNREAD = {  # how others begin, whose names are worth saying
    rb"....ftyp(hei|hev|mif|msf)": "HEIC",
    rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51": "JPEG 2000",
    rb"\0\0\0\x0cJXL |\xff\x0a": "JPEG XL",
    rb"P[1-7Ff]\s": "PNM (PBM, PGM, PPM)",
    rb".{128}DICM": "DICOM",
    rb"\xff\xd8\xff": "A JPEG of 12 bits, a lossless one or one without a whole header",
}
_HUSH = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
# JPEG (ITU T.81, B.1.1): a marker is 0xFF and a code; but 0 means data, 0xFF fills, 1 and 0xD0–0xD7 stand alone.
_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd7\xff])")
_START, _END, _SCAN = 0xD8, 0xD9, 0xDA
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF: codes of all processes, tables left out
_LIGHT_FRAMES = frozenset((0xC0, 0xC1, 0xC2))  # Huffman coding; arithmetic coding is slow


class Work(NamedTuple):
    """What decoding a JPEG takes. `scans` are counted up to one above the limit, `markers` up to 1,000 or so."""

    scans: int
    markers: int
    pixels: int
    header: int
    """Bytes before the first scan."""
    frames: frozenset[int]
    """Codes of the frames: how the image is coded."""


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
        raise ImageError(f"The image is too large: {SIZE_LIMIT}") from None
    except UnidentifiedImageError:
        for beginning, name in _UNREAD.items():
            if re.match(beginning, data, re.DOTALL):
                raise ImageError(f"{name} cannot be read here; save the image as PNG or 8-bit JPEG.") from None
        raise ImageError(f"This is not an image that can be read here; choose one of {', '.join(_FORMATS)}.") from None
    except Exception:  # hostile bytes make decoders raise anything, from SyntaxError to MemoryError
        raise damaged() from None


def _upright(data: bytes, max_side: int) -> tuple[Image.Image, str]:
    if data.startswith(MARKS):
        image, told = read_tiff(data)
    else:
        image, told = Image.open(io.BytesIO(data), formats=_FORMATS), ""  # reads the header only
        refuse_size(*image.size)
    width, height = image.size
    shrink = min(1.0, max_side / max(width, height))
    # libjpeg decodes at 1/2, 1/4 or 1/8, never below the size needed: a large photograph then costs little.
    image.draft(None, (math.ceil(width * shrink), math.ceil(height * shrink)))
    image.load()
    if image.format == "PNG" and "transparency" in image.info:
        _state_key(image, bits=data[24])
    flat, converted = _eight_bits(image)
    flat.thumbnail((max_side, max_side), Resampling.LANCZOS, reducing_gap=3.0)
    turn = _if_readable(lambda: UPRIGHT[image.getexif()[Tag.Orientation]])
    if turn is not None:
        flat = flat.transpose(turn)
        width, height = (height, width) if turn in CORNERS else (width, height)
    count = _if_readable(lambda: getattr(image, "n_frames", 1))
    first = f"first frame of {count}" if _if_readable(lambda: getattr(image, "is_animated", False)) else ""
    turned = "" if turn is None else "turned upright by EXIF"
    shrunk = f"shrunk from {width}×{height}" if shrink < 1 else ""
    profile = image.info.get("icc_profile") or b"sRGB"
    colours = "" if b"sRGB" in profile.replace(b"\0", b"") else "colour profile not applied"
    return flat, ", ".join(filter(None, (told, first, turned, converted, colours, shrunk)))


def _if_readable(question: Callable[[], Any]) -> Any:
    """The answer, or None: missing or corrupt metadata are no reason to refuse an image."""
    with contextlib.suppress(Exception):
        return question()


def _state_key(image: Image.Image, bits: int) -> None:
    """Of a PNG, the colour or grey that is transparent, as the image has it; Pillow gives it in the file's bits."""
    if bits == 16 and image.mode == "RGB":  # read as 8 bits, in which many colours are one
        raise ImageError("This PNG has 16-bit colours, one of them transparent; save it with an alpha channel.")
    if image.mode.startswith("I"):
        clear = np.asarray(image) == image.info["transparency"]
        image.info["transparency"] = Image.fromarray(np.where(clear, 0, 255).astype(np.uint8))
    elif image.mode == "L":
        image.info["transparency"] = int(tones_of(bits)[image.info["transparency"] % 2**bits])


def _eight_bits(image: Image.Image) -> tuple[Image.Image, str]:
    """The image as RGB, and in words what that took."""
    scaled, alpha = "", image.info.get("transparency")
    if image.mode.startswith("I"):  # 16-bit greys; Pillow's `convert` would cut everything above 255 to white
        image, scaled = Image.fromarray(tones_of(16)[np.asarray(image)]), "16-bit scaled to 8-bit"
        if alpha is not None:
            image.putalpha(alpha)
    if image.has_transparency_data:  # an alpha channel, a transparent palette entry or a transparent colour
        image = image.convert("RGBA")
        alpha, white = image.getchannel("A"), Image.new("RGB", image.size, "white")
        white.paste(image, mask=alpha)
        laid = "" if alpha.getextrema() == (255, 255) else "transparency laid on white"
        return white, ", ".join(filter(None, (scaled, laid)))
    return image.convert("RGB"), scaled or (f"{image.mode} converted" if image.mode in ("CMYK", "LAB") else "")
