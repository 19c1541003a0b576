"""Every kind of TIFF, written here with samples that are known, and what they mean in 8-bit RGB by TIFF 6.0.

`python -m benchmarks tiff` reads them all and prints which are shown, each of them equal to what it means.
"""

import struct
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import product

import numpy as np

from vizkit.decoding import ImageError, decode

PHOTOMETRIC = {0: "min-is-white", 1: "min-is-black", 2: "RGB", 3: "palette", 4: "mask", 5: "CMYK", 6: "YCbCr"}
PHOTOMETRIC |= {8: "CIELab", 9: "ICCLab", 32803: "filter array", 34892: "linear raw"}
READABLE = {0: 24, 1: 24, 2: 24, 3: 8, 5: 24, 6: 8, 8: 8}  # bits at most of unsigned integers
FORMAT = {1: "unsigned", 2: "signed", 3: "float", 4: "undefined"}
BITS = (1, 2, 4, 6, 8, 10, 12, 14, 16, 24, 32, 64)
COLOURS = {2: 3, 5: 4, 6: 3, 8: 3, 9: 3, 34892: 3}  # samples of a colour; others have one
UNSPECIFIED, ASSOCIATED, UNASSOCIATED = 0, 1, 2  # extra samples
HEIGHT, WIDTH = 20, 26
TILE = 16  # pixels on a side


@dataclass(frozen=True)
class Kind:
    photometric: int = 1
    bits: int = 8
    sample_format: int = 1
    extra: tuple[int, ...] = ()
    planar: int = 1
    order: str = "<"
    deflated: bool = False
    fill_order: int = 1
    predictor: int = 1
    tiled: bool = False
    big: bool = False

    @property
    def bands(self) -> int:
        return COLOURS.get(self.photometric, 1) + len(self.extra)

    @property
    def exists(self) -> bool:
        """Whether there are such numbers."""
        return (self.sample_format != 3 or self.bits in (16, 32, 64)) and (self.sample_format != 2 or self.bits > 1)


EXTRAS = {
    (): "none",
    (UNASSOCIATED,): "alpha",
    (ASSOCIATED,): "alpha, multiplied",
    (UNSPECIFIED,): "1 unspecified",
    (UNASSOCIATED, UNSPECIFIED): "alpha and 1",
    (UNSPECIFIED,) * 4: "4 unspecified",
}


def kinds(photometric: int, bits: int, sample_format: int) -> list[Kind]:
    """Extra samples × planes × order of bytes; containers and orders of bits take turns."""
    ways = product(EXTRAS, (1, 2), "<>")
    turns = list(product((False, True), (1, 2), (1,), (False, True), (False, True)))
    files = [Kind(photometric, bits, sample_format, *way, *turns[5 * at % len(turns)]) for at, way in enumerate(ways)]
    return [kind for kind in files if kind.exists and (kind.planar == 1 or kind.bands > 1)]


def samples(kind: Kind) -> np.ndarray:
    """(rows, columns, bands): over the whole range of the numbers, floats from 0 to 1."""
    rng = np.random.default_rng(kind.bits)
    shape = HEIGHT, WIDTH, kind.bands
    if kind.sample_format == 3:
        return rng.random(shape).astype(f"f{kind.bits // 8}")
    if kind.photometric == 8 and kind.bits == 8:  # colours that there are on a screen
        lab = to_lab(rng.integers(0, 256, (HEIGHT, WIDTH, 3)) / 255)
        return np.concatenate((lab, rng.integers(0, 256, (HEIGHT, WIDTH, len(kind.extra)))), axis=2).astype(np.int64)
    low, high = (-(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1)) if kind.sample_format == 2 else (0, 2**kind.bits)
    values = rng.integers(low, high, shape, dtype=np.uint64 if low == 0 else np.int64, endpoint=False)
    values.flat[:2] = low, high - 1
    if ASSOCIATED in kind.extra:  # already multiplied: no colour is above its alpha
        alpha = values[..., -len(kind.extra) + kind.extra.index(ASSOCIATED), None]
        values[..., : -len(kind.extra)] = np.minimum(values[..., : -len(kind.extra)], alpha)
    return values


def colour_map(bits: int) -> np.ndarray:
    """(3, 2 ** bits) of 16 bits."""
    return np.random.default_rng(bits).integers(0, 256, (3, 2**bits)) * 257


def packed(values: np.ndarray, kind: Kind) -> bytes:
    """The bytes of a block of samples, (rows, columns, bands), each row filled up to whole bytes."""
    letter = {2: "i", 3: "f"}.get(kind.sample_format, "u")
    rows, size = len(values), kind.bits // 8
    if kind.predictor == 2:  # of each sample the one on its left is taken away
        whole = values.astype(f"{letter}{size}").view(f"u{size}")
        values, letter = np.diff(whole, axis=1, prepend=whole[:, :1] * 0), "u"
    if kind.predictor == 3:  # first bytes of a row, second bytes …, then differences
        apart = (
            values.astype(f">f{size}")
            .reshape(rows, -1, 1)
            .view(np.uint8)
            .swapaxes(1, 2)
            .reshape(rows, -1, values.shape[2])
        )
        content = np.diff(apart, axis=1, prepend=apart[:, :1] * 0).tobytes()
    elif kind.bits % 8:
        digits = (values.astype(np.int64)[..., None] >> np.arange(kind.bits - 1, -1, -1)) & 1
        content = np.packbits(digits.reshape(rows, -1).astype(np.uint8), axis=1).tobytes()
    elif kind.bits == 24:
        whole = values.astype(np.int64).astype(f"{kind.order}i8").reshape(-1, 1).view(np.uint8)
        content = (whole[:, :3] if kind.order == "<" else whole[:, 5:]).tobytes()
    else:
        content = values.astype(f"{kind.order}{letter}{size}").tobytes()
    content = zlib.compress(content) if kind.deflated else content
    if kind.fill_order == 2:
        content = np.packbits(np.unpackbits(np.frombuffer(content, np.uint8)), bitorder="little").tobytes()
    return content


def blocks(plane: np.ndarray, kind: Kind, rows: int) -> list[np.ndarray]:
    """Strips, of which the last one may be shorter, or whole tiles."""
    if not kind.tiled:
        return [plane[top : top + rows] for top in range(0, len(plane), rows)]
    filled = np.pad(plane, ((0, -len(plane) % TILE), (0, -plane.shape[1] % TILE), (0, 0)))
    places = product(range(0, len(filled), TILE), range(0, filled.shape[1], TILE))
    return [filled[top : top + TILE, left : left + TILE] for top, left in places]


def written(kind: Kind, values: np.ndarray, rows: int = 7, **tags: list[int] | None) -> bytes:
    """The bytes of a TIFF. `tags`: t339=[1, 1] overwrites a field, None leaves it out."""
    planes = [values] if kind.planar == 1 else np.split(values, kind.bands, axis=2)
    parts = [packed(block, kind) for plane in planes for block in blocks(plane, kind, rows)]
    head = 16 if kind.big else 8
    offsets, counts = np.cumsum([head, *map(len, parts)]).tolist(), [len(part) for part in parts]
    fields: dict[int, list[int] | None] = {
        256: [values.shape[1]],
        257: [len(values)],
        258: [kind.bits] * kind.bands,
        259: [8 if kind.deflated else 1],
        262: [kind.photometric],
        266: [kind.fill_order],
        277: [kind.bands],
        284: [kind.planar],
        317: [kind.predictor],
        320: colour_map(kind.bits).ravel().tolist() if kind.photometric == 3 and kind.bits <= 8 else None,
        338: list(kind.extra) or None,
        339: [kind.sample_format] * kind.bands,
        530: [1, 1] if kind.photometric == 6 else None,
    }
    tiles = {322: [TILE], 323: [TILE], 324: offsets[:-1], 325: counts}
    fields |= tiles if kind.tiled else {273: offsets[:-1], 278: [rows], 279: counts}
    fields |= {int(name[1:]): value for name, value in tags.items()}
    present = {tag: value for tag, value in sorted(fields.items()) if value is not None}
    word, count, room = ("Q", "Q", 8) if kind.big else ("I", "H", 4)
    start = offsets[-1] + offsets[-1] % 2
    after = start + struct.calcsize(f"<{count}") + (4 + 2 * room) * len(present) + room
    entries, beyond = b"", b""
    for tag, value in present.items():
        code, letter = (4, "I") if tag in (273, 279, 324, 325) else (3, "H")
        content = struct.pack(f"{kind.order}{len(value)}{letter}", *value)
        if len(content) > room:
            content, beyond = (
                struct.pack(kind.order + word, after + len(beyond)),
                beyond + content + bytes(len(content) % 2),
            )
        entries += struct.pack(f"{kind.order}HH{word}", tag, code, len(value)) + content.ljust(room, b"\0")
    mark = b"II" if kind.order == "<" else b"MM"
    version = struct.pack(f"{kind.order}3H", 43, 8, 0) if kind.big else struct.pack(f"{kind.order}H", 42)
    body = (mark + version + struct.pack(kind.order + word, start) + b"".join(parts)).ljust(start, b"\0")
    return body + struct.pack(kind.order + count, len(present)) + entries + bytes(room) + beyond


def meaning(kind: Kind, values: np.ndarray) -> np.ndarray | None:
    """8-bit RGB as real numbers, transparency laid on white; None where nobody says what is to be seen."""
    colours = COLOURS.get(kind.photometric, 1)
    grey, whole = kind.photometric in (0, 1), kind.sample_format in (1, 4)
    clear = [extra for extra in kind.extra if extra != UNSPECIFIED]
    if (grey and UNSPECIFIED in kind.extra) or (ASSOCIATED in clear and kind.photometric not in (1, 2)):
        return None
    if grey and not clear and (not whole or kind.bits >= 32):
        unit = by_values(values[..., :1].astype(np.float64))
    elif not whole or kind.bits > READABLE.get(kind.photometric, 0) or (kind.photometric in (6, 8) and kind.bits < 8):
        return None
    else:
        unit = values[..., :colours] / (2.0**kind.bits - 1)
    if kind.photometric == 0:
        unit = 1 - unit
    elif kind.photometric == 3:
        unit = colour_map(kind.bits)[:, values[..., 0]].transpose(1, 2, 0) / 65535
    elif kind.photometric == 5:
        unit = (1 - unit[..., :3]) * (1 - unit[..., 3:4])
    elif kind.photometric == 6:
        luma, blue, red = (unit[..., band] - (128 / 255 if band else 0) for band in range(3))
        unit = np.stack((luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue), axis=-1)
    elif kind.photometric == 8:
        unit = of_lab(values[..., :3].astype(np.uint8))
    rgb = 255 * np.broadcast_to(unit.clip(0, 1), (*values.shape[:2], 3))
    if not clear:
        return rgb
    alpha = values[..., colours + kind.extra.index(clear[0]), None] / (2.0**kind.bits - 1)
    return (rgb if ASSOCIATED in clear else rgb * alpha) + 255 * (1 - alpha)


def outcome(kind: Kind) -> str:
    """ "equal", the sentence of a refusal, or what is wrong with the picture."""
    values = samples(kind)
    expected = meaning(kind, values)
    try:
        rgb, note = decode(written(kind, values), 2048)
    except ImageError as error:
        return str(error)
    if expected is None:
        return f"wrong: shown, {note}"
    difference = np.abs(rgb - expected)
    if kind.photometric == 8:  # by a table of LittleCMS, whose corners are coarse
        return "equal" if difference.mean() < 1.5 else f"wrong: by {difference.mean():.1f}"
    once = 1 + 1e-9 if kind.photometric != 5 and not set(kind.extra) & {ASSOCIATED, UNASSOCIATED} else 2  # roundings
    return "equal" if difference.max() <= once else f"wrong: by {difference.max():.0f}"


def run() -> None:
    counts: Counter[str] = Counter()
    depths, extras = defaultdict(dict), defaultdict(dict)
    for photometric, sample_format, bits in product(PHOTOMETRIC, FORMAT, BITS):
        outcomes = {kind: outcome(kind) for kind in kinds(photometric, bits, sample_format)}
        for kind, what in outcomes.items():
            counts[what if what == "equal" or what.startswith("wrong") else "refused"] += 1
            row = f"{PHOTOMETRIC[photometric]}, {FORMAT[sample_format]}"
            table, column = (depths, bits) if not kind.extra else (extras, EXTRAS[kind.extra])
            if not kind.extra or (bits, sample_format) == (8, 1):
                table[row].setdefault(column, set()).add(what == "equal")
    for title, table, columns in (("bits", depths, BITS), ("further bands", extras, list(EXTRAS.values())[1:])):
        print(f"\n| {title} | " + " | ".join(map(str, columns)) + " |\n|---|" + ":-:|" * len(columns))
        for row, cells in table.items():
            marks = {frozenset((True,)): "shown", frozenset((False,)): "–", frozenset((True, False)): "some"}
            if any(True in cell for cell in cells.values()):
                print(
                    f"| {row} | " + " | ".join(marks.get(frozenset(cells.get(each, ())), "") for each in columns) + " |"
                )
    print("\n" + ", ".join(f"{count:,} {what}" for what, count in counts.items()))


def by_values(values: np.ndarray) -> np.ndarray:
    """What no file states: 0–1, 0–255 or 0–65535, the first that holds all, else from the lowest to the highest."""
    low, high = values.min(), values.max()
    if low >= 0 and high <= 65535:
        low, high = 0, min(top for top in (1, 255, 65535) if high <= top)
    return (values - low) / (high - low)


WHITE = np.array((0.9642, 1.0, 0.8249))  # D50
TO_XYZ = np.array(
    ((0.4360747, 0.3850649, 0.1430804), (0.2225045, 0.7168786, 0.0606169), (0.0139322, 0.0971045, 0.7141733))
)


def to_lab(rgb: np.ndarray) -> np.ndarray:
    """sRGB (IEC 61966-2-1) from 0 to 1, adapted to D50 by Bradford, as CIE L*a*b* in bytes: L × 2.55, a, b."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    ratio = linear @ TO_XYZ.T / WHITE
    x, y, z = np.moveaxis(np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29), -1, 0)
    return np.rint(np.stack(((116 * y - 16) * 2.55, 500 * (x - y) % 256, 200 * (y - z) % 256), axis=-1)) % 256


def of_lab(bytes_: np.ndarray) -> np.ndarray:
    """The other way round."""
    lightness, a, b = bytes_[..., 0] / 2.55, *(bytes_[..., band].astype(np.int8).astype(float) for band in (1, 2))
    middle = (lightness + 16) / 116
    ratio = np.stack((middle + a / 500, middle, middle - b / 200), axis=-1)
    xyz = np.where(ratio > 6 / 29, ratio**3, 3 * (6 / 29) ** 2 * (ratio - 4 / 29)) * WHITE
    linear = (xyz @ np.linalg.inv(TO_XYZ).T).clip(0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
