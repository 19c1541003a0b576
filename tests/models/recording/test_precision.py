"""The precision that products really have, by torch's flags, the device and autocast; and what a check allows then."""

from contextlib import nullcontext

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import vizkit
from tests.drawn import noisy_picture
from vizkit.check import FULL, LOWER, logit_tolerance, precision_of_products, tolerance
from vizkit.models.recording import recorder

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
PICTURE = noisy_picture(32, 32)
# `_is_mkldnn_bf16_supported` says what oneDNN can compute, also by converting; this says what the processor multiplies.
HAS_BF16 = torch.backends.mkldnn.is_available() and torch.cpu._is_avx512_bf16_supported()


@pytest.fixture(autouse=True)
def flags():
    yield
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    torch.backends.mkldnn.conv.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")


def by_name(name):
    torch.set_float32_matmul_precision(name)


def by_old_flag(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed


def by_new_flag(precision):
    torch.backends.cuda.matmul.fp32_precision = precision


@pytest.mark.parametrize(
    "set_to, value, expected",
    [
        (by_name, "highest", FULL),
        (by_name, "high", LOWER["tf32"]),
        (by_name, "medium", LOWER["tf32"]),
        (by_old_flag, True, LOWER["tf32"]),
        (by_old_flag, False, FULL),
        (by_new_flag, "tf32", LOWER["tf32"]),
        (by_new_flag, "ieee", FULL),
    ],
)
def test_products_on_a_gpu_follow_every_way_to_set_them(set_to, value, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (8, 0))
    set_to(value)
    assert precision_of_products(CUDA) == expected
    assert tolerance(torch.float32, CUDA) == max(1e-4, 2 * expected.spacing)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (7, 5))
    assert precision_of_products(CUDA) == FULL


def test_convolutions_on_a_gpu_have_a_flag_of_their_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    assert precision_of_products(CUDA, convolutions=True) == LOWER["tf32"]  # torch's default
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    assert precision_of_products(CUDA, convolutions=True) == FULL


def test_a_flag_means_nothing_where_the_processor_cannot():
    torch.set_float32_matmul_precision("medium")
    assert precision_of_products(CPU) == (LOWER["bf16"] if HAS_BF16 else FULL)
    assert precision_of_products(CPU, convolutions=True) == FULL
    assert precision_of_products(torch.device("mps")) == FULL
    assert logit_tolerance(FULL) == tolerance(torch.float32, torch.device("mps")) == 1e-4


class Rounding(TorchDispatchMode):
    """Factors of products have the 10 bits that TF32 keeps."""

    NAMES = ("mm", "bmm", "addmm", "baddbmm", "convolution", "linear", "_scaled_dot_product_flash_attention_for_cpu")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._schema.name.partition("::")[2] in self.NAMES:
            args = tuple(rounded(each) if isinstance(each, torch.Tensor) else each for each in args)
        return func(*args, **(kwargs or {}))


def rounded(tensor):
    if tensor.dtype != torch.float32:
        return tensor
    bits = tensor.contiguous().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


def pretend_tf32(monkeypatch):
    for module in ("vizkit.check", "vizkit.models.recording.edit_proof"):
        monkeypatch.setattr(f"{module}.precision_of_products", lambda device, *, convolutions=False: LOWER["tf32"])
    return Rounding()


def real_bf16(monkeypatch):
    if not HAS_BF16:
        pytest.skip("This processor multiplies float32 in full precision.")
    torch.set_float32_matmul_precision("medium")
    return nullcontext()


def autocast(monkeypatch):
    return torch.autocast("cpu", dtype=torch.bfloat16)


WAYS = pytest.mark.parametrize(
    "lower, words",
    [
        (pretend_tf32, "products in TF32"),
        (real_bf16, "products in bfloat16"),
        (autocast, "products in bfloat16 (autocast)"),
    ],
)


@WAYS
@pytest.mark.parametrize("edits", [(), ("temperature:2=0.5",)])
def test_a_trace_passes_in_lower_precision_and_says_so(lower, words, edits, monkeypatch):
    with lower(monkeypatch):
        check = vizkit.trace(vizkit.load("bundled:digits_vit"), PICTURE, edits=edits).check
    assert check.failure is None
    assert check.products == words
    assert 1e-4 < check.output_error < check.output_tolerance < 0.02


@WAYS
@pytest.mark.parametrize("share", [0.1])
def test_a_wrong_recording_is_refused_in_lower_precision_too(lower, words, share, monkeypatch):
    true = recorder.attention_weights
    monkeypatch.setattr(
        recorder,
        "attention_weights",
        lambda *args, **options: (1 - share) * (made := true(*args, **options)) + share * made.roll(1, -1),
    )
    with lower(monkeypatch):
        check = vizkit.trace(vizkit.load("bundled:digits_vit"), PICTURE).check
    assert "the recorded weights do not give what a layer itself gave" in str(check.refused)


def test_what_was_compared_in_one_precision_is_compared_anew_in_another(monkeypatch):
    loaded = vizkit.load("bundled:digits_vit")
    with pretend_tf32(monkeypatch):
        coarse = vizkit.trace(loaded, PICTURE).check
    monkeypatch.undo()
    fine = vizkit.trace(loaded, PICTURE).check
    assert (coarse.passed, fine.passed) == (True, True)
    assert fine.logit_error < 1e-5
    assert fine.products == ""
