"""Methods that run the model again, on linear models worked out on paper and on trained ones against plain loops."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.toys import CELLS, SIZE, by_cell, linear, picture
from vizkit.analysis.attribution import input_attribution as again
from vizkit.analysis.attribution.methods import METHODS, Given
from vizkit.analysis.attribution.subject import Stopped, Subject, cell_of_pixel, filled, on_cells
from vizkit.datasets.insects import draw
from vizkit.scoring import subject_of

WEIGHTS, PIXELS = picture(1)[0], picture(2)


@pytest.fixture(scope="module")
def toy():
    return linear(WEIGHTS, PIXELS)


@pytest.fixture(scope="module")
def insect():
    return draw(5, split="test", seed=7, size_px=112).picture


def trained(name, insect, target=None):
    loaded = vizkit.load(f"bundled:{name}")
    subject = subject_of(loaded, insect, 0)
    with torch.no_grad():
        best = int(subject.logits(subject.pixels)[0].argmax())
    return subject_of(loaded, insect, best if target is None else target)


# Linear models --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fill", ["mean", "blur"])
def test_integrated_gradients_of_a_linear_model(toy, fill):
    found = again.integrated_gradients(toy, fill, steps=2)
    assert_close(found.heat, ((PIXELS - filled(PIXELS, fill))[0] * WEIGHTS).sum(0))
    assert found.error < 1e-4
    assert found.steps == 2


def test_input_times_gradient_of_a_linear_model(toy):
    given = Given(None, None, "mean", toy)  # it reads the model alone
    assert_close(METHODS["input_times_gradient"].run(given), (WEIGHTS * PIXELS[0]).sum(0))


def test_smooth_grad_of_a_linear_model(toy):
    assert_close(again.smooth_grad(toy, 4), WEIGHTS.abs().sum(0))


def test_smooth_grad_cancels_noise_before_the_sign_is_dropped():
    """Of Σ x² at zero every noisy gradient is 2 · noise: their mean is nothing, that of their sizes is not."""
    pixels = torch.zeros(1, 1, 4, 8)
    pixels[0, 0, 0, 0] = 1.0
    bowl = Subject(lambda p: (p**2).flatten(1).sum(1, keepdim=True), pixels, 0, batch=100)
    found = again.smooth_grad(bowl, samples=400, noise=0.15)
    assert float(found[0, 0]) == pytest.approx(2, abs=0.1)
    assert float(found.flatten()[1:].mean()) < 0.05  # 2 · 0.15 · √(2 / π) = 0.24, had they been made positive first


def test_gradient_shap_of_a_linear_model(toy):
    """Its start is one of two fills and the picture is noisy, so each value is a mean of the two, and noise."""
    found = again.gradient_shap(toy, samples=400, noise=0.01)
    ends = [((PIXELS - filled(PIXELS, fill))[0] * WEIGHTS).sum(0) for fill in ("mean", "blur")]
    assert_close(found, (ends[0] + ends[1]) / 2, rtol=0, atol=0.35)
    assert not torch.equal(found, again.gradient_shap(toy, samples=400, noise=0.01, seed=1))


def test_patch_ablation_of_a_linear_model(toy):
    expected = by_cell((PIXELS - filled(PIXELS, "mean"))[0] * WEIGHTS)
    assert_close(again.patch_ablation(toy, CELLS), expected)
    assert_close(again.patch_ablation(linear(WEIGHTS, PIXELS, batch=3), CELLS), expected)


def test_occlusion_of_a_linear_model(toy):
    """A window of 2 × 2 cells hides all rows of the toy; a cell on the edge has one window, the others two."""
    fall = by_cell((PIXELS - filled(PIXELS, "mean"))[0] * WEIGHTS).sum(0)
    pairs = [float(fall[i] + fall[i + 1]) for i in range(3)]
    row = torch.tensor([pairs[0], (pairs[0] + pairs[1]) / 2, (pairs[1] + pairs[2]) / 2, pairs[2]])
    assert_close(again.occlusion(toy, CELLS), row.expand(2, 4))


def test_two_classes_are_explained_by_their_difference(toy, insect):
    against = linear(WEIGHTS, PIXELS, against=1)  # the other logit is zero
    assert_close(again.patch_ablation(against, CELLS), again.patch_ablation(toy, CELLS))
    one, two = (trained("insects_cnn", insect, target) for target in (3, 4))
    both = Subject(one.logits, one.pixels, 3, 4)
    ablated = [again.patch_ablation(subject, (4, 4)) for subject in (one, two, both)]
    assert_close(ablated[2], ablated[0] - ablated[1], rtol=0, atol=1e-4)


# Trained models -------------------------------------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("name", ["insects_vit", "insects_cnn", "insects_swin"])
def test_integrated_gradients_are_complete(insect, name):
    subject = trained(name, insect)
    found = again.integrated_gradients(subject, steps=2)
    with torch.no_grad():
        expected = float(subject.score(subject.pixels) - subject.score(filled(subject.pixels, "mean")))
    print(name, found.steps, f"{found.error:.2%}")
    assert found.steps > 2  # so few are never enough here, and more were taken
    assert found.error <= again.COMPLETE
    assert abs(float(found.heat.sum()) - expected) <= again.COMPLETE * abs(expected) + 1e-4
    assert found.heat.shape == (112, 112)


# How well a map foretells ---------------------------------------------------------------------------------------------


def test_infidelity(toy):
    exact = again.patch_ablation(toy, CELLS)
    assert again.infidelity(toy, exact, CELLS) < 1e-6
    assert again.infidelity(toy, 7 * exact, CELLS) < 1e-6  # its scale is fitted
    noise = torch.rand(CELLS, generator=torch.Generator().manual_seed(3))
    assert again.infidelity(toy, noise, CELLS) > 0.2
    assert again.infidelity(toy, torch.zeros(CELLS), CELLS) == pytest.approx(1, abs=1e-6)


def test_sensitivity(toy):
    assert again.sensitivity(lambda pixels: WEIGHTS.sum(0), PIXELS) == 0
    calls = []

    def map_of(pixels):
        calls.append(pixels)
        return pixels[0].sum(0)

    found = again.sensitivity(map_of, PIXELS, radius=0.1, samples=5)
    assert 0 < found < 1
    assert len(calls) == 6  # the picture itself, and five changed ones
    reach = 0.1 * float(PIXELS.max() - PIXELS.min())
    assert all(float((pixels - PIXELS).abs().max()) <= reach for pixels in calls)
    changes = [float((each[0].sum(0) - PIXELS[0].sum(0)).norm() / PIXELS[0].sum(0).norm()) for each in calls]
    assert found == pytest.approx(max(changes), rel=1e-5)


# Progress and chance --------------------------------------------------------------------------------------------------

EVERY = {
    "integrated": lambda toy, tell: again.integrated_gradients(toy, progress=tell),
    "smooth": lambda toy, tell: again.smooth_grad(toy, progress=tell),
    "shap": lambda toy, tell: again.gradient_shap(toy, progress=tell),
    "occlusion": lambda toy, tell: again.occlusion(toy, CELLS, progress=tell),
    "ablation": lambda toy, tell: again.patch_ablation(toy, CELLS, progress=tell),
    "infidelity": lambda toy, tell: again.infidelity(toy, torch.ones(CELLS), CELLS, progress=tell),
    "sensitivity": lambda toy, tell: again.sensitivity(lambda p: p[0].sum(0), PIXELS, progress=tell),
}


@pytest.mark.parametrize("name", EVERY)
def test_progress_comes_to_its_end_and_can_stop(name):
    toy, seen = linear(WEIGHTS, PIXELS, batch=2), []
    EVERY[name](toy, lambda done, total: seen.append((done, total)))
    assert len(seen) > 2
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)

    def stop(done, total):
        raise Stopped

    with pytest.raises(Stopped):
        EVERY[name](toy, stop)


def test_chance_is_seeded_and_nobody_elses(toy):
    torch.manual_seed(5)
    np.random.seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    maps = [again.gradient_shap(toy), again.gradient_shap(toy)]
    assert torch.equal(*maps)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()


def test_cells_of_any_number():
    index = cell_of_pixel((5, 7), (2, 3))
    assert index.tolist()[0] == [0, 0, 0, 1, 1, 2, 2]
    assert index[:, 0].tolist() == [0, 0, 0, 3, 3]
    coarse = torch.tensor([[0.0, 1.0]])
    assert on_cells(coarse, (1, 4)).tolist() == [[0.0, 0.25, 0.75, 1.0]]
    assert on_cells(torch.arange(8.0).view(2, 4), (1, 2)).tolist() == [[2.5, 4.5]]
    assert filled(PIXELS, "mean").shape == filled(PIXELS, "blur").shape == (1, 3, *SIZE)
    assert_close(filled(torch.full((1, 1, 9, 9), 3.0), "blur"), torch.full((1, 1, 9, 9), 3.0))
