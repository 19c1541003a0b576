"""Every kind of TIFF equals what it means by the specification, written here by hand, or is refused by its name."""

import itertools
import struct

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.testing.tiff import (
    FORMAT,
    PHOTOMETRIC,
    UNASSOCIATED,
    UNSPECIFIED,
    Kind,
    kinds,
    meaning,
    outcome,
    samples,
    written,
)
from vizkit.decoding import ImageError, decode

ALWAYS_SHOWN = {0: (1, 4, 8, 12, 16), 1: (1, 4, 8, 12, 16), 2: (8, 12, 16), 3: (1, 4, 8), 5: (8, 16)}


def refusal(data):
    with pytest.raises(ImageError) as caught:
        decode(data, 2048)
    return str(caught.value)


@pytest.mark.product
@pytest.mark.parametrize("photometric, bits", list(itertools.product(PHOTOMETRIC, (1, 4, 8, 12, 16, 24, 32, 64))))
def test_kind_equals_its_meaning_or_is_refused_by_name(photometric, bits):
    for sample_format in FORMAT:
        for kind in kinds(photometric, bits, sample_format):
            what = outcome(kind)
            named = what.startswith(f"This TIFF has {kind.bands} band") and f"{bits}-bit" in what and "; save " in what
            assert what == "equal" or named, kind
            plain = not kind.extra and sample_format in (1, 4)
            assert what == "equal" or not plain or bits not in ALWAYS_SHOWN.get(photometric, ()), kind


@pytest.mark.parametrize("predictor", [1, 2, 3])
@pytest.mark.parametrize("photometric, bits, sample_format", [(2, 16, 1), (0, 32, 3), (1, 8, 1), (1, 64, 3)])
def test_tiles_predictors_and_large_files(photometric, bits, sample_format, predictor):
    """BigTIFF × tiles × order of bytes × planes; a predictor takes the neighbour away before compression."""
    if predictor == 3 and sample_format != 3:
        pytest.skip("of floats only")
    for order, planar, tiled, big in itertools.product("<>", (1, 2), (False, True), (False, True)):
        way = {"order": order, "planar": planar, "tiled": tiled, "big": big, "deflated": True, "predictor": predictor}
        assert outcome(Kind(photometric, bits, sample_format, **way)) == "equal", way


@pytest.mark.parametrize("high", [1.0, 0.5, 200.0, 60_000.0, 1e300])
def test_floats_say_which_range_is_shown(high):
    values = np.linspace(0, high, 20 * 26).reshape(20, 26, 1)
    rgb, note = decode(written(Kind(1, 64, 3), values), 64)
    top = next((top for top in (1, 255, 65535) if high <= top), high)
    assert note == f"64-bit scaled to 8-bit, 0 black and {top:g} white"
    assert_allclose(rgb[..., 0], values[..., 0] / top * 255, atol=0.501)
    light, note = decode(written(Kind(0, 64, 3), values), 64)
    assert note == f"64-bit scaled to 8-bit, {top:g} black and 0 white"
    assert (light == 255 - rgb).all()


def test_bands_that_are_left_out_are_named():
    for extra, words in (((UNSPECIFIED,), "band 4"), ((UNASSOCIATED, UNSPECIFIED, UNSPECIFIED), "band 5 and 6")):
        kind = Kind(2, 16, extra=extra)
        assert f"{words} left out, 16-bit scaled to 8-bit" in decode(written(kind, samples(kind)), 64)[1]
    kind = Kind(1, 16, extra=(UNSPECIFIED,) * 4)
    words = "This TIFF has 5 bands of 16-bit unsigned integers (min-is-black, compression 1); save one band as grey"
    assert refusal(written(kind, samples(kind))).startswith(words)
    kind = Kind(2, 32, 3)
    assert "3 bands of 32-bit floats (RGB" in refusal(written(kind, samples(kind)))


def test_chroma_for_every_two_by_two_pixels():
    """The default of YCbCr where nothing is said: four lumas, then the chroma of all four; 20 rows, one strip."""
    rng = np.random.default_rng(0)
    luma, chroma = rng.integers(0, 256, (20, 26, 1)), rng.integers(90, 160, (10, 13, 2))
    whole = np.concatenate((luma, chroma.repeat(2, 0).repeat(2, 1)), axis=2)
    units = np.concatenate((luma.reshape(10, 2, 13, 2).swapaxes(1, 2).reshape(10, 13, 4), chroma), axis=2)
    kind = Kind(6)
    data = written(kind, whole, t273=[8], t278=[20], t279=[units.size], t530=None)
    rgb = decode(data[:8] + units.astype(np.uint8).tobytes() + data[8 + units.size :], 64)[0]
    expected = meaning(kind, whole)
    assert expected is not None
    assert_allclose(rgb, expected, atol=1)


def test_palettes_of_eight_bits_are_not_black():
    """Writers that mistook the 16 bits of a palette for 8 are known; libtiff understands them too."""
    kind = Kind(3, 8)
    values, tones = samples(kind), list(range(256))
    rgb, _ = decode(written(kind, values, t320=[*tones, *tones[::-1], *tones]), 64)
    assert (rgb[..., 1] == 255 - values[..., 0]).all()


@pytest.mark.parametrize(
    "kind, fields, words",
    [
        (Kind(5), {"t332": [2]}, "4 bands of 8-bit unsigned integers (CMYK"),  # inks of other colours
        (Kind(2), {"t258": [5, 6, 5]}, "3 bands of 5 and 6-bit"),
        (Kind(2), {"t339": [1, 1, 3]}, "3 bands of 8-bit"),
        (Kind(1, 16, 5), {}, "1 band of 16-bit numbers"),  # complex
        (Kind(8, deflated=True), {"t259": [7]}, "(CIELab, compression 7)"),
        (Kind(1), {"t259": [34712]}, "compression 34712"),
        (Kind(1), {"t277": [5]}, "5 bands"),
        (Kind(1), {"t273": None}, "damaged"),
        (Kind(1), {"t273": [8, 190]}, "damaged"),  # of three strips
        (Kind(2, planar=2), {"t273": [8] * 7}, "damaged"),
        (Kind(1), {"t278": [0]}, "damaged"),
        (Kind(1, deflated=True), {"t279": [5, 5, 5]}, "damaged"),
        (Kind(1), {"t273": [8, 8, 60_000]}, "damaged"),
        (Kind(3), {"t320": [0] * 30}, "(palette"),
        (Kind(3), {"t320": None}, "(palette"),
        (Kind(1, tiled=True), {"t322": None}, "damaged"),
        (Kind(1, tiled=True), {"t323": [0]}, "damaged"),
        (Kind(1), {"t256": None}, "damaged"),
        (Kind(1), {"t256": [0]}, "too small"),
        (Kind(1), {"t256": [65_535], "t257": [65_535]}, "too large"),
        (Kind(1, tiled=True), {"t322": [65_520], "t323": [65_520]}, "too large"),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused(kind, fields, words):
    values = samples(Kind(kind.photometric, kind.bits))
    assert words in refusal(written(kind, values, **fields))


def test_directories_that_lead_nowhere_or_round():
    data = written(Kind(1), samples(Kind(1)))
    start = struct.unpack_from("<I", data, 4)[0]
    entries = struct.unpack_from("<H", data, start)[0]
    end = start + 2 + 12 * entries
    for following in (start, 2**32 - 1, 4):
        looped = data[:end] + struct.pack("<I", following) + data[end + 4 :]
        assert decode(looped, 64)[1] == "first frame of several"
    for wrong in (0, len(data) - 1, 2**32 - 1):
        assert "damaged" in refusal(data[:4] + struct.pack("<I", wrong) + data[8:])
    assert "damaged" in refusal(data[:start] + b"\xff\xff" + data[start + 2 :])


def test_ten_thousand_strips():
    values = np.frombuffer(np.random.default_rng(0).bytes(5_000_000), np.uint8).reshape(10_000, 500, 1)
    rgb, _ = decode(written(Kind(1), values, rows=1), 16_384)
    assert (rgb == values).all()
