"""Uploads are shown or refused in one sentence; what a model sees equals timm's transform, and the box says where."""

import io
import pickle
import struct
import subprocess
import sys
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image, PngImagePlugin
from PIL.ImageCms import ImageCmsProfile, createProfile

from tests.drawn import noisy_picture
from vizkit.image import ImageError, Preprocessing, open_image, prepare, read_picture, unprepare

H, W = 60, 90  # of most pictures below


# --- pictures, made here -------------------------------------------------------------------------------------------


def scene(height=H, width=W):
    """No symmetry: red grows to the right, green downwards, blue is a block at the top left."""
    rgb = np.zeros((height, width, 3), np.uint8)
    rgb[..., 0] = np.linspace(0, 255, width)
    rgb[..., 1] = np.linspace(0, 255, height)[:, None]
    rgb[: height // 3, : width // 4, 2] = 255
    return Image.fromarray(rgb)


def ramp(dtype, low, high):
    """A grey ramp from left to right."""
    values = np.linspace(low, high, W).astype(dtype)
    return Image.fromarray(np.broadcast_to(values, (H, W)).copy())


def saved(image, kind="PNG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def frames(kind, count=12, **options):
    steps = [Image.new("RGB", (W, H), (20 * step, 0, 255 - 20 * step)) for step in range(count)]
    return saved(steps[0], kind, save_all=True, append_images=steps[1:], **options)


def with_alpha(mode="RGBA"):
    image = scene().convert(mode)
    image.putalpha(Image.linear_gradient("L").resize((W, H)))
    return image


def chunk(name, body=b""):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width, height, rows=b"", bits=8, colour=2, chunks=(), compressed=None):
    """A PNG by hand, for headers that Pillow would not write."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    pixels = zlib.compress(rows) if compressed is None else compressed
    every = ((b"IHDR", header), *chunks, (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in every)


def bomb_png(side=12_000):
    """About 18 kB that unpack to side × side pixels."""
    squeeze = zlib.compressobj(9)
    row = bytes(1 + (side + 7) // 8)
    body = b"".join(squeeze.compress(row) for _ in range(side)) + squeeze.flush()
    return png(side, side, bits=1, colour=0, compressed=body)


def tiled_tiff(tile=13_312, text=False):
    """A small TIFF whose single tile unpacks to tile × tile bytes, or says that it is "abc" wide and 2³¹ long."""
    squeeze = zlib.compressobj(1)
    pixels = b"".join(squeeze.compress(bytes(tile)) for _ in range(tile)) + squeeze.flush()
    fields = {256: 64, 257: 64, 258: 8, 259: 8, 262: 1, 277: 1, 322: tile, 323: tile, 324: 8, 325: len(pixels)}
    entries = {tag: struct.pack("<HHII", tag, 4, 1, value) for tag, value in fields.items()}
    if text:
        entries[322] = struct.pack("<HHI4s", 322, 2, 4, b"abc")
        entries[323] = struct.pack("<HHII", 323, 4, 1, 2**31)
    directory = struct.pack("<H", len(fields)) + b"".join(entries.values()) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(pixels)) + pixels + directory


def turned(orientation, kind="JPEG", **options):
    """The picture that this EXIF orientation turns back into `scene()`."""
    inverse = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    image = scene()
    image = image.transpose(inverse[orientation]) if orientation in inverse else image
    if kind == "TIFF":
        return saved(image, kind, tiffinfo={274: orientation}, **options)
    exif = Image.Exif()
    exif[274] = orientation
    return saved(image, kind, exif=exif, **options)


def corrupt_exif():
    """Orientation 6, then a tag that points far outside the block."""
    block = b"II*\0" + struct.pack("<IH", 8, 2) + struct.pack("<HHIHH", 274, 3, 1, 6, 0)
    return saved(scene(), "JPEG", exif=b"Exif\0\0" + block + struct.pack("<HHII", 305, 2, 9999, 2**31) + bytes(4))


def long_text():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("comment", "x" * 30_000_000, zip=True)
    return saved(scene(), pnginfo=notes)


def strange_floats():
    values = np.linspace(-3, 800, H * W, dtype=np.float32).reshape(H, W)
    values[0, :3] = np.nan, np.inf, -np.inf
    return saved(Image.fromarray(values), "TIFF")


def paletted(**options):
    return saved(scene().quantize(32), "PNG", **options)


def multi_picture():
    return saved(scene(), "MPO", save_all=True, append_images=[scene()])


SHOWN = (H, W)
DAMAGED, UNREADABLE, LARGE, SMALL, NARROW = "damaged", "not an image", "too large", "too small", "too narrow"

UPLOADS = [  # name, bytes, the size (height, width) it is shown at or a piece of the refusal, a piece of the note
    ("jpeg", lambda: saved(scene(), "JPEG"), SHOWN, ""),
    ("jpeg_grey", lambda: saved(scene().convert("L"), "JPEG"), SHOWN, ""),
    ("jpeg_progressive", lambda: saved(scene(), "JPEG", progressive=True), SHOWN, ""),
    ("jpeg_cmyk", lambda: saved(scene().convert("CMYK"), "JPEG"), SHOWN, "CMYK converted"),
    ("jpeg_large", lambda: saved(scene(4000, 6000), "JPEG"), (1365, 2048), "shrunk from 6000×4000"),
    ("jpeg_truncated", lambda: saved(scene(), "JPEG")[:-400], DAMAGED, ""),
    ("jpeg_header_only", lambda: saved(scene(), "JPEG")[:300], DAMAGED, ""),
    ("jpeg_three_bytes", lambda: b"\xff\xd8\xff", "header", ""),
    ("jpeg_corrupt_exif", corrupt_exif, (W, H), "turned upright"),
    ("jpeg_empty_exif", lambda: saved(scene(), "JPEG", exif=b"Exif\0\0"), SHOWN, ""),
    ("jpeg_nonsense_exif", lambda: saved(scene(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff"), SHOWN, ""),
    ("jpeg_orientation_9", lambda: turned(9), SHOWN, ""),
    ("jpeg_orientation_0", lambda: turned(0), SHOWN, ""),
    ("jpeg_several", multi_picture, SHOWN, "first frame of 2"),
    ("jpeg_then_html", lambda: saved(scene(), "JPEG") + b"<script>alert(1)</script>", SHOWN, ""),
    ("png", lambda: saved(scene()), SHOWN, ""),
    ("png_truncated", lambda: saved(scene())[:-60], DAMAGED, ""),
    ("png_truncated_header", lambda: saved(scene())[:20], DAMAGED, ""),
    ("png_checksum", lambda: saved(scene()).replace(b"IDAT", b"IDAT\1", 1), DAMAGED, ""),
    ("png_16_bit", lambda: saved(ramp(np.uint16, 0, 65535)), SHOWN, "16-bit scaled"),
    ("png_16_bit_rgb", lambda: png(16, 16, (b"\0" + bytes(96)) * 16, bits=16), (16, 16), ""),
    ("png_16_bit_clear", lambda: png(16, 16, (b"\0" + bytes(128)) * 16, bits=16, colour=6), (16, 16), "on white"),
    ("png_1_bit", lambda: saved(scene().convert("1")), SHOWN, ""),
    ("png_palette", paletted, SHOWN, ""),
    ("png_palette_clear", lambda: paletted(transparency=0), SHOWN, "on white"),
    ("png_palette_alphas", lambda: paletted(transparency=bytes(range(0, 256, 8))), SHOWN, "on white"),
    ("png_clear_colour", lambda: saved(scene(), transparency=(0, 0, 255)), SHOWN, "on white"),
    ("png_alpha", lambda: saved(with_alpha()), SHOWN, "on white"),
    ("png_grey_alpha", lambda: saved(with_alpha("L")), SHOWN, "on white"),
    ("png_alpha_opaque", lambda: saved(scene().convert("RGBA")), SHOWN, ""),
    ("png_animated", lambda: frames("PNG"), SHOWN, "first frame of 12"),
    ("png_long_text", long_text, DAMAGED, ""),
    ("png_bomb", bomb_png, LARGE, ""),
    ("png_bomb_greater", lambda: png(60_000, 60_000), LARGE, ""),
    ("png_two_billion", lambda: png(2**31 - 1, 2**31 - 1), LARGE, ""),
    ("png_zero_width", lambda: png(0, 10), UNREADABLE, ""),
    ("png_zero_both", lambda: png(0, 0), UNREADABLE, ""),
    ("png_no_pixels", lambda: png(32, 32), DAMAGED, ""),
    ("png_8_by_8", lambda: saved(scene(8, 8)), (8, 8), ""),
    ("png_7_by_20", lambda: saved(scene(7, 20)), SMALL, ""),
    ("png_one_pixel", lambda: saved(Image.new("RGB", (1, 1))), SMALL, ""),
    ("png_strip", lambda: saved(Image.new("L", (16_000, 9))), NARROW, ""),
    ("png_20_to_1", lambda: saved(Image.new("L", (200, 10))), (10, 200), ""),
    ("png_21_to_1", lambda: saved(Image.new("L", (10, 210))), NARROW, ""),
    ("png_long_side", lambda: saved(Image.new("1", (16_385, 900))), LARGE, ""),
    ("png_bad_animation", lambda: png(16, 16, bytes(49 * 16), chunks=[(b"acTL", bytes(8))]), (16, 16), ""),
    ("gif", lambda: saved(scene(), "GIF"), SHOWN, ""),
    ("gif_animated", lambda: frames("GIF"), SHOWN, "first frame of 12"),
    ("gif_clear", lambda: saved(scene().quantize(16), "GIF", transparency=3), SHOWN, "on white"),
    ("gif_broken_in_frame_2", lambda: frames("GIF")[:1200], SHOWN, "first frame of 8"),
    ("gif_header_only", lambda: saved(scene(), "GIF")[:13], UNREADABLE, ""),
    ("gif_huge_frame", lambda: b"GIF89a\x10\0\x10\0\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\2\0;", LARGE, ""),
    ("webp", lambda: saved(scene(), "WEBP"), SHOWN, ""),
    ("webp_alpha", lambda: saved(with_alpha(), "WEBP"), SHOWN, "on white"),
    ("webp_animated", lambda: frames("WEBP"), SHOWN, "first frame of 12"),
    ("webp_truncated", lambda: saved(scene(), "WEBP", lossless=True)[:-40], DAMAGED, ""),
    ("avif", lambda: saved(scene(), "AVIF", speed=10), SHOWN, ""),
    ("avif_truncated", lambda: saved(scene(), "AVIF", speed=10)[:-80], DAMAGED, ""),
    ("bmp", lambda: saved(scene(), "BMP"), SHOWN, ""),
    ("bmp_truncated", lambda: saved(scene(), "BMP")[:-500], DAMAGED, ""),
    (
        "bmp_lying",
        lambda: b"BM" + bytes(12) + struct.pack("<IiiHHIIiiII", 40, 40_000, 40_000, 1, 24, *[0] * 6),
        LARGE,
        "",
    ),
    ("tiff", lambda: saved(scene(), "TIFF"), SHOWN, ""),
    ("tiff_lzw", lambda: saved(scene(), "TIFF", compression="tiff_lzw"), SHOWN, ""),
    ("tiff_cmyk", lambda: saved(scene().convert("CMYK"), "TIFF"), SHOWN, "CMYK converted"),
    ("tiff_lab", lambda: saved(scene().convert("LAB"), "TIFF"), SHOWN, "LAB converted"),
    ("tiff_16_bit", lambda: saved(ramp(np.uint16, 0, 65535), "TIFF"), SHOWN, "16-bit scaled"),
    ("tiff_32_bit", lambda: saved(ramp(np.int32, -(2**31), 2**31 - 1), "TIFF"), SHOWN, "32-bit scaled"),
    ("tiff_float", lambda: saved(ramp(np.float32, 0, 1), "TIFF"), SHOWN, "32-bit scaled"),
    ("tiff_float_greatest", lambda: saved(ramp(np.float32, -3e38, 3e38), "TIFF"), SHOWN, "32-bit scaled"),
    ("tiff_float_constant", lambda: saved(ramp(np.float32, -1e-40, -1e-40), "TIFF"), SHOWN, "32-bit scaled"),
    ("tiff_float_strange", strange_floats, SHOWN, "missing values"),
    ("tiff_float_nan", lambda: saved(ramp(np.float32, np.nan, np.nan), "TIFF"), DAMAGED, ""),
    ("tiff_pages", lambda: frames("TIFF"), SHOWN, "first frame of several"),
    ("tiff_big_tile", tiled_tiff, LARGE, ""),
    ("tiff_tile_of_text", lambda: tiled_tiff(64, text=True), DAMAGED, ""),
    ("tiff_truncated", lambda: saved(scene(), "TIFF", compression="tiff_deflate")[:-300], DAMAGED, ""),
    ("tiff_header_only", lambda: b"II*\0\x08\0\0\0", DAMAGED, ""),
    ("heic", lambda: b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(500), "HEIC", ""),
    ("video", lambda: b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + bytes(500), UNREADABLE, ""),
    ("svg", lambda: b"<svg xmlns='http://www.w3.org/2000/svg' width='90' height='60'/>", UNREADABLE, ""),
    ("html", lambda: b"<!doctype html><script>alert(1)</script>", UNREADABLE, ""),
    ("text", lambda: "größe:\n\tsechzig\n".encode() * 20, UNREADABLE, ""),
    ("pdf", lambda: b"%PDF-1.7\n1 0 obj << >> endobj", UNREADABLE, ""),
    ("postscript", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 90 60\nshowpage", UNREADABLE, ""),
    ("psd", lambda: b"8BPS\0\1" + bytes(400), UNREADABLE, ""),
    ("ppm", lambda: saved(scene(), "PPM"), "PNM", ""),
    ("pgm_12_bit", lambda: b"P5 16 16 4095\n" + bytes(512), "PNM", ""),
    ("jpeg_2000", lambda: saved(scene(), "JPEG2000"), "JPEG 2000", ""),
    ("jpeg_2000_stream", lambda: saved(scene(), "JPEG2000", no_jp2=True), "JPEG 2000", ""),
    (
        "jpeg_12_bit",
        lambda: saved(scene(), "JPEG").replace(b"\xff\xc0\0\x11\x08", b"\xff\xc0\0\x11\x0c"),
        "12 bits",
        "",
    ),
    ("dicom", lambda: bytes(128) + b"DICM" + bytes(400), "DICOM", ""),
    ("icon", lambda: saved(scene(), "ICO"), UNREADABLE, ""),
    ("zip", lambda: b"PK\3\4" + bytes(400), UNREADABLE, ""),
    ("empty", lambda: b"", "empty", ""),
    ("zeros", lambda: bytes(5000), UNREADABLE, ""),
    ("random", lambda: np.random.default_rng(0).bytes(5000), UNREADABLE, ""),
    ("too_many_bytes", lambda: saved(scene()) + bytes(21 * 2**20), "20 MiB", ""),
]


# --- reading -------------------------------------------------------------------------------------------------------


def outcome(upload):
    try:
        picture = read_picture(upload)
    except ImageError as error:
        return str(error)
    return picture.digest, picture.note, picture.rgb.shape


@pytest.mark.parametrize("make, expected, note", [u[1:] for u in UPLOADS], ids=[u[0] for u in UPLOADS])
def test_upload_is_shown_or_refused_in_one_sentence(make, expected, note):
    if isinstance(expected, str):
        with pytest.raises(ImageError, match=expected) as caught:
            read_picture(make())
        sentence = str(caught.value)
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert len(sentence) <= 200
        assert len(sentence.splitlines()) == 1
        assert not any(trace in sentence for trace in ("/", "Traceback", "Error", "PIL", "0x"))
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        return
    picture = read_picture(make())
    assert picture.rgb.dtype == np.uint8
    assert picture.rgb.shape == (*expected, 3)
    assert not picture.rgb.flags.writeable
    assert note in picture.note
    assert note or not picture.note


@pytest.mark.rest
def test_hostile_uploads_cost_little_memory(tmp_path):
    """Peak resident memory (VmHWM) of a process that reads them all, above what it held before the first.

    Not `ru_maxrss`, which a child inherits from its parent across exec, nor tracemalloc, which does not see what the
    decoders allocate. Opened naively, the 12,000 × 12,000 bomb alone costs over 400 MB.
    """
    (tmp_path / "uploads").write_bytes(pickle.dumps([make() for _, make, _, _ in UPLOADS]))
    script = """
import pathlib, pickle, sys
from vizkit.image import ImageError, read_picture
uploads = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
def peak():
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
before = peak()
for upload in uploads:
    try:
        read_picture(upload)
    except ImageError:
        pass
print(peak() - before)
"""
    if not Path("/proc/self/status").exists():
        pytest.skip("no VmHWM on this system")
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "uploads")]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert run.stderr == ""
    assert int(run.stdout) < 150


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_ends_upright(orientation, kind):
    options = {
        "WEBP": {"lossless": True},
        "JPEG": {"quality": 98, "subsampling": 0},
        "AVIF": {"quality": 100, "speed": 10},
    }.get(kind, {})
    picture = read_picture(turned(orientation, kind, **options))
    assert picture.rgb.shape == (H, W, 3)
    assert np.abs(picture.rgb.astype(int) - np.asarray(scene())).mean() < 2
    # The orientation of a TIFF is part of the format, no EXIF; Pillow has applied it without a word.
    assert picture.note == ("turned upright by EXIF" if orientation > 1 and kind != "TIFF" else "")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "TIFF"])
def test_colour_profiles_are_named_where_they_say_something(kind):
    """The pixels stay as they are, which is what timm and torchvision give a model."""
    plain, srgb, other = (
        read_picture(saved(scene(), kind, icc_profile=profile))
        for profile in (None, ImageCmsProfile(createProfile("sRGB")).tobytes(), bytes(128) + "P3".encode("utf-16"))
    )
    assert (plain.note, srgb.note, other.note) == ("", "", "colour profile not applied")
    assert plain.digest == srgb.digest == other.digest


def test_note_gives_the_upright_size():
    exif = Image.Exif()
    exif[274] = 6
    picture = read_picture(saved(scene(300, 600), "JPEG", exif=exif), max_side=100)
    assert picture.rgb.shape == (100, 50, 3)
    assert picture.note == "turned upright by EXIF, shrunk from 300×600"


@pytest.mark.parametrize(
    "dtype, low, high",
    [
        (np.uint16, 0, 65535),
        (np.int32, 0, 65535),
        (np.int32, -70_000, 900_000),
        (np.float32, 0, 1),
        (np.float32, 0, 255),
    ],
)
def test_deep_greys_keep_their_gradient(dtype, low, high):
    upload = saved(ramp(dtype, low, high), "TIFF")
    row = read_picture(upload).rgb[0, :, 0].astype(int)
    assert np.abs(row - np.linspace(0, 255, W)).max() <= 1


def test_dark_16_bit_is_not_brightened():
    assert read_picture(saved(ramp(np.uint16, 0, 257 * 50))).rgb.max() == 50


def test_transparency_lies_on_white():
    image = scene().convert("RGBA")
    image.putalpha(Image.fromarray(np.repeat([[0], [128], [255]], 20, axis=0).astype(np.uint8).repeat(W, axis=1)))
    rgb = read_picture(saved(image)).rgb.astype(float)
    colour = np.asarray(scene(), float)
    assert (rgb[:20] == 255).all()
    assert np.abs(rgb[20:40] - (colour[20:40] * 128 + 255 * 127) / 255).max() <= 1
    assert (rgb[40:] == colour[40:]).all()


def test_digest_names_pixels_and_shape():
    flat = np.zeros((20, 30, 3), np.uint8)
    wide, high = (
        read_picture(saved(Image.fromarray(flat))),
        read_picture(saved(Image.fromarray(flat.reshape(30, 20, 3)))),
    )
    assert wide.digest == read_picture(saved(Image.fromarray(flat), "BMP")).digest  # same pixels, another file
    assert wide.digest != high.digest


def test_open_image_takes_paths_and_bytes(tmp_path):
    path = tmp_path / "scène.txt"  # the name says nothing
    path.write_bytes(saved(scene()))
    for source in (path, str(path), path.read_bytes()):
        assert_array_equal(open_image(source), np.asarray(scene()))


def test_open_image_refuses_what_is_no_file(tmp_path):
    locked = tmp_path / "locked.png"
    locked.write_bytes(b"")
    for source in (tmp_path, tmp_path / "missing.png", "", "nul\0byte", "/dev/zero", "x" * 5000, locked):
        with pytest.raises(ImageError) as caught:
            open_image(source)
        assert str(tmp_path) not in str(caught.value)


def test_open_image_refuses_what_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    path.write_bytes(saved(scene()))

    def forbidden(*_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", forbidden)  # a chmod does not stop the root of a container
    with pytest.raises(ImageError, match=r"cannot be read; check that you may open it\.$"):
        open_image(path)


def test_eight_threads_read_what_one_reads():
    uploads = [make() for name, make, _, _ in UPLOADS[2::3] if name != "png_long_text"] * 3
    alone = [outcome(upload) for upload in uploads]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(outcome, uploads))
    assert together == alone


def test_reading_leaves_the_warnings_of_others_alone():
    read_picture(corrupt_exif())
    before = list(warnings.filters)
    read_picture(corrupt_exif())
    assert list(warnings.filters) == before
    with pytest.raises(UserWarning, match="mine"):
        warnings.warn("mine", UserWarning, stacklevel=1)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=400), st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"II*\0", b"BM"])
)
def test_random_bytes_never_raise_anything_else(tail, head):
    outcome(head + tail)


SEEDS = [
    saved(scene(24, 32)),
    turned(6),
    corrupt_exif(),
    frames("GIF", 3),
    frames("TIFF", 2),
    saved(scene(24, 32), "TIFF", compression="tiff_lzw"),
    saved(with_alpha(), "WEBP"),
]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=8))
def test_flipped_bytes_never_raise_anything_else(seed, flips):
    broken = bytearray(seed)
    for place, change in flips:
        # Every second flip strikes the first 200 bytes, where the headers are.
        broken[place % (len(seed) if place % 2 else min(200, len(seed)))] ^= change
    outcome(bytes(broken))


# --- preparing -----------------------------------------------------------------------------------------------------

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PICTURES = [(60, 90), (90, 60), (64, 64), (31, 47), (301, 203), (20, 200), (333, 500)]
INPUTS = [(64, 64), (96, 64), (48, 80)]


def textured(height, width):
    return noisy_picture(height, width, seed=height * width)


def config(size_hw, channels=3, **options):
    options = {"interpolation": "bicubic", "crop_pct": 0.9, "crop_mode": "center"} | options
    return {"input_size": (channels, *size_hw), "mean": MEAN[:channels], "std": STD[:channels], **options}


def timm_transform(given_config, rgb):
    from timm.data import create_transform

    image = Image.fromarray(rgb).convert("RGB" if given_config["input_size"][0] == 3 else "L")
    return create_transform(**given_config, is_training=False)(image).numpy()


@pytest.mark.product
@pytest.mark.parametrize("crop_mode", ["center", "squash", "border"])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size_hw", INPUTS, ids=str)
def test_prepare_equals_timm(size_hw, interpolation, crop_mode):
    for picture in PICTURES:
        for crop_pct in (0.875, 1.0, 1.15):  # timm has one model that pads: 1.15
            given_config = config(size_hw, crop_mode=crop_mode, interpolation=interpolation, crop_pct=crop_pct)
            pixels, _ = prepare(textured(*picture), Preprocessing.from_config(given_config))
            assert np.abs(pixels - timm_transform(given_config, textured(*picture))).max() <= 1e-6


@pytest.mark.parametrize("crop_mode", ["center", "squash", "border"])
def test_prepare_pads_as_timm_does(crop_mode):
    """Sizes at which the resized picture is smaller than the input by an odd and an even number of pixels."""
    for picture in [(8, 160), (160, 8), (9, 170), (64, 65), (65, 64), (1000, 51)]:
        for size_hw in [(64, 64), (63, 64), (128, 64), (256, 128)]:
            given_config = config(size_hw, crop_mode=crop_mode, crop_pct=1.0)
            pixels, _ = prepare(textured(*picture), Preprocessing.from_config(given_config))
            assert np.abs(pixels - timm_transform(given_config, textured(*picture))).max() <= 1e-6


def test_one_channel_is_luminance():
    given_config = config((32, 32), channels=1)
    pixels, _ = prepare(textured(60, 90), Preprocessing.from_config(given_config))
    assert pixels.shape == (1, 32, 32)
    assert np.abs(pixels - timm_transform(given_config, textured(60, 90))).max() <= 1e-6


def test_every_pretrained_configuration_of_timm_is_understood():
    import timm
    from timm.data import resolve_data_config

    for name in timm.list_models(pretrained=True):
        given_config = resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(name).to_dict())
        if given_config["input_size"][0] == 3:
            Preprocessing.from_config(given_config)


@pytest.mark.parametrize("crop_mode", ["center", "squash", "border"])
@pytest.mark.parametrize("size_hw", [(224, 224), (256, 128), (96, 160)], ids=str)
@pytest.mark.parametrize("picture", [(200, 250), (250, 120), (255, 255)], ids=str)
def test_box_says_where_the_pixels_come_from(picture, size_hw, crop_mode):
    """Red is written as the x of each pixel's centre, green as the y; the model's pixels are compared with the box."""
    height, width = picture
    rgb = np.zeros((height, width, 3), np.uint8)
    rgb[..., 0], rgb[..., 1] = np.arange(width), np.arange(height)[:, None]
    preprocessing = Preprocessing(size_hw, (0.0,) * 3, (1.0,) * 3, 0.9, crop_mode, "bilinear")
    pixels, (x0, y0, x1, y1) = prepare(rgb, preprocessing)
    for channel, start, stop, length in ((0, x0, x1, width), (1, y0, y1, height)):
        count = size_hw[1 - channel]
        lines = pixels[channel] * 255
        seen = lines[size_hw[0] // 2] if channel == 0 else lines[:, size_hw[1] // 2]
        centres = start + (np.arange(count) + 0.5) * (stop - start) / count - 0.5  # pixel i has its centre at i + ½
        inside = (centres > 2) & (centres < length - 3)  # interpolation bends the ramp at the picture's edge
        assert inside.sum() > count // 4
        assert np.abs(seen - centres)[inside].max() < 0.51 + 1e-6  # half a step of uint8
        assert abs(np.mean((seen - centres)[inside])) < 0.1
        assert (start < 0) == (stop > length)  # centred: padded on both sides or on neither


def test_box_of_the_textbook_case():
    _, box = prepare(textured(300, 600), Preprocessing((224, 224), MEAN, STD, crop_pct=1.0))
    assert_allclose(box, (150, 0, 450, 300))
    _, box = prepare(textured(300, 600), Preprocessing((224, 224), MEAN, STD, 1.0, "border"))
    assert_allclose(box, (0, -150, 600, 450))
    _, box = prepare(textured(300, 600), Preprocessing((224, 224), MEAN, STD, 1.0, "squash"))
    assert_allclose(box, (0, 0, 600, 300))


def test_unprepare_undoes_the_normalisation():
    rgb = textured(64, 64)
    preprocessing = Preprocessing((64, 64), MEAN, STD, crop_pct=1.0)
    assert_array_equal(unprepare(prepare(rgb, preprocessing)[0], preprocessing), rgb)
    grey = Preprocessing((64, 64), (0.5,), (0.5,), crop_pct=1.0, channels=1)
    expected = np.asarray(Image.fromarray(rgb).convert("L").convert("RGB"))
    assert_array_equal(unprepare(prepare(rgb, grey)[0], grey), expected)


def test_a_strip_that_rounds_to_nothing_keeps_one_line():
    pixels, _ = prepare(textured(8, 160), Preprocessing((8, 8), MEAN, STD, 1.0, "border"))
    assert np.isfinite(pixels).all()


def test_prepare_takes_a_read_only_picture_and_leaves_it():
    rgb = read_picture(saved(scene())).rgb
    pixels, _ = prepare(rgb, Preprocessing((32, 32), MEAN, STD))
    assert pixels.flags.c_contiguous
    assert pixels.flags.writeable
    assert_array_equal(rgb, np.asarray(scene()))


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"input_size": (4, 64, 64)}, "channels"),
        ({"input_size": (3, 0, 64)}, "sides"),
        ({"input_size": (3, 64, 10**9)}, "sides"),
        ({"input_size": (3, 64)}, "input_size"),
        ({"input_size": None}, "input_size"),
        ({"input_size": (3, float("inf"), 64)}, "input_size"),
        ({"mean": (0.5,)}, "3 means"),
        ({"mean": 0.5}, "mean"),
        ({"mean": "abc"}, "mean"),
        ({"mean": (0.5, 0.5, float("nan"))}, "finite"),
        ({"mean": (), "std": ()}, "3 means"),
        ({"mean": (0.5, 0.5, 1e300)}, "finite"),
        ({"std": (0.5, 0.5, 0.0)}, "deviations > 0"),
        ({"std": (0.5, 0.5, -1.0)}, "deviations > 0"),
        ({"crop_pct": 1e-9}, "crop_pct"),
        ({"crop_pct": -1}, "crop_pct"),
        ({"crop_pct": float("nan")}, "crop_pct"),
        ({"crop_mode": "middle"}, "crop_mode"),
        ({"interpolation": "cubist"}, "interpolation"),
    ],
)
def test_nonsense_configurations_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Preprocessing.from_config(config((64, 64)) | change)


def test_configuration_defaults():
    bare = {"input_size": [3, 32, 48], "mean": [0.5] * 3, "std": [0.5] * 3, "crop_mode": None}
    assert Preprocessing.from_config(bare) == Preprocessing((32, 48), (0.5,) * 3, (0.5,) * 3)
    assert Preprocessing.from_config(bare | {"interpolation": "random"}).interpolation == "bilinear"
    with pytest.raises(ValueError, match="'mean'"):
        Preprocessing.from_config({"input_size": (3, 32, 32)})
