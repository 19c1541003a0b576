"""What changes inside while a network learns: against plain torch, by hand, and in sentences that are the run's own."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose, assert_array_equal

import vizkit
from tests.training.test_training import followed
from vizkit.analysis.attention.positions import nearness
from vizkit.analysis.attention.statistics import mean_distance_px
from vizkit.analysis.remarks import evaluation as remarks
from vizkit.evaluation.inside import growth as module
from vizkit.evaluation.inside.few_pictures import FewPictures
from vizkit.evaluation.inside.growth import Growth, growth, like, norms, snapshot
from vizkit.evaluation.learning import watched
from vizkit.figure.palette import OTHERS
from vizkit.figure.training.by_step import ZOOM, filter_pixels
from vizkit.models import Keep, pixels_of, trace
from vizkit.traces import NotApplicable
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.blocks import Chart, Line, Numbers, Said
from vizkit.views.settled import flat
from vizkit.views.subject import Subject, no_model, no_picture
from vizkit.views.train.inside import WHAT, Inside, recorded

RUN = RunFolder(bundled.RECORDED_FOLDER)
IMAGES = 7


@pytest.fixture(scope="module")
def asked():
    return watched(RUN, 990, IMAGES)


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / "cache"))


def test_a_snapshot_is_of_the_model_of_that_step(asked, cached):
    found, loaded = snapshot(RUN, 64, asked), vizkit.load(f"{RUN.path}@64")
    traces = [trace(loaded, rgb, keep=Keep()) for rgb, _ in asked.images]
    by_hand = torch.stack([mean_distance_px(each.attention[2]) for each in traces]).mean(0)
    assert_allclose(found.distance_px[2], by_hand.numpy(), rtol=1e-5)
    right = [int(each.logits.argmax()) == target for each, target in zip(traces, asked.targets, strict=True)]
    assert found.right.tolist() == right
    assert_allclose(found.filters[5], loaded.model.patch_embed.proj.weight[5].detach().permute(1, 2, 0).numpy())
    assert found.distance_px.shape == found.entropy.shape == found.importance.shape == (4, 4)
    assert found.on_object.shape == (IMAGES,)


def test_a_checkpoint_is_measured_once(asked, cached, monkeypatch):
    measured, own = [], module._snapshot
    monkeypatch.setattr(module, "_snapshot", lambda *given: measured.append(given[1]) or own(*given))
    first, again = snapshot(RUN, 8, asked), snapshot(RUN, 8, asked)
    assert measured == [8]
    assert_array_equal(first.grams, again.grams)
    assert first.parts == again.parts


def test_norms_are_those_of_a_plain_loop(asked):
    loaded = vizkit.load(f"{RUN.path}@429")
    weight, gradient = norms(FewPictures(asked.images, loaded))
    for each in loaded.model.parameters():
        each.requires_grad_(True)
    losses = [
        F.cross_entropy(loaded.model(pixels_of(loaded, rgb)), torch.tensor([target])) for rgb, target in asked.images
    ]
    torch.stack(losses).mean().backward()
    named = dict(loaded.model.named_parameters())
    groups = {"blocks.1": [n for n in named if n.startswith("blocks.1.")]}
    groups["input"] = [n for n in named if n.startswith(("cls_token", "pos_embed", "patch_embed"))]
    groups["output"] = [n for n in named if n.startswith(("norm.", "head."))]
    assert [*weight] == ["input", *(f"blocks.{at}" for at in range(4)), "output"]
    for part, names in groups.items():
        flat_weight = torch.cat([named[n].detach().flatten() for n in names])
        flat_gradient = torch.cat([named[n].grad.flatten() for n in names])
        assert weight[part] == pytest.approx(float(flat_weight.norm()), rel=1e-5)
        assert gradient[part] == pytest.approx(float(flat_gradient.norm()), rel=1e-4)


def test_what_lies_between_two_blocks_belongs_to_the_later_one():
    names = ["stem.weight", "s.0.b.weight", "s.1.down.weight", "s.1.b.weight", "head.weight"]
    found = module._parts(names, ["s.0.b", "s.1.b"])
    assert [*found.values()] == ["input", "s.0.b", "s.1.b", "s.1.b", "output"]
    assert {*module._parts(["a.weight", "b.weight"], []).values()} == {"all weights"}


def test_a_layer_is_like_itself_and_not_like_another():
    features = torch.randn(11, 5, generator=torch.Generator().manual_seed(0)).double()
    turned, _ = torch.linalg.qr(torch.randn(5, 5, generator=torch.Generator().manual_seed(1)).double())
    other = torch.randn(11, 5, generator=torch.Generator().manual_seed(2)).double()
    own, same, strange = ((each @ each.T).numpy() for each in (features, 3 * features @ turned, other))
    assert like(own, own) == pytest.approx(1)
    assert like(own, same) == pytest.approx(1)
    assert like(own, strange) < 0.5


def test_near_positions_that_are_alike():
    angles = torch.linspace(0, 1.5, 5)
    line = torch.stack([angles.cos(), angles.sin()], -1)[None]  # cosine falls with every step
    assert nearness(line) == pytest.approx(1)
    # Of three places in a row the pairs have the distances 1, 2, 1 and the cosines 0, 1, 0.
    assert nearness(torch.tensor([[[1.0, 0], [0, 1], [1, 0]]])) == pytest.approx(-1)
    noise = torch.randn(7, 5, 16, generator=torch.Generator().manual_seed(0))
    assert abs(nearness(noise)) < 0.15
    assert nearness(noise) == pytest.approx(nearness(noise.transpose(0, 1)), abs=1e-6)


def test_learned_and_forgotten_by_hand():
    #         never, always, late, forgotten for good, forgotten twice
    right = np.array([[0, 1, 0, 1, 1], [0, 1, 0, 1, 0], [0, 1, 1, 0, 1], [0, 1, 1, 0, 0], [0, 1, 1, 0, 1]], float)
    since, times = remarks.forgotten(right)
    assert since.tolist() == [5, 0, 2, 5, 4]
    assert times.tolist() == [0, 0, 0, 1, 2]
    assert remarks.learned_when([1, 2, 4, 8, 10], right) == (
        "3 of 5 test images are right after step 10, 3 after step 1; the largest group of them, 1, for good since step "
        "1. 2 images were right and then wrong after a later step, of which 1 at the end."
    )
    assert "nothing was learned for good" in remarks.learned_when([1, 2], np.zeros((2, 3)))


def test_filters_lie_in_their_rows():
    filters = np.zeros((2, 3, 5, 7, 3), np.float32)
    filters[1, 2, 4, 6] = (1, -1, 0.5)
    rgb = filter_pixels(filters)[::ZOOM, ::ZOOM]
    assert rgb.shape == (2 * 6, 3 * 8, 3)
    assert rgb[6 + 4, 16 + 6].tolist() == [255, 0, 191]
    assert rgb[0, 0].tolist() == [128] * 3
    assert rgb[5, 0].tolist() == rgb[0, 7].tolist() == [255] * 3


def test_sentences_are_the_runs_own():
    values = np.array([[[4.0, 4.0], [4.0, np.nan]], [[4.0, 1.0], [4.0, np.nan]]])
    assert remarks.heads_over_steps("attention distance", " px", [1, 64], values, 1) == (
        "From step 1 to 64 the attention distance of 3 heads, in the mean, went from 4.0 px to 3.0 px; most in head 2 "
        "of layer 1, from 4.0 px to 1.0 px."
    )
    assert remarks.changed_most(values) == [(0, 1), (0, 0), (1, 0)]
    assert "training has not touched it" in remarks.heads_over_steps("x", "", [1, 64], values[[0, 0]], 1)
    assert remarks.near_alike([1, 8], np.array([0.0, -0.01])).endswith("do not tell which places are near.")
    assert remarks.near_alike([1, 8], np.array([0.0, 0.7])).endswith("nearer places have more similar positions.")
    assert remarks.settling([1, 2, 4, 8], np.array([[0.95, 0.1], [0.5, 0.2], [0.9, 0.3], [1, 1]])) == (
        "Layer 1 is the first that stays like its own end, with a CKA of at least 0.9: from step 4 on; layer 2 is the "
        "last, from step 8 on."
    )
    assert remarks.settling([1, 2], np.array([[0.95, 0.97], [1, 1]])).endswith("the lowest CKA of all is 0.95.")
    norm = np.array([[3.0, 4.0], [30.0, 4.0], [6.0, 8.0]])
    assert remarks.norms_over_steps("the gradient", [1, 2, 4], norm, ["input", "layer 1"]) == (
        "The norm of the gradient goes from 5 after step 1 to 10 after step 4, largest after step 2 (30.3); most by "
        "its factor in “input”, × 2."
    )


@pytest.mark.parametrize("name", bundled.TABLES.values())
def test_a_recorded_table_is_whole(name):
    of = recorded(name)
    count = 13 if name in ("insects_cnn", "insects_swin") else 14
    assert len(of.steps) == len(of.cka) == count
    assert of.right.shape == (count, 60)
    assert_allclose(of.cka[-1], 1, atol=1e-6)
    assert (of.distance_px.size > 0) == ("cnn" not in name)


@pytest.mark.rest
def test_the_recording_is_what_is_measured_now(cached):
    of, known = watched(RUN, 990, module.ASKED), recorded("digits_small")
    found = growth([64], [snapshot(RUN, 64, of)], of)
    at = known.steps.tolist().index(64)
    for name in ("distance_px", "entropy", "importance", "weight", "gradient", "filters"):
        assert_allclose(getattr(found, name)[0], getattr(known, name)[at], rtol=2e-2, atol=1e-5)


@pytest.mark.parametrize(
    "model, missing",
    [
        ("digits_cnn", {"distance", "entropy", "importance", "positions"}),
        ("digits_mlp", {*WHAT} - {"layers", "weights", "gradients", "images"}),
    ],
)
def test_a_network_says_what_it_does_not_have(tmp_path, cached, monkeypatch, model, missing):
    monkeypatch.setattr("vizkit.views.train.inside.ASKED", 4)
    run = followed(
        tmp_path / "run", Recipe(data="digits", images=32, model=model, epochs=1, batch=32, warmup_epochs=0.0)
    )
    of = Subject(no_model, no_picture())
    of.texts = {"mine": str(run.path)}
    said = set()
    for what in WHAT:
        try:
            blocks = [*flat(Inside(run="mine", what=what).show(of))]
        except NotApplicable:
            said.add(what)
        else:
            assert next(block for block in blocks if isinstance(block, Said)).text
            (numbers,) = (block for block in blocks if isinstance(block, Numbers))
            arrays = numbers.arrays()
            assert arrays.keys() > Growth.__dataclass_fields__.keys()
            assert arrays["distance_px"].shape[1] == arrays["heads_of_layers_distance_px"].sum()
    assert said == missing


def test_a_run_that_is_not_here_is_a_sentence():
    with pytest.raises(NotApplicable, match="There is no run 'none' here"):
        list(Inside(run="none").show(Subject(no_model, no_picture())))


@pytest.mark.parametrize("run", bundled.TABLES)
def test_it_opens_on_what_every_network_has(run):
    assert list(Inside(run=run).show(Subject(no_model, no_picture())))


@pytest.mark.parametrize(
    "run, what, reach, cut",
    [
        ("small ViT · insects", "positions", [-1, 1.02], False),
        ("small ViT · digits", "positions", [0, 1.02], False),
        ("small ViT · digits", "entropy", None, True),
        ("small ViT · insects", "entropy", None, True),
        ("small ViT · digits", "object", [0, 1.02], False),
        ("small ViT · digits", "distance", None, True),
        ("small ViT · insects", "distance", None, True),
        ("small Swin · insects", "distance", [0, pytest.approx(34.22, abs=0.01)], False),
    ],
)
def test_what_has_a_whole_range_is_drawn_in_it_unless_its_lines_would_be_flat(run, what, reach, cut):
    blocks = list(Inside(run=run, what=what).show(Subject(no_model, no_picture())))
    (figure,) = [block.figure for block in blocks if isinstance(block, Chart)]
    ends = figure.layout.yaxis.range
    assert (ends and list(ends)) == reach
    assert any("The axis is cut" in block.text for block in blocks if isinstance(block, Line)) is cut
    assert ("axis cut" in figure.layout.yaxis.title.text) is cut


def test_the_head_that_the_sentence_names_is_the_thickest_and_few_are_in_colour():
    blocks = list(Inside(run="small ViT · insects", what="distance").show(Subject(no_model, no_picture())))
    (figure,), (said,) = ([block for block in blocks if isinstance(block, kind)] for kind in (Chart, Said))
    grey = [line for line in figure.figure.data if line.line.color == OTHERS]
    coloured = [line for line in figure.figure.data if line.line.color != OTHERS]
    assert (len(grey), len(coloured)) == (21, 3)
    assert coloured[0].name == "head 2 of layer 5"
    assert coloured[0].name in said.text
    assert coloured[0].line.width > max(line.line.width for line in (*grey, *coloured[1:]))
    assert [line.name for line in grey if line.showlegend] == ["the others"]
