"""X-ray: planted artifacts are found, named and moved, and its proof fails where the register is seen."""

from functools import cache, partial

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.views.contract import everything, subject
from vizkit.models.networks.vit_from_parts import ViT
from vizkit.models.probes.interventions import registers
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Line, Numbers, Proof, Said, Table
from vizkit.views.controls import controls
from vizkit.views.features import xray
from vizkit.views.features.xray import CHANGES, XRay
from vizkit.views.subject import Subject

MARKED, BLOCK, UNIT = (7, 20, 33), 1, 17


@cache
def planted(pool="cls"):
    """A ViT of 6 × 6 patches and random weights: one neuron of block 2 adds a long vector where a patch is white."""
    generator = torch.Generator().manual_seed(5)
    rgb = torch.randint(60, 140, (48, 48, 3), generator=generator).to(torch.uint8).numpy()
    for row, column in (divmod(patch, 6) for patch in MARKED):
        rgb[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] = 255
    model = ViT(48, 8, num_classes=3, embed_dim=32, depth=4, num_heads=2, pool=pool)
    for weights in model.parameters():
        weights.data = 0.1 * torch.randn(weights.shape, generator=generator) + float(weights.dim() == 1)
    loaded = vizkit.wrap(model, size_hw=(48, 48), labels=["nymph", "larva", "beetle"])
    of = Subject(lambda: loaded, rgb, image="marked")
    plant(loaded.model.blocks[BLOCK], loaded.model, of.pixels, model.num_prefix_tokens)
    return of


def plant(block, model, pixels, special):
    given = []
    handle = block.mlp.first.register_forward_hook(lambda _, inputs, __: given.append(inputs[0][0, special:].detach()))
    model(pixels)
    handle.remove()
    marked = torch.isin(torch.arange(36), torch.tensor(MARKED))
    towards = given[0][marked].mean(0) - given[0][~marked].mean(0)
    along = given[0] @ towards
    low, high = float(along[~marked].max()), float(along[marked].min())
    assert high > low
    steep = 60.0 / (high - low)
    with torch.no_grad():
        block.mlp.first.weight[UNIT], block.mlp.first.bias[UNIT] = steep * towards, -steep * (high + low) / 2
        block.mlp.second.weight[:, UNIT] = 3.0 * torch.randn(32, generator=torch.Generator().manual_seed(6))


def shown(view, of, kind):
    return [block for block in everything(view.show(of)) if isinstance(block, kind)]


def arrays(view, of):
    (block,) = shown(view, of, Numbers)
    return block.arrays()


@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_exactly_the_marked_patches_are_found_and_the_neuron_is_named_first(pool):
    found = arrays(XRay(), planted(pool))
    assert np.flatnonzero(found["patches"]).tolist() == list(MARKED)
    assert found["artifacts"].tolist() == [0, 3, 3, 3]
    assert found["neurons"][0].tolist() == [BLOCK + 1, UNIT + 1]
    said = shown(XRay(), planted(pool), Said)[0].text
    assert said.startswith("3 of 36 patches are artifacts (in layers 2 to 4)")
    assert f"neuron {UNIT + 1} of block {BLOCK + 1} is strongest at them" in said


@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_moved_into_the_register_they_are_short_and_the_others_as_they_were(pool):
    of = planted(pool)
    (count,) = {len(arrays(XRay(move=move), of)["layer1"]) for move in (False, True)}
    norms = arrays(XRay(move=True), of)["changed_norms"]
    assert norms.shape == (len(CHANGES), 4, count)
    before, after = norms[0][BLOCK], norms[1][BLOCK]
    marked = np.isin(np.arange(count), MARKED)
    assert (before[marked] > 4 * np.median(before)).all()
    assert (after[marked] < 2 * np.median(after)).all()
    assert np.abs(after / before - 1)[~marked].max() < 0.25
    (table,) = (each for each in shown(XRay(move=True), of, Table) if "artifacts" in each.rows[0])
    assert [row["artifacts"] for row in table.rows][:2] == ["3", "0"]
    assert [row["neurons at the patches"] for row in table.rows] == [*CHANGES.values()]


def test_with_nothing_moved_and_the_register_masked_the_model_is_as_it_is():
    of = planted()
    assert all(proof.holds for proof in shown(XRay(move=True), of, Proof))
    assert len(shown(XRay(move=True), of, Proof)) == 2
    assert len(shown(XRay(), of, Proof)) == 1


@pytest.mark.parametrize("fault", ["seen", "moved"])
def test_the_proof_fails_where_the_register_is_seen_or_a_neuron_moved(fault, monkeypatch):
    of, real = Subject(planted().open, planted().rgb, image="marked"), registers.with_register
    if fault == "seen":
        monkeypatch.setattr(registers, "_plan", partial(lambda own, *given: own(*given[:-1], False), registers._plan))
    else:
        neuron = registers.Neuron(BLOCK, UNIT, 0.0, 0.0)
        monkeypatch.setattr(xray, "with_register", lambda *given, **more: real(*given[:3], (neuron,), "zero", **more))
    assert not shown(XRay(move=True), of, Proof)[-1].holds


def test_controls_put_at_the_patches_what_they_say():
    own = torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(1))
    own[0, 2, 1] = -9.0
    changed = {
        how: registers._replaced([1], slice(1, 5), how, torch.nn.Identity(), (own,))[0]
        for how in (registers.REGISTER, *registers.CONTROLS)
    }
    for each in changed.values():
        assert torch.equal(each[:, :, [0, 2, 3]], own[:, :, [0, 2, 3]])
        assert torch.equal(each[:, 0], own[:, 0])
    patches = {how: each[0, 1:5, 1] for how, each in changed.items()}
    assert changed["register"][0, 5, 1] == -9.0, "with its sign"
    assert all(torch.equal(each[0, 5], own[0, 5]) for how, each in changed.items() if how != "register")
    assert patches["register"].tolist() == patches["zero"].tolist() == [0.0] * 4
    assert_close(patches["mean"], own[0, 1:5, 1].mean().expand(4))
    assert sorted(patches["shuffled"].tolist()) == sorted(own[0, 1:5, 1].tolist()) != patches["shuffled"].tolist()
    assert patches["noise"].std() > 0


def test_without_artifacts_nothing_is_moved_and_models_that_have_them_are_named():
    of = subject("digits_vit")
    assert shown(XRay(), of, Said)[0].text.startswith("No artifacts here")
    assert "vit_large_patch14_dinov2" in shown(XRay(), of, Line)[0].text
    assert not shown(XRay(move=True), of, Table)
    assert arrays(XRay(move=True), of)["changed_norms"].size == 0
    assert not any("vit_large_patch14_dinov2" in line.text for line in shown(XRay(), planted(), Line))
    with pytest.raises(NotApplicable):
        shown(XRay(), subject("stranger"), Said)


def test_the_switch_is_for_models_with_artifacts():
    of = [subject("digits_vit")]
    switch = controls(XRay)["move"]
    assert switch.ends(of) == switch.ends([subject("stranger")]) == (0, 0)
    assert switch.ends([*of, planted()]) == (0, 1)
