"""What was compared with the model for a trace, and how near it came: as near as its products are precise.

Which precision products of float32 really have is said by torch's flags for a device, and by autocast. TF32 keeps 10 of
the 23 bits of a factor (NVIDIA's GPUs since Ampere), bfloat16 keeps 7; sums stay in float32.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

import torch
import torch.nn.functional as F
from torch import nn

ROW_SUM_TOLERANCE = 1e-4
LOGIT_TOLERANCE = 1e-4
OUTPUT_TOLERANCE = 1e-4
PIXEL_TOLERANCE = 5e-4  # of normalised values, in the mean: 0.000 in three digits

Proof = Literal["output of every layer", "changes", "logits", "places"]

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d)


class Precision(NamedTuple):
    """`spacing`: ε, between 1 and the next number that a factor may be."""

    name: str
    spacing: float


FULL = Precision("float32", torch.finfo(torch.float32).eps)
LOWER = {"tf32": Precision("TF32", 2.0**-10), "bf16": Precision("bfloat16", 2.0**-7)}


def precision_of_type(dtype: torch.dtype) -> Precision:
    return Precision(str(dtype).removeprefix("torch."), torch.finfo(dtype).eps)


def precision_of_products(device: torch.device, *, convolutions: bool = False) -> Precision:
    """Of matrix products of float32 on a device, or of `convolutions`, outside autocast."""
    backends: Any = torch.backends
    if device.type == "cuda":
        # Whichever of torch's two ways has set it; `allow_tf32` may not be read any more after the newer one.
        operation = backends.cudnn.conv if convolutions else backends.cuda.matmul
        able = torch.cuda.get_device_capability(device) >= (8, 0)
        return LOWER.get(operation.fp32_precision, FULL) if able else FULL
    if device.type == "cpu":
        operation = backends.mkldnn.conv if convolutions else backends.mkldnn.matmul
        return _of_processor(operation.fp32_precision, convolutions)
    return FULL


@cache
def _of_processor(flag: str, convolutions: bool) -> Precision:
    """What a flag allows few processors have: a product says whether this one does."""
    if flag not in LOWER:
        return FULL
    draw = torch.Generator().manual_seed(0)
    left, right = (torch.randn(128, 128, 1, 1, generator=draw) for _ in range(2))
    with torch._C.DisableTorchFunction(), torch.no_grad(), torch.autocast("cpu", enabled=False):
        made = F.conv2d(left, right) if convolutions else (left[..., 0, 0] @ right[..., 0, 0].T)[..., None, None]
        exact = torch.einsum("nc...,oc...->no...", left.double(), right.double())
    off = float((made - exact).abs().max() / exact.abs().max())
    return LOWER[flag] if off > 100 * FULL.spacing else FULL


def precision_of_pass(model: nn.Module, device: torch.device) -> Precision:
    """The lowest of all products of a pass of the model that is made here and now."""
    kinds = [precision_of_products(device)]
    if torch.is_autocast_enabled(device.type):  # of equals the first is named, and this was asked for
        cast = precision_of_type(torch.get_autocast_dtype(device.type))
        kinds.insert(0, cast._replace(name=f"{cast.name} (autocast)"))
    if any(isinstance(module, CONVOLUTIONS) for module in model.modules()):
        of_convolutions = precision_of_products(device, convolutions=True)
        kinds.append(of_convolutions._replace(name=f"{of_convolutions.name} (convolutions)"))
    return max(kinds, key=lambda kind: kind.spacing)


def tolerance(dtype: torch.dtype, device: torch.device | None = None) -> float:
    """How far a number may be from the same in float32, relative to the largest of its kind: 1e-4, and where it was
    rounded to half precision twice the spacing ε of that type at 1: 2e-3 in float16, 1.6e-2 in bfloat16. `device`:
    where it comes of products, whose factors are rounded as torch's flags allow: 2e-3 in TF32.

    Such a kernel rounds weights and output by ε/2 each, so Σ w v is wrong by ε/2 · (Σ w |v| + |Σ w v|) at most; 2 ε
    covers it as long as the values cancel to no less than a third.
    """
    products = FULL if device is None else precision_of_products(device)
    return max(OUTPUT_TOLERANCE, 2 * max(torch.finfo(dtype).eps, products.spacing))


def logit_tolerance(precision: Precision) -> float:
    """How far logits of two passes whose products have this precision may be apart, as `Check.logit_error`."""
    return max(LOGIT_TOLERANCE, 2 * precision.spacing)


@dataclass(frozen=True)
class Check:
    """The proof that a trace is what the model computed.

    `row_sum_error`: largest |sum of a row − 1|. `layers_expected`: counted without the recording, None where nobody
    knows how many attention layers the model has.

    `output_error`: measured for this very image, in a few query rows of every recorded layer: the largest difference
    of weights · values, in float32, from what the layer's own kernel gave (of a softmax that the layer writes out, of
    the weights from its own), and of the weights from what is stored, relative to the largest number compared.
    `output_tolerance` is what its precision allows, see `tolerance`. None: no layer, or one that cannot be measured.
    `rows_compared` of `rows_recorded`: in how many rows, others for every picture.

    `logit_error`: largest difference of a logit with and without recording, relative to the largest logit (but at least
    to 1), measured once for a model, an input size, a kind of recording and a `precision` of products, the lowest in
    the pass, which decides what is allowed (`logit_tolerance`); None when it was not.

    `places_error`: how many tokens away from where the trace places it a change of a patch was found, 0 where it says
    what is true, measured once for a model and an input size; None where nothing could be measured. `places_found`: in
    how many layers, of `places_claimed` that say where their tokens lie; `places_elsewhere`: on a picture of noise.
    Where a model decides by the picture, such as which token comes first, it is measured on this very one.

    `edit_error`, of a changed model: the largest difference in a few query rows of every layer from what its own scores
    and the changes come to, computed anew; `edit_tolerance` is larger where scores are divided by a small temperature.

    `pixels_error`: mean difference of the input from what the model's own image processor gives for this very picture;
    None where it has none, or was given another size or other pixels.
    """

    row_sum_error: float
    layers_found: int
    layers_expected: int | None
    logit_error: float | None = None
    output_error: float | None = None
    output_tolerance: float = OUTPUT_TOLERANCE
    rows_compared: int = 0
    rows_recorded: int = 0
    places_error: float | None = None
    places_found: int = 0
    places_claimed: int = 0
    edit_error: float | None = None
    edit_tolerance: float = OUTPUT_TOLERANCE
    precision: Precision = FULL
    places_elsewhere: bool = False
    pixels_error: float | None = None

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """What was compared, whether it agreed or not; empty: nothing was."""
        errors = (self.output_error, self.edit_error, self.logit_error, self.places_error)
        made: dict[Proof, float | None] = dict(zip(get_args(Proof), errors, strict=True))
        return tuple(proof for proof, error in made.items() if error is not None)

    @property
    def refused(self) -> str | None:
        """Why no picture may be drawn: the weights are not what the layers used. One sentence; NaN is never within."""
        if not self.row_sum_error <= ROW_SUM_TOLERANCE:
            return f"The check failed: a row of attention misses one by {self.row_sum_error:.1e}."
        if self.layers_expected not in (None, self.layers_found):
            return f"The check failed: {self.layers_found} of {self.layers_expected} attention layers were recorded."
        for error, allowed, what in (
            (self.output_error, self.output_tolerance, "the recorded weights do not give what a layer itself gave"),
            (self.edit_error, self.edit_tolerance, "a layer does not give what the changes make of it"),
        ):
            if error is not None and not error <= allowed:
                return f"The check failed: {what} (they differ by {error:.1e}, allowed are {allowed:.0e})."
        if self.places_error is not None and not self.places_error < 1e-6:
            off = f"{self.places_error:.0f} token{'s' if self.places_error >= 1.5 else ''}"
            return f"The check failed: a patch that was changed is found {off} away from where the trace places it."
        return None

    @property
    def logit_tolerance(self) -> float:
        return logit_tolerance(self.precision)

    @property
    def failure(self) -> str | None:
        """What is wrong, or that nothing was compared, one sentence to stand beside every picture; None: nothing."""
        if self.pixels_error is not None and not self.pixels_error < PIXEL_TOLERANCE and not self.refused:
            off = f"mean difference {self.pixels_error:.3f}"
            return f"The check failed: the model saw other pixels than its own image processor gives ({off})."
        if self.refused or self.logit_error is None or self.logit_error <= self.logit_tolerance:
            nothing = "This trace carries no proof: nothing was compared with the model."
            return self.refused or (None if self.proofs else nothing)
        off = f"logits differ by {self.logit_error:.1e}, allowed are {self.logit_tolerance:.0e}"
        return f"The check failed: with recording the prediction is another than without ({off})."

    @property
    def layers(self) -> str:
        """How many layers were recorded, and of how many where that is known, in words."""
        of = f" of {self.layers_expected} layers" if self.layers_expected is not None else " layers recorded"
        return f"{self.layers_found}{of}"

    @property
    def compared(self) -> str:
        """In how many rows the outputs were compared, in words; "" where that is not known."""
        known = self.output_error is not None and self.rows_recorded
        return f" in {self.rows_compared:,} of {self.rows_recorded:,} rows" if known else ""

    @property
    def products(self) -> str:
        """In what precision products were made, in words; "" in full float32."""
        return "" if self.precision.spacing <= FULL.spacing else f"products in {self.precision.name}"

    @property
    def places(self) -> str:
        """In how many layers places were measured, in words; "" where none says where its tokens lie."""
        if not self.places_claimed:
            return ""
        found = f"{self.places_found} of {self.places_claimed} layers" if self.places_found else "no layer"
        on = " on another image" if self.places_elsewhere and self.places_found else ""
        return f"places {'wrong' if self.places_error else 'measured'} in {found}{on}"

    @property
    def pixels(self) -> str:
        """How near the input came to what the model's own image processor gives, in words; "" where it has none."""
        said = "the model saw what its own processor gives"
        return "" if self.pixels_error is None else f"{said}: {self.pixels_error:.3f}"

    @property
    def numbers(self) -> str:
        """Every comparison by itself, in words."""
        logits = compared("logits", self.logit_error)
        if self.layers_expected == 0:
            return " · ".join(filter(None, (logits, self.products, self.pixels)))
        outputs = f"{compared('outputs', self.output_error)}{self.compared}"
        changes = "" if self.edit_error is None else within("changes", self.edit_error)
        rows = within("rows", self.row_sum_error)
        shown = (rows, outputs, changes, logits, self.layers, self.places, self.products, self.pixels)
        return " · ".join(filter(None, shown))

    @property
    def said(self) -> str:
        """What agrees in few words, of a check that passed: the largest difference, and all that was not compared."""
        if self.layers_expected == 0:
            same = f"the answer is the same with and without recording ({compared('logits', self.logit_error)})"
            return " · ".join(filter(None, (same, self.products, self.pixels)))
        errors = {"outputs": self.output_error, "logits": self.logit_error, "changes": self.edit_error}
        made = [error for error in errors.values() if error is not None]
        agrees = within(AGREES, max(made), "exactly") if made else within("rows", self.row_sum_error)
        missing = [compared(what, None) for what in ("outputs", "logits") if errors[what] is None]
        rows = self.compared and f"{self.compared.removeprefix(' in ')} compared"
        places = self.places if self.places_found < self.places_claimed else ""
        said = (agrees, rows, *missing, self.layers, places, self.products, self.pixels)
        return " · ".join(filter(None, said))

    @property
    def passed(self) -> bool:
        return self.failure is None


AGREES = "the weights shown give the model's own output"


def compared(what: str, error: float | None) -> str:
    return f"{what} not compared" if error is None else within(what, error)


def within(what: str, error: float, exact: str = "exact") -> str:
    return f"{what} {exact}" if error == 0 else f"{what} within {error:.0e}"
