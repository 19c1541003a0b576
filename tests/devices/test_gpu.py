"""`make gpu` and what else a GPU runs: here on a device that is pretended, and, marked `gpu`, on one that is there."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from benchmarks import gpu
from benchmarks.bundled.super_resolution import LEVELS, by_level
from tests.devices import NAME, pretended
from tests.devices.test_apple import OTHER, PICTURE, PROBES, RECIPES, Pretending, trained_and_judged
from tests.evaluation.test_super_resolution import SIZES
from vizkit.datasets.opening import open_set
from vizkit.datasets.scenes.opening import open_boxes
from vizkit.evaluation.answers import evaluate
from vizkit.evaluation.query_habits import habits
from vizkit.evaluation.scenes.judging import judge
from vizkit.models import pixels_of
from vizkit.models.detection.detecting import detect
from vizkit.models.detection.opening import open_detector
from vizkit.models.detection.opening_masks import open_masks
from vizkit.models.detection.segmenting import segment
from vizkit.models.detection.tracing import Answer, trace_picture
from vizkit.models.networks.super_resolution.ttsr import build
from vizkit.models.probes import parts, positions
from vizkit.models.probes.convolution.first_layer import first_layer
from vizkit.models.probes.convolution.layers_seen import seen
from vizkit.models.probes.interventions.steering import steered
from vizkit.models.probes.patch_merging import leaving, merged
from vizkit.models.probes.swin_changes import changed
from vizkit.models.probes.two_heads import two_heads
from vizkit.models.probes.unreduced import unreduced
from vizkit.models.probes.window_parts import window_parts
from vizkit.models.sequences import greedy, open_sequence
from vizkit.models.sequences.influence import influence
from vizkit.models.super_resolution import enlarging, open_enlarger
from vizkit.models.super_resolution.seen import see
from vizkit.models.super_resolution.tracing import trace as trace_texture
from vizkit.training.loop import accelerator_of

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
THERE = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU on this machine.")
CUDA = pytest.param("cuda", marks=[pytest.mark.gpu, THERE])
DEVICES = pytest.mark.parametrize("device", [NAME, CUDA])


def on(device):
    """Within it the device is there."""
    return pretended() if device == NAME else nullcontext()


# ---- what runs with a model there gives what it gives on the CPU -----------------------------------------------------
def bundled(name, device):
    return vizkit.load(f"bundled:{name}", device=device)


def edited(name, *edits, target=None):
    def ask(device):
        made = vizkit.trace(bundled(name, device), PICTURE, edits=edits, reference=[OTHER], target=target)
        assert made.check.passed
        return made.logits, made.attention[-1].weights

    return ask


def merging(device):
    loaded, large = bundled("insects_swin", device), PICTURE.repeat(4, 0).repeat(4, 1)[:112, :112]
    trace = vizkit.trace(loaded, large)
    return merged(loaded, leaving(loaded, pixels_of(loaded, large), trace, 0), 0).after


def both_heads(device):
    loaded = bundled("insects_deit", device)
    return two_heads(loaded, pixels_of(loaded, PICTURE.repeat(4, 0).repeat(4, 1)[:112, :112])).cls


def of_texts(device):
    model = open_sequence("bundled:dates_transformer", device=device)
    words = ["the", "2", "1", "st", "of", "november", ",", "2", "0", "2", "6"]
    return influence(model, words, greedy(model, words).words).whole


def detected(device):
    detector, large = open_detector("bundled:scenes_detr"), PICTURE.repeat(3, 0).repeat(3, 1)
    masks = open_masks("bundled:scenes_detr").to(device)
    detector.model.to(device)
    traced = trace_picture(detector, large, Answer(0, 1))
    found = [one.score for one in detect(detector, large, 0.0)]
    scenes = open_boxes("scenes", "test", count=2)
    said = judge([detector], scenes, {}), habits(detector, scenes, 0.5).scores
    return (
        traced.attention[-1].gradient,
        torch.tensor(found),
        torch.from_numpy(said[1]),
        torch.from_numpy(segment(detector, masks, large, 0.1).instances.astype(np.int16)),
    )


def enlarged(device):
    enlarger = open_enlarger("bundled:insects_ttsr")
    enlarger.model.to(device)
    small, reference = PICTURE[:8, :8], OTHER[:24, :28]
    hard, mixed = (trace_texture(enlarger, small, reference, sharpness=one) for one in (0.0, 30.0))
    assert hard.check.passed
    assert mixed.check.passed
    whole = enlarging.enlarge(enlarger, small, reference)
    return hard.logits, mixed.attention[0].weights, see(enlarger, small, reference).relevance, torch.from_numpy(whole)


ENTRIES = {
    "head off": edited("digits_vit", "heads:2.1=0", target=3),
    "head's mean": edited("digits_vit", "heads:2=mean"),
    "equal weights": edited("digits_swin", "uniform:2"),
    "another temperature": edited("digits_swin", "temperature:2=2"),
    "blind": edited("digits_swin", "blind:2=3,4"),
    "frozen": edited("digits_vit", "frozen:2.1"),
    "patched": edited("digits_vit", "patch:stream.2=3,4"),
    "moved positions": edited("digits_vit", "positions:scramble=1"),
    "fewer patches": edited("digits_vit", "drop:3,4"),
    "windows": lambda device: window_parts(x := bundled("digits_swin", device), pixels_of(x, PICTURE), 1).weights,
    "merging": merging,
    "no shift": lambda device: vizkit.trace(changed(bundled("digits_swin", device), shift=False), PICTURE).logits,
    "not reduced": lambda device: vizkit.trace(unreduced(bundled("digits_gradual", device)), PICTURE).logits,
    "two heads": both_heads,
    "embedding": lambda device: (
        parts.patch_embedding(x := bundled("digits_vit", device), pixels_of(x, PICTURE)).vectors
    ),
    "positions": lambda device: positions.learned_table(bundled("digits_vit", device)),
    "relative bias": lambda device: positions.relative_bias(bundled("digits_swin", device), 0).bias,
    "kernels": lambda device: first_layer(bundled("digits_cnn", device)).weight,
    "channels": lambda device: tuple(
        seen(x := bundled("digits_cnn", device), pixels_of(x, PICTURE), 0).convolved[0].after.values()
    ),
    "texts": of_texts,
    "detection": detected,
    "super-resolution": enlarged,
}


@DEVICES
@pytest.mark.product("device")
@pytest.mark.parametrize("entry", ENTRIES)
def test_it_gives_there_what_it_gives_on_the_cpu(entry, device):
    with on(device):
        found = ENTRIES[entry](device)
    expected = ENTRIES[entry]("cpu")
    for own, other in zip(
        *(each if isinstance(each, tuple | list) else [each] for each in (found, expected)), strict=True
    ):
        assert own is None or own.device.type in ("cpu", device)
        if own is not None and own.dtype in (torch.uint8, torch.int16):  # what lies between two goes either way
            off = (own.cpu().int() - other.int()).abs()
            assert own.shape == other.shape
            assert (off > 0).float().mean() < 0.01
            assert own.dtype == torch.int16 or off.max() <= 1  # of bytes to the next one, of pixels to any other object
            continue
        assert_close(own.cpu(), other, atol=2e-3, rtol=2e-3)


@pytest.mark.rest
def test_likeness_of_references_is_measured_there(monkeypatch):
    monkeypatch.setattr("benchmarks.bundled.super_resolution.LEVELS", LEVELS[:1])
    models = [build(name, SIZES).eval() for name in ("ttsr_small", "sr_small")]
    expected = by_level(*models, 24)
    with pretended():
        found = by_level(*(model.to(NAME) for model in models), 24)
    assert {name: level.psnr for name, level in found.items()} == pytest.approx(
        {name: level.psnr for name, level in expected.items()}, abs=1e-3
    )


@pytest.mark.gpu
@THERE
@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_on_a_gpu(probe):
    found, expected = (
        PROBES[probe](loaded, pixels_of(loaded, PICTURE), vizkit.trace(loaded, PICTURE))
        for loaded in (bundled("digits_vit", "cuda"), bundled("digits_vit", "cpu"))
    )
    assert_close(found.cpu(), expected, atol=1e-3, rtol=1e-2)


@pytest.mark.gpu
@THERE
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", RECIPES)
def test_a_run_on_a_gpu(name, precision, tmp_path):
    recipe = RECIPES[name].but({"precision": precision})
    assert np.isfinite(trained_and_judged(recipe, accelerator_of(recipe, ""), tmp_path)).all()


# ---- half precision --------------------------------------------------------------------------------------------------
HALVED = {
    "digits_vit": lambda loaded: vizkit.trace(loaded, PICTURE, target=3).logits,
    "digits_swin": lambda loaded: vizkit.trace(loaded, PICTURE, edits=["uniform:2"]).logits,
    "digits_cnn": lambda loaded: vizkit.explain(loaded, PICTURE, "smooth_grad").heat,
    "digits_gradual": lambda loaded: steered(
        loaded, pixels_of(loaded, PICTURE), 1, torch.ones(1, loaded.model.embed_dim), [0.0, 0.3]
    ),
    "insects_deit": lambda loaded: (
        two_heads(
            loaded, torch.from_numpy(PICTURE).permute(2, 0, 1)[None].repeat(1, 1, 4, 4)[..., :112, :112] / 255
        ).dist
    ),
}


@pytest.mark.product("device", "precision")
@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("name", HALVED)
def test_a_model_in_half_precision_takes_pictures_as_they_are(name, precision, device):
    loaded = bundled(name, device)
    expected = HALVED[name](loaded).cpu()
    loaded.model.to(HALF[precision])
    found = HALVED[name](replace(loaded, compared={}))
    assert found.dtype == torch.float32
    assert (found.cpu() - expected).abs().max() < 0.2 * expected.abs().max()


@pytest.mark.parametrize("precision", HALF)
def test_a_strangers_module_in_half_precision_is_measured_and_evaluated(precision, tmp_path, monkeypatch):
    own = bundled("digits_vit", "cpu")
    needs, module = own.preprocessing, own.model.to(HALF[precision])
    loaded = vizkit.wrap(module, size_hw=needs.size_hw, mean=needs.mean, std=needs.std, labels=own.labels)
    assert loaded.dtype == HALF[precision]
    assert vizkit.trace(loaded, PICTURE).check.passed
    answers = evaluate(loaded, open_set("digits", "test", images=40))
    assert (answers.logits.argmax(-1) == answers.targets).mean() > 0.9


# ---- `make gpu` ------------------------------------------------------------------------------------------------------
@pytest.mark.rest
@DEVICES
@pytest.mark.parametrize("title", [title for title in gpu.SUBJECTS if title != "Tests"])
def test_each_subject_is_measured_there(title, device, monkeypatch, tmp_path):
    if device == NAME:
        monkeypatch.setattr("vizkit.training.loop.accelerator_of", lambda *_: Pretending(cpu=True))
        # What pretends is of one thread: visitors come one after another.
        monkeypatch.setattr(gpu, "run_at_once", lambda works: [work() for work in works])
    precisions = ("fp32",) if device == NAME else gpu.PRECISIONS
    with on(device):
        rows = list(gpu.SUBJECTS[title](gpu.Measuring(device, small=True, precisions=precisions)))
    assert rows
    said = " ".join(measured for _, measured, _ in rows)
    assert not any(words in said for words in ("nan", "nothing said", "failed", "not what", "disagree"))
    if title == "Proofs":
        assert said.count("a layer's output off by") == len(rows)
    if title == "Two models at once":
        assert "4 of 4 traces, logits off by 0.0e+00" in said


def test_where_there_is_no_gpu_a_sentence_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="sees no GPU here: nothing was measured"):
        gpu.run([])


def test_the_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def broken(here):
        yield "first", "1.01 × | so", "≤ 1.05 ×"
        raise RuntimeError("lost")

    file = tmp_path / "gpu.md"
    monkeypatch.setattr(gpu, "PAGE", file)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Some GPU for {device}")
    monkeypatch.setattr(gpu, "SUBJECTS", {"Tests": broken})
    with pytest.raises(RuntimeError, match="lost"):
        gpu.run([])
    assert not file.exists()
    monkeypatch.setattr(gpu, "SUBJECTS", {"Tests": lambda here: iter([("first", "1.01 × | so", "≤ 1.05 ×")])})
    gpu.run([])
    assert f"Some GPU for cuda · torch {torch.__version__}, " in file.read_text()
    assert (
        "## Tests\n\n| what | measured | goal |\n|---|---|---|\n| first | 1.01 × \\| so | ≤ 1.05 × |"
        in file.read_text()
    )
