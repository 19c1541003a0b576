"""PNG of every depth and colour type, transparent colours among them, written by hand (PNG 3, 11.2 and 11.3.2)."""

import struct

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.images.test_image import png
from vizkit.decoding import ImageError, decode

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of colour types: grey, RGB, palette, grey and RGB with alpha
KINDS = [
    *((0, bits, key) for bits in (1, 2, 4, 8, 16) for key in (False, True)),
    *(
        (colour, bits, key)
        for colour in (2, 4, 6)
        for bits in (8, 16)
        for key in (False, True)
        if colour == 2 or not key
    ),
    *((3, bits, key) for bits in (1, 2, 4, 8) for key in (False, True)),
]


def stated(values, bits, colour, *chunks):
    if bits == 16:
        rows = values.astype(">u2").reshape(len(values), -1).view(np.uint8)
    else:
        digits = (values[..., None] >> np.arange(bits - 1, -1, -1)) & 1
        rows = np.packbits(digits.reshape(len(values), -1).astype(np.uint8), axis=1)
    return png(values.shape[1], len(values), np.pad(rows, ((0, 0), (1, 0))).tobytes(), bits, colour, chunks)


@pytest.mark.parametrize("colour, bits, key", KINDS)
def test_png_equals_what_it_states(colour, bits, key):
    rng = np.random.default_rng(bits)
    top, colours = 2**bits - 1, 3 if colour in (2, 6) else 1
    values = rng.integers(0, 2**bits, (16, 24, CHANNELS[colour]))
    values[:8, :8] = values[8, 8] = np.maximum(values[8, 8], 1)  # of which the transparent colour is one
    chunks, alpha = [(b"gAMA", struct.pack(">I", 100_000))], np.ones((16, 24, 1))  # that nothing applies
    rgb = 255 * np.broadcast_to(values[..., :colours] / top, (16, 24, 3))
    if colour == 3:
        palette, opacity = rng.integers(0, 256, (top + 1, 3)), rng.integers(0, 256, top + 1)
        chunks.append((b"PLTE", palette.astype(np.uint8).tobytes()))
        rgb = palette[values[..., 0]]
        if key:
            chunks.append((b"tRNS", opacity.astype(np.uint8).tobytes()))
            alpha = opacity[values] / 255
    elif key:
        chunks.append((b"tRNS", values[8, 8].astype(">u2").tobytes()))
        alpha = 1.0 - (values == values[8, 8]).all(axis=2, keepdims=True)
    elif colour > 3:
        alpha = values[..., colours:] / top
    data = stated(values, bits, colour, *chunks)
    if (colour, bits, key) == (2, 16, True):
        with pytest.raises(
            ImageError, match=r"16-bit colours, one of them transparent; save it with an alpha channel\."
        ):
            decode(data, 64)
        return
    shown, note = decode(data, 64)
    assert_allclose(shown, rgb * alpha + 255 * (1 - alpha), atol=2 if colour > 3 else 1 + 1e-9)
    assert ("transparency laid on white" in note) == (alpha < 1).any()
    assert ("16-bit scaled" in note) == (bits == 16 and colour == 0)
