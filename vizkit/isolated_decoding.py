"""Pictures that may be slow to decode, or made to be: in processes of their own, see `isolated`."""

import struct

import numpy as np
from PIL import AvifImagePlugin

from vizkit.decoding import ImageError, damaged, decode
from vizkit.isolated import EndedError, Pool, RefusedError

CPU_S = 2.5  # of the processor
PLACES = 4  # decoders, for all sessions together

_SIDE = struct.Struct("<I")  # the longest; then the file
_PICTURE = struct.Struct("<IIH")  # rows, columns, bytes of text; then the text and the pixels


class BusyError(ImageError):
    """There was no place to decode a picture; it may well be read at another moment."""


DECODERS = Pool(__name__, PLACES, BusyError)


def decode_isolated(data: bytes, max_side: int) -> tuple[np.ndarray, str]:
    """As `decoding.decode`, within limits. Raises ImageError, BusyError when all decoders are taken."""
    try:
        with DECODERS.worker() as decoder:
            found = decoder.ask(_SIDE.pack(max_side), data, seconds=CPU_S)
    except RefusedError as error:
        raise ImageError(str(error)) from None
    except EndedError as end:
        raise (_too_slow() if end.late else damaged()) from None
    rows, columns, words = _PICTURE.unpack_from(found)
    start = _PICTURE.size + words
    return np.frombuffer(found, np.uint8, offset=start).reshape(rows, columns, 3), found[_PICTURE.size : start].decode()


def _too_slow() -> ImageError:
    return ImageError(f"Decoding the image takes more than {CPU_S} seconds; save a smaller copy as JPEG.")


def answer(question: bytes) -> bytes:
    """In the process of a decoder."""
    AvifImagePlugin.DEFAULT_MAX_THREADS = 2  # the stacks of one for each core would fill the memory
    try:
        rgb, text = decode(question[_SIDE.size :], *_SIDE.unpack_from(question))
    except ImageError as error:
        raise RefusedError(str(error)) from None
    words = text.encode()
    return b"".join((_PICTURE.pack(*rgb.shape[:2], len(words)), words, rgb.tobytes()))
