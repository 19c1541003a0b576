"""TIFF as a file states it: any depth, order of bytes, planes, bands and meaning of samples (TIFF 6.0, BigTIFF).

Pillow takes some kinds for others and has no word for those that its table lacks. So libtiff only unpacks the bytes
of samples, as though they were 8-bit greys, and what they mean is read here. Where they are no samples (JPEG, fax,
YCbCr), Pillow reads 1 or 8 bits.
"""

import io
import math
import struct
from collections.abc import Iterator

import numpy as np
from PIL import Image, TiffImagePlugin, UnidentifiedImageError
from PIL.ExifTags import Base as Tag
from PIL.Image import Transpose

from vizkit.decoding.refusal import ImageError, damaged, refuse_size

MARKS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # the last two are BigTIFF's
CORNERS = (Transpose.TRANSPOSE, Transpose.ROTATE_270, Transpose.TRANSVERSE, Transpose.ROTATE_90)  # orientations 5 … 8
UPRIGHT = dict(enumerate((Transpose.FLIP_LEFT_RIGHT, Transpose.ROTATE_180, Transpose.FLIP_TOP_BOTTOM, *CORNERS), 2))
CHUNK_ROWS = 64  # at a time, for numbers on their way take several times the memory of the result

_WHOLE = {1: "u1", 3: "u2", 4: "u4", 7: "u1", 13: "u4", 16: "u8", 18: "u8"}  # types of fields: of whole numbers, bytes
_PREDICTED = (5, 8, 32946, 34925, 50000)  # compressions: LZW, deflate with two codes, LZMA, Zstandard
_PLAIN = (1, 32773, *_PREDICTED)  # those of the bytes of samples, not of pictures
_PHOTOMETRIC = ("min-is-white", "min-is-black", "RGB", "palette", "a mask", "CMYK", "YCbCr", "raw", "CIELab", "ICCLab")
_COLOURS = {2: "RGB", 5: "CMYK", 6: "RGB", 8: "LAB"}  # modes of Pillow; others have one band
_NUMBERS = {1: "unsigned integers", 2: "signed integers", 3: "floats"}
_WIDE = {1: (32, 64), 2: (8, 16, 32, 64), 3: (16, 32, 64)}  # bits of numbers without an agreed range
_MOST_BYTES = 175_000_000  # of samples; Pillow's own limit is not far above
_ASSOCIATED, _UNASSOCIATED = 1, 2  # kinds of extra samples: what colours are multiplied by already, or not


def read_tiff(data: bytes) -> tuple[Image.Image, str]:
    """The first image of a file, upright, as L, RGB, RGBA, CMYK or LAB, and in words what was done to it."""
    tiff = _Tiff(data)
    refuse_size(tiff.width, tiff.height)
    if not tiff.legible:
        raise tiff.refusal()
    image, note = tiff.picture() if tiff.plain else (tiff.by_pillow(), "")
    if Tag.InterColorProfile in tiff.fields:
        image.info["icc_profile"] = tiff.fields[Tag.InterColorProfile].tobytes()
    preview = "a small copy beside the image itself" if tiff.first(Tag.NewSubfileType, 0) & 1 else ""
    return image, ", ".join(filter(None, ("first frame of several" if tiff.several else "", preview, note)))


class _Tiff:
    def __init__(self, data: bytes) -> None:
        self.data, self.order = data, "<" if data.startswith(b"II") else ">"
        self.fields, self.several = _fields(data, self.order)
        self.width, self.height = int(self.fields[Tag.ImageWidth][0]), int(self.fields[Tag.ImageLength][0])
        self.photometric = self.first(Tag.PhotometricInterpretation, 0)
        self.compression = self.first(Tag.Compression)
        self.predictor = self.first(Tag.Predictor) if self.compression in _PREDICTED else 1
        self.bits, self.bands = self.first(Tag.BitsPerSample), self.first(Tag.SamplesPerPixel)
        number = self.first(Tag.SampleFormat)
        self.number = 1 if number == 4 else number  # 4, undefined, is read as if it were absent
        self.mode = _COLOURS.get(self.photometric, "L")
        # Four bands of RGB without a word about the fourth are taken for RGBA, as Pillow does.
        unsaid = [_UNASSOCIATED] if (self.photometric, self.bands) == (2, 4) else []
        self.extra = [int(kind) for kind in self.fields.get(Tag.ExtraSamples, unsaid)[:99]]
        self.wide = self.photometric < 2 and self.bits in _WIDE.get(self.number, ())
        self.plain = self.compression in _PLAIN and self.photometric != 6

    def first(self, tag: int, default: int = 1) -> int:
        return int(self.fields[tag][0]) if tag in self.fields else default

    @property
    def legible(self) -> bool:
        alike = all(len(np.unique(self.fields.get(tag, [1]))) == 1 for tag in (Tag.BitsPerSample, Tag.SampleFormat))
        whole = self.number == 1 and self.bits <= 16
        if not self.plain:
            return alike and whole and self.bits in (1, 8) and self.photometric in (0, 1, 2, 5, 6)
        clear = self.extra in ([_ASSOCIATED], [_UNASSOCIATED])
        return (
            alike
            and (self.wide or (whole and self.photometric in (0, 1, 2, 3, 5, 8)))
            and self.bands == len(self.mode) + len(self.extra)
            and (not self.extra or self.photometric > 1 or (clear and not self.wide))  # five equal bands are no grey
            and (_ASSOCIATED not in self.extra or self.photometric in (1, 2))  # only light is multiplied by its alpha
            and (self.photometric != 3 or len(self.fields.get(Tag.ColorMap, ())) == 3 * 2**self.bits)
            and (self.photometric != 8 or self.bits == 8)
            and (self.photometric != 5 or self.first(Tag.InkSet) == 1)
            and (self.predictor == 1 or self.bits in (8, 16, 32, 64))
            and (self.predictor < 3 or (self.predictor == 3 and self.number == 3))
        )

    def refusal(self) -> ImageError:
        sizes = " and ".join(str(size) for size in np.unique(self.fields.get(Tag.BitsPerSample, [1]))[:3])
        numbers = _NUMBERS.get(self.number, "numbers")
        meaning = _PHOTOMETRIC[self.photometric] if self.photometric < len(_PHOTOMETRIC) else "raw"
        bands = f"{self.bands} band{'s' * (self.bands != 1)} of {sizes}-bit {numbers}"
        advice = "save one band as grey or three as RGB, in 8 or 16 bits."
        return ImageError(f"This TIFF has {bands} ({meaning}, compression {self.compression}); {advice}")

    def refuse_bytes(self, count: int) -> None:
        if count > _MOST_BYTES:
            raise ImageError(
                f"The image is too large: its samples take more than {_MOST_BYTES // 10**6} MB; shrink it."
            )

    def by_pillow(self) -> Image.Image:
        self.refuse_bytes(self.first(Tag.TileWidth) * self.first(Tag.TileLength) * 4)
        try:
            image = Image.open(io.BytesIO(self.data), formats=("TIFF",))
        except UnidentifiedImageError:
            raise self.refusal() from None
        if self.compression == 1 and isinstance(image, TiffImagePlugin.TiffImageFile):  # YCbCr
            # Chroma may be subsampled and have factors of its own: libtiff knows both, Pillow none.
            way = ("RGBX", False, image.tag_v2.offset)
            image.tile = [
                image.tile[0]._replace(codec_name="libtiff", extents=(0, 0, self.width, self.height), args=way)
            ]
            image.use_load_libtiff, image._mode = True, "RGB"
        image.load()
        return image.copy()  # without the other pages

    def picture(self) -> tuple[Image.Image, str]:
        """(image, what was done to it), of plain samples."""
        colours = len(self.mode)
        clear = [place for place, kind in enumerate(self.extra) if kind in (_ASSOCIATED, _UNASSOCIATED)][:1]
        bands = [*range(colours), *(colours + place for place in clear)]
        if self.wide:
            values = np.concatenate(list(self.samples(bands)))[..., 0]
            image, note = _by_values(values, self.bits, light_first=self.photometric == 0)
        else:
            image, note = self.tones(bands, self.extra[clear[0]] if clear else 0)
        skipped = [str(band + 1) for band in range(self.bands) if band not in bands]
        left_out = f"band {' and '.join(skipped)} left out" if skipped else ""
        turn = UPRIGHT.get(self.first(Tag.Orientation))
        return image if turn is None else image.transpose(turn), ", ".join(filter(None, (left_out, note)))

    def tones(self, bands: list[int], alpha: int) -> tuple[Image.Image, str]:
        """RGB, or RGBA, of unsigned integers, whose range is known; `alpha`: the kind of the last of these bands."""
        mode, tones = self.mode, tones_of(self.bits)
        colours = tones[::-1] if self.photometric == 0 else tones
        if self.photometric == 3:
            mode, stated = "RGB", self.fields[Tag.ColorMap].reshape(3, -1).T
            # 16 bits; where all are below 256, whoever wrote them meant 8, as libtiff knows
            colours = (stated if stated.max() < 256 else np.rint(stated / 257)).astype(np.uint8)
        converted = mode in ("CMYK", "LAB")
        depth = 4 if alpha == _UNASSOCIATED else 1 if mode == "L" else 3
        picture = np.empty((self.height, self.width, depth), np.uint8)
        top, clear = 0, False
        for values in self.samples(bands):
            shown = values[..., : len(self.mode)]
            shown = shown if self.bits == 8 and colours is tones else colours[shown].reshape(*shown.shape[:2], -1)
            opacity = tones[values[..., len(self.mode) :]]
            if alpha == _ASSOCIATED:  # on white
                shown = np.minimum(shown + (255 - opacity.astype(np.uint16)), 255).astype(np.uint8)
                clear = clear or opacity.min() < 255
            if converted:
                strip = Image.frombytes(mode, (self.width, len(values)), shown.tobytes())
                shown = np.asarray(strip.convert("RGB"))
            rows, top = picture[top : top + len(values)], top + len(values)
            rows[..., :3] = shown
            rows[..., 3:] = opacity[..., : max(0, depth - 3)]
        notes = (
            f"{self.bits}-bit scaled to 8-bit" if self.bits > 8 else "",
            f"{mode} converted" if converted else "",
            "transparency laid on white" if clear else "",
        )
        return Image.fromarray(picture.squeeze(2) if depth == 1 else picture), ", ".join(filter(None, notes))

    def samples(self, bands: list[int]) -> Iterator[np.ndarray]:
        """These bands of some rows at a time, (rows, columns, bands): unsigned integers, or what the file holds."""
        apart = self.first(Tag.PlanarConfiguration) == 2
        tiled = Tag.TileOffsets in self.fields
        columns = self.first(Tag.TileWidth, 0) if tiled else self.width
        rows = self.first(Tag.TileLength, 0) if tiled else min(self.first(Tag.RowsPerStrip, self.height), self.height)
        across = math.ceil(self.width / columns)
        blocks = across * math.ceil(self.height / rows)
        together = 1 if apart else self.bands
        block_bytes = math.ceil(columns * together * self.bits / 8)
        # libtiff makes room for a whole tile, however small the picture
        self.refuse_bytes(max(self.height, rows) * across * block_bytes)
        planes = [self.unpacked(block_bytes, rows, across, blocks, plane, tiled) for plane in (bands if apart else [0])]
        for top in range(0, self.height, CHUNK_ROWS):
            parts = []
            for plane in planes:
                box = (0, top, plane.width, min(top + CHUNK_ROWS, self.height))
                packed = np.asarray(plane.crop(box)).reshape(-1, across, block_bytes)
                parts.append(self.numbers(packed, columns, together)[:, : self.width])
            yield np.concatenate(parts, axis=2) if apart else parts[0][..., bands]

    def unpacked(self, block_bytes: int, rows: int, across: int, blocks: int, plane: int, tiled: bool) -> Image.Image:
        """The bytes of one plane, a row of the image for one of the image: the file, with another directory."""
        offsets, counts = (Tag.TileOffsets, Tag.TileByteCounts) if tiled else (Tag.StripOffsets, Tag.StripByteCounts)
        own = slice(plane * blocks, (plane + 1) * blocks)
        fields = {tag: self.fields[tag][own] for tag in (offsets, counts) if tag in self.fields}
        if len(fields[offsets]) < blocks:
            raise damaged()
        shape = {Tag.TileWidth: block_bytes, Tag.TileLength: rows} if tiled else {Tag.RowsPerStrip: rows}
        kind = {Tag.BitsPerSample: 8, Tag.PhotometricInterpretation: 1, Tag.Compression: self.compression}
        size = {Tag.ImageWidth: across * block_bytes, Tag.ImageLength: self.height}
        order = {Tag.FillOrder: self.first(Tag.FillOrder)}
        directory = _directory(
            fields | {tag: [value] for tag, value in (shape | kind | size | order).items()}, len(self.data)
        )
        head = b"II*\0" + struct.pack("<I", len(self.data))
        return Image.open(io.BytesIO(b"".join((head, self.data[8:], directory))), formats=("TIFF",))

    def numbers(self, packed: np.ndarray, columns: int, bands: int) -> np.ndarray:
        """Rows of blocks of bytes, (rows, blocks, bytes), as (rows, columns, bands)."""
        shape, size = packed.shape[:2], self.bits // 8
        if self.predictor == 3:  # differences of bytes, of all first bytes, then of all second ones …
            whole = np.cumsum(packed.reshape(*shape, -1, bands), axis=2, dtype=np.uint8).reshape(*shape, size, -1)
            values = np.ascontiguousarray(whole.swapaxes(2, 3)).view(f">u{size}")
        elif self.bits % 8:
            digits = np.unpackbits(packed, axis=2)[..., : columns * bands * self.bits].reshape(*shape, -1, self.bits)
            values = digits @ (1 << np.arange(self.bits, dtype=np.uint16)[::-1])
        else:
            values = np.ascontiguousarray(packed).view(f"{self.order}u{size}")
        values = values.reshape(*shape, columns, bands)
        values = values.astype(values.dtype.newbyteorder("="), copy=False)
        if self.predictor == 2:
            values = np.cumsum(values, axis=2, dtype=values.dtype)
        kind = {2: "i", 3: "f"}.get(self.number)
        return (values.view(f"{kind}{size}") if kind else values).reshape(shape[0], -1, bands)


def tones_of(bits: int) -> np.ndarray:
    """The 8-bit tones of all unsigned integers of so many bits."""
    return np.rint(np.arange(2**bits) * (255 / (2**bits - 1))).astype(np.uint8)


def _by_values(values: np.ndarray, bits: int, light_first: bool) -> tuple[Image.Image, str]:
    """Greys of numbers without an agreed range: signed integers, floats, integers of 32 bits and more.

    The first of 0–1, 0–255 and 0–65535 that holds all values, else from the lowest to the highest. NaN and infinities
    are shown as the lowest.
    """
    known = np.isfinite(values)
    low, high = float(values[known].min()), float(values[known].max())
    if low >= 0 and high <= 65535:
        low, high = 0.0, float(next(top for top in (1, 255, 65535) if high <= top))
    half = max(high / 2 - low / 2, 1e-30)  # of the range, for the whole of it may be above all floats
    parts = [  # a few rows at a time, for float64 takes eight times the memory of the result
        np.rint((np.where(np.isfinite(part), part.astype(np.float64), low) / 2 - low / 2) * (255 / half))
        for part in np.array_split(values, math.ceil(len(values) / CHUNK_ROWS))
    ]
    grey = np.vstack([part.astype(np.uint8) for part in parts])
    black, white = (high, low) if light_first else (low, high)
    lost = "" if known.all() else ", missing values shown as the lowest"
    note = f"{bits}-bit scaled to 8-bit, {black:g} black and {white:g} white{lost}"
    return Image.fromarray(255 - grey if light_first else grey), note


def _fields(data: bytes, order: str) -> tuple[dict[int, np.ndarray], bool]:
    """(whole numbers of the first directory by tag, whether there are more directories)."""
    word, size, count, count_size = ("Q", 8, "Q", 8) if 43 in data[2:4] else ("I", 4, "H", 2)
    (start,) = struct.unpack_from(order + word, data, size)
    (entries,) = struct.unpack_from(order + count, data, start)
    start, length = start + count_size, 4 + 2 * size
    fields: dict[int, np.ndarray] = {}
    for at in range(start, start + entries * length, length):
        tag, kind, number = struct.unpack_from(f"{order}HH{word}", data, at)
        place = at + 4 + size
        if kind in _WHOLE and number and tag not in fields:
            dtype = np.dtype(order + _WHOLE[kind])
            if number * dtype.itemsize > size:
                (place,) = struct.unpack_from(order + word, data, place)
            fields[tag] = np.frombuffer(data, dtype, number, place)
    end = start + entries * length
    return fields, any(data[end : end + size])


def _directory(fields: dict[Tag, np.ndarray | list[int]], place: int) -> bytes:
    """A directory that is to stand at `place` of a little-endian file."""
    entries, beyond = [], b""
    for tag, values in sorted(fields.items()):
        content = np.asarray(values, "<u4").tobytes()
        if len(content) > 4:
            content, beyond = struct.pack("<I", place + 6 + 12 * len(fields) + len(beyond)), beyond + content
        entries.append(struct.pack("<HHI", tag, 4, len(values)) + content)
    return struct.pack("<H", len(fields)) + b"".join(entries) + bytes(4) + beyond
