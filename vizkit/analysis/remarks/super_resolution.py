"""What a reference has brought, in a sentence."""

from vizkit.analysis.remarks.remark import Remark, percent

__all__ = ["of_reference", "of_trust"]

CLEAR_DB = 0.2


def of_reference(with_db: float, without_db: float, bicubic_db: float, trusted: float) -> Remark:
    """PSNR in dB by the three ways, and the share of places whose texture was trusted (gate above one half)."""
    gain = with_db - without_db
    says = f"The reference brings {gain:.1f} dB" if gain >= CLEAR_DB else (
        f"The reference costs {-gain:.1f} dB" if gain <= -CLEAR_DB else "The reference changes next to nothing"
    )  # fmt: skip
    words = (
        f"{says}: {with_db:.1f} dB with it, {without_db:.1f} without, {bicubic_db:.1f} by bicubic interpolation; "
        f"its texture is trusted at {percent(trusted)} of the places."
    )
    numbers = {"with": with_db, "without": without_db, "bicubic": bicubic_db, "trusted": trusted}
    return Remark(words, numbers)


def of_trust(trusted: float) -> Remark:
    """Where the truth is not known: the share of places whose texture was trusted."""
    return Remark(f"The texture of the reference is trusted at {percent(trusted)} of the places.", {"trusted": trusted})
