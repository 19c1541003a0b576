"""Convolutional networks: what stands out in an output."""

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
