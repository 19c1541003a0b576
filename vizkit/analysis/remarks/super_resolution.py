"""What a reference has brought, in a sentence."""

from collections.abc import Mapping
from math import isfinite

from vizkit.analysis.remarks.remark import counted, joined, percent

CLEAR_DB = 0.2


def of_same(let_in: float) -> str:
    """Of a reference that is the image itself in another pose: the share of its finest texture that is let in, mean
    over the places."""
    return (
        "The reference is this image, turned, moved and lit otherwise: the answer, but no pixel of it fits as it is, "
        f"and the network lets {percent(let_in)} of its finest texture in, mean over all places."
    )


def of_reference(with_db: float, without_db: float, bicubic_db: float) -> str:
    """PSNR in dB by the three ways. The difference is that of the numbers beside it."""
    gain = round(with_db, 2) - round(without_db, 2)
    changes = "changes next to nothing"
    if abs(gain) >= CLEAR_DB:
        changes = f"{'brings' if gain > 0 else 'costs'} {abs(gain):.2f} dB of PSNR"
    each = f"{with_db:.2f} dB with it, {without_db:.2f} without, {bicubic_db:.2f} bicubic"
    return f"The reference {changes}: {each}."


def of_likeness_to_truth(with_it: float, without: float, bicubic: float) -> str:
    """SSIM by the three ways."""
    each = f"{with_it:.3f} with the reference, {without:.3f} without, {bicubic:.3f} by bicubic interpolation"
    return f"Structural similarity (SSIM): {each}."


def of_trust(trusted: float) -> str:
    """Where the truth is not known: the share of places whose texture was trusted."""
    return f"More than half of the texture of the reference is let through at {percent(trusted)} of the places."


def of_whole(size: tuple[int, int], steeper: float, agrees_db: float, *, part: bool = False) -> str:
    """Of an image whose truth is not known, or the `part` of it on show: columns and rows, the differences of
    neighbouring pixels as a multiple of those by bicubic interpolation, and the PSNR of the result, shrunk again, to
    what it was made from."""
    differ = ""
    if isfinite(steeper):
        more = round(100 * (steeper - 1))
        how = f"{abs(more)} % {'more' if more > 0 else 'less'} than" if more else "as much as"
        means = "sharper, but whether that detail was there nobody knows" if more > 0 else "no sharper"
        differ = f" neighbouring pixels differ {how} by bicubic interpolation, so it is {means};"
    again = f"agrees with the given image to {agrees_db:.1f} dB" if isfinite(agrees_db) else "is the given image"
    shown = "The part on show, " if part else ""
    return f"{shown}{size[0]} × {size[1]} pixels:{differ} shrunk again, it {again}."


def of_tiles(done: int, total: int) -> str:
    """Of the part on show, while it is being enlarged."""
    return f"The part on show is being enlarged: {done} of {counted(total, 'tile')} done, the rest is bicubic still."


def of_likeness(gains: Mapping[str, tuple[float, float, float]], pictures: int) -> str:
    """`gains`: by reference, PSNR above that without one in dB, with the ends of its 95 % interval over `pictures`."""
    helps = [name for name, (_, low, _) in gains.items() if low > 0]
    harms = [name for name, (_, _, high) in gains.items() if high < 0]
    untold = [name for name in gains if name not in (*helps, *harms)]
    parts = [f"{name} brings {gains[name][0]:.2f} dB ({gains[name][1]:.2f} to {gains[name][2]:.2f})" for name in helps]
    if harms:
        costs = [f"{-gains[name][0]:.2f}" for name in sorted(harms, key=lambda name: -gains[name][0])]
        lost = " to ".join(dict.fromkeys((costs[0], costs[-1])))
        parts.append(f"{joined(harms)} {'costs' if len(harms) == 1 else 'cost'} {lost} dB")
    if untold:
        parts.append(f"{joined(untold)} cannot be told apart from no reference")
    worthy = f"{len(helps) or 'none'} of {counted(len(gains), 'reference')} {'helps' if len(helps) < 2 else 'help'}"
    return f"Over {pictures:,} drawn scenes {worthy}, compared with no reference: {'; '.join(parts)}."
