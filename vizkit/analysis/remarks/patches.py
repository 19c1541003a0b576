"""The image as a sequence: how many tokens, what they cost, what the filters and the vectors have in common."""

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import Remark, counted, percent

ALIKE = 0.9  # cosine
GROWN = 1.5  # times as long, or as short


def tokens(grid: tuple[int, int], special: int) -> Remark:
    count = grid[0] * grid[1]
    length = (
        f"{count + special:,} tokens, {counted(special, 'special one')} included" if special else f"{count:,} tokens"
    )
    return Remark(f"The model reads this image as {length}; patches of half the side would be {4 * count:,} and 16 "
                  "times the pairs.", {"patches": count, "tokens": count + special})  # fmt: skip


def quadratic(tokens: int, dim: int) -> Remark:
    """The part of a layer's 4·N·C² + 2·N²·C multiply–adds that grows with the square of the tokens."""
    share = 2 * tokens**2 * dim / (4 * tokens * dim**2 + 2 * tokens**2 * dim)
    return Remark(f"Here {percent(share)} of the multiply–adds of one attention layer grow with the square of the "
                  "number of patches.", {"share": share})  # fmt: skip


def components(explained: Float[Tensor, " component"]) -> Remark | None:
    """How few principal components of the filters explain half of their variance; None for more than a tenth."""
    sums = explained.cumsum(0)
    half = int((sums < 0.5).sum()) + 1
    if half > max(1, len(explained) // 10) or float(sums[-1]) < 0.5:
        return None
    which = "The first component explains" if half == 1 else f"The first {half} components explain"
    return Remark(f"{which} {percent(float(sums[half - 1]))} of the variance of the filters.", {"count": half})


def alike(cosines: Float[Tensor, " patch"], block: int) -> Remark | None:
    """`cosines`: of the chosen patch with every patch, itself too. None where no other is alike."""
    others = int((cosines >= ALIKE).sum()) - 1
    if others < 1:
        return None
    are = "is" if others == 1 else "are"
    return Remark(f"After block {block}, {counted(others, 'other patch', 'other patches')} of {len(cosines) - 1} {are} "
                  f"similar to the chosen one: cosine {ALIKE} or more.", {"alike": others})  # fmt: skip


def outliers(patches: Float[Tensor, " patch"], count: int, layer: int) -> Remark | None:
    """Patches far longer than the median after a layer; None where no patch is an outlier."""
    if not count:
        return None
    times = float(patches.max() / patches.median().clamp(min=1e-12))
    are = "is an outlier" if count == 1 else "are outliers"
    return Remark(f"After layer {layer}, {counted(count, 'patch', 'patches')} of {len(patches)} {are}, the longest "
                  f"{times:.1f} times as long as the median.", {"outliers": count, "times": times})  # fmt: skip


def grown(embedded: Float[Tensor, "token dim"], after: Float[Tensor, "token dim"], blocks: int) -> Remark | None:
    """The mean length of the tokens in front of the first block and behind the last; None where it is much the same."""
    first, last = (float(each.norm(dim=-1).mean()) for each in (embedded, after))
    if first <= 0 or 1 / GROWN < last / first < GROWN:
        return None
    how = "longer" if last > first else "shorter"
    return Remark(f"{blocks} blocks, each of which adds to the tokens, make them {how}: their mean norm goes from "
                  f"{first:.3g} to {last:.3g}.", {"first": first, "last": last})  # fmt: skip
