"""Nothing makes a float64 on a device or forgets a tensor on the CPU: traces, probes, training and evaluation."""

import threading

import numpy as np
import pytest
import torch
import torch._dynamo  # imported late by PyTorch otherwise, and not on a pretended device
import torch.distributed.tensor
from accelerate import Accelerator
from torch import nn
from torch.testing import assert_close
from torch.utils.data import Dataset

import vizkit
from tests.devices import NAME, ElsewhereError, pretended
from tests.drawn import noise
from tests.toys import Stranger
from tests.training.super_resolution.test_task import TINY as ENLARGING
from tests.training.test_detection import TINY as DETECTING
from tests.training.test_sequences import TINY as TEXTS
from tests.training.test_training import QUICK
from vizkit.datasets.opening import open_set
from vizkit.evaluation.answers import evaluate
from vizkit.models import attention_places, pixels_of
from vizkit.models.probes.block_outputs import block_outputs
from vizkit.models.probes.convolution.effective_field import effective_fields
from vizkit.models.probes.convolution.shifting import answers_when_moved
from vizkit.models.probes.importance.heads import head_importance
from vizkit.models.probes.interventions.patching import patch
from vizkit.models.probes.interventions.steering import class_directions, steered
from vizkit.models.probes.lenses.direct_attribution import direct_attribution
from vizkit.models.probes.lenses.logit_lens import logit_lens
from vizkit.models.probes.parts import attention_parts
from vizkit.models.sequences import greedy, open_sequence, trace_pair
from vizkit.training import loop
from vizkit.training.runs.folder import RunFolder

PICTURE, OTHER = np.random.default_rng(0).integers(256, size=(2, 32, 32, 3), dtype=np.uint8)
THERE = torch.device(NAME, 0)


# ---- the device can refuse -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.double(),
        lambda x: torch.zeros(3, device=x.device, dtype=torch.float64),
        lambda x: torch.tensor([1.0], device=x.device, dtype=torch.float64),
        lambda x: x.to(torch.float64).cpu(),
        lambda x: x + torch.ones(3),
        lambda x: nn.Linear(3, 3)(x),
        lambda x: np.asarray(x),
        lambda x: x.numpy(),
        lambda x: torch.arange(3)[x.long()],
        lambda x: torch.zeros(()).add_(x.sum()),
        lambda x: torch.rand(3, device=x.device, generator=torch.Generator()),
        lambda x: torch.bernoulli(x, generator=torch.Generator()),
    ],
)
def test_it_refuses_float64_and_tensors_of_the_cpu(wrong):
    with pretended(), pytest.raises(ElsewhereError):
        wrong(torch.ones(3).to(NAME))


def test_it_computes_as_the_cpu_does():
    given, layer = noise(2, 3), nn.Linear(3, 1)
    expected = torch.autograd.grad(layer(given).square().sum(), layer.weight)[0]
    with pretended():
        moved = layer.to(NAME)
        moved(given.to(NAME)).square().sum().backward()
        assert moved.weight.grad.device.type == NAME
        assert_close(moved.weight.grad.cpu(), expected)
        assert given.to(NAME).cpu().double().dtype == torch.float64
        assert float(torch.tensor(2.0, device=NAME) * 3) == 6


# ---- models ----------------------------------------------------------------------------------------------------------
def on(name):
    return vizkit.load(f"bundled:{name}", device=NAME)


@pytest.mark.product
@pytest.mark.parametrize("name", ["digits_vit", "digits_swin", "digits_cnn", "digits_dual"])
def test_a_trace_is_what_it_is_on_the_cpu(name):
    expected = vizkit.trace(vizkit.load(f"bundled:{name}", device="cpu"), PICTURE, target=3)
    with pretended():
        found = vizkit.trace(on(name), PICTURE, target=3)
    assert found.check.passed
    for own, other in zip(found.attention, expected.attention, strict=True):
        assert_close(own.weights, other.weights)
        assert_close(own.gradient, other.gradient)


def test_a_strangers_module_is_measured_there():
    with pretended():
        found = vizkit.trace(vizkit.wrap(Stranger(8, 8, 2), size_hw=(32, 32), device=NAME), PICTURE)
    assert found.check.passed
    assert found.attention[0].query.grid == (4, 4)


@pytest.mark.rest
@pytest.mark.parametrize("method", ["rollout", "generic_relevance", "grad_cam", "integrated_gradients", "occlusion"])
def test_a_map_is_made_there(method):
    with pretended():
        assert torch.isfinite(vizkit.explain(on("digits_vit"), PICTURE, method).heat).all()


def places_of(loaded, pixels):
    return attention_places(loaded, pixels.to(loaded.device))


PROBES = {
    "direct attribution": lambda loaded, x, trace: direct_attribution(loaded, trace, x, 3, None).attention,
    "logit lens": lambda loaded, x, trace: logit_lens(loaded, trace).logits,
    "blocks": lambda loaded, x, trace: next(iter(block_outputs(loaded)(x).values())),
    "effective fields": lambda loaded, x, trace: effective_fields(loaded, [x])[0].share,
    "moved": lambda loaded, x, trace: answers_when_moved(loaded, x.to(loaded.device), [0, 1]).cosine.cpu(),
    "parts": lambda loaded, x, trace: attention_parts(loaded, x, 0).entering.cpu(),
    "patching": lambda loaded, x, trace: (
        patch(loaded, x, x.flip(-1), attention_places(loaded, x.to(loaded.device)), 4).regions
    ),
    "heads": lambda loaded, x, trace: (
        head_importance(loaded, x, torch.tensor([3]), attention_places(loaded, x.to(loaded.device))).lost
    ),
    "steering": lambda loaded, x, trace: steered(
        loaded, x, 1, class_directions(loaded, [(torch.cat([x, x.flip(-1)]), torch.tensor([0, 1]))])[1, 0], [0.0, 1.0]
    ),
}


@pytest.mark.product
@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_gives_there_what_it_gives_on_the_cpu(probe):
    def asked(loaded):
        return PROBES[probe](loaded, pixels_of(loaded, PICTURE), vizkit.trace(loaded, PICTURE))

    with pretended():
        found = asked(on("digits_vit"))
    assert_close(found, asked(vizkit.load("bundled:digits_vit", device="cpu")), atol=1e-4, rtol=1e-3)


@pytest.mark.rest
def test_a_text_is_traced_there():
    words = ["the", "2", "1", "st", "of", "november", ",", "2", "0", "2", "6"]
    with pretended():
        model = open_sequence("bundled:dates_transformer", device=NAME)
        assert trace_pair(model, words, greedy(model, words).words).check.passed


# ---- training and evaluation -----------------------------------------------------------------------------------------
class Pretending(Accelerator):
    device = property(lambda self: THERE)


class Few(Dataset):
    """The first examples of a split."""

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return 8

    def __getitems__(self, keys):
        return self.data.__getitems__(keys)


RECIPES = {
    "pictures": QUICK.but({"images": 32, "optimizer": "muon", "mixup": 0.2, "erasing": 0.5, "turn_deg": 9.0}),
    "taught": QUICK.but({"images": 32, "teacher": "bundled:digits_cnn", "distillation": "soft"}),
    "enlarging": ENLARGING.but({"perceptual": 0.01, "adversarial": 0.01}),
    "detecting": DETECTING.but({"images": 12}),
    "texts": TEXTS.but({"images": 32, "model": "seq2seq_transformer"}),
}


def trained_and_judged(recipe, accelerator, folder):
    """(loss of an epoch, loss of a few examples)"""
    run = RunFolder(folder / "run")
    run.create(recipe)
    work = loop.Loop(run, recipe, accelerator, 0, False)
    work.stop_requested = threading.Event()
    batches = loop.Batches(len(work.sets["train"]), recipe, 0, 1)
    batches.epoch = 0
    line = work.one_epoch(loop.loader(work.read("train"), batches, 0, pin=work.device.type == "cuda"), batches, [])
    return line["train_loss"], work.score(work.model, Few(work.read("val"))).loss


@pytest.mark.product
@pytest.mark.parametrize("name", RECIPES)
def test_a_run_is_trained_and_judged_there(name, tmp_path):
    with pretended():
        losses = trained_and_judged(RECIPES[name], Pretending(cpu=True), tmp_path)
    assert np.isfinite(losses).all()


def test_pictures_are_answered_there():
    with pretended():
        assert evaluate(on("digits_vit"), open_set("digits", "test", images=20)) is not None
