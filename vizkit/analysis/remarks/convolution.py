"""Convolutional networks: what stands out in an output."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import Remark, percent

WEAK = 0.1  # of the strongest response


def strongest(output: Float[Tensor, "row column"], kind: str) -> Remark | None:
    """Where the output of a kernel is farthest from 0, and how much of it is nearly 0. None for pooling and for an
    output without weak places: a blurred picture has no response that stands out."""
    size = output.abs()
    most = float(size.max())
    weak = float((size < WEAK * most).double().mean()) if most > 0 else 0.0
    if kind != "convolution" or weak < WEAK:
        return None
    row, column = divmod(int(size.argmax()), output.shape[1])
    value = float(output[row, column])
    return Remark(f"The strongest response, {value:.4g}".replace("-", "−") + f", is in row {row + 1}, column "
                  f"{column + 1}; {percent(weak)} of the output is less than a tenth of it.",
                  {"row": row, "column": column, "value": value, "weak": weak})  # fmt: skip


def contrast(image: Float[Tensor, "channel height width"], output: Float[Tensor, "row column"]) -> Remark | None:
    """How far the numbers spread before and after a kernel that makes a picture of a picture. None for one colour."""
    before, after = float(image.std()), float(output.std())
    if before == 0 or output.numel() < 2:
        return None
    how = "smoother" if after < before else "sharper"
    verb = "falls" if after < before else "rises"
    return Remark(f"The standard deviation {verb} from {before:.3g} in the picture to {after:.3g} in the output, which "
                  f"is {how}.", {"before": before, "after": after})  # fmt: skip


def vanished(norms: Mapping[str, Float[np.ndarray, " layer"]]) -> Remark | None:
    """The activation whose gradient is smallest at the first layer beside the last, and the one that keeps most."""
    shares = {name: float(each[0] / each[-1]) for name, each in norms.items() if each[-1] > 0}
    if not shares:
        return None
    least, most = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
    words = f"With {least} the first layer's gradient is {_times(shares[least])} the last one's"
    words += "" if least == most else f", with {most} {_times(shares[most])}"
    return Remark(words + ".", shares)


def _times(share: float) -> str:
    """As a factor that can be read: "0.42 times", "3 × 10⁻⁹ times"."""
    if 0.01 <= share < 1000:
        return f"{share:.2g} times"
    digits, power = f"{share:.0e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits} × 10{raised} times"
