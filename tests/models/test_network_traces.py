"""Traces of our own networks: which pixels reach which token, that rollout loses nothing, and that files hold them."""

import json
import subprocess
import sys

import pytest
import timm
import torch
from torch.testing import assert_close

import vizkit
import vizkit.models.networks
from tests.drawn import noise, noisy_picture
from vizkit.analysis.attention.statistics import mean_distance_px
from vizkit.analysis.attribution.grad_cam import cam_layer, grad_cam
from vizkit.analysis.attribution.legrad import legrad, legrad_by_layer
from vizkit.analysis.attribution.rollout import rollout, rollout_by_layer, rollout_masses, rollout_matrix
from vizkit.geometry import id_of, pixel_box
from vizkit.models import Keep, ModelError, families
from vizkit.models.families import dual_scale, gradual_reduction
from vizkit.models.probes import positions
from vizkit.models.probes.parts import attention_parts, patch_embedding
from vizkit.models.sources.loaded import described
from vizkit.saving import open_npz, save_npz
from vizkit.traces import Attention, NotApplicable, Tokens, dense

SIZE = (32, 48)
USUAL = {"img_size": SIZE, "patch_size": 4, "embed_dim": 24, "num_heads": 2, "num_classes": 5, "depth": 4}
NETWORKS = {
    "dual": ("dual_scale_tiny", {"coarse_patch_size": 8, "merge_block": 3}),
    "dual, last block merges": ("dual_scale_tiny", {"coarse_patch_size": 8, "merge_block": 4, "alpha": 0.7}),
    "gradual": ("gradual_reduction_tiny", {"reduce_after": (1, 2)}),
    "gradual, mean-pooled": (
        "gradual_reduction_tiny",
        {"reduce_after": (2, 4), "class_token": False, "global_pool": "avg"},
    ),
    "parts": ("vit_parts_tiny", {}),
    "parts, mean-pooled": ("vit_parts_tiny", {"pool": "mean", "positions": "sinusoidal"}),
}


def loaded_of(kind, **options):
    name, own = NETWORKS[kind]
    torch.manual_seed(0)
    model = timm.create_model(name, **{**USUAL, **own, **options})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))  # biases and positions that begin at zero
    return described(kind, model.eval().requires_grad_(False), SIZE, source="test")


def pixels_of(seed=1):
    return noise(1, 3, *SIZE, seed=seed)


def trace_of(loaded, pixels, **options):
    return families.trace(loaded, pixels, **options)


def shown(loaded):
    """A trace of every kind of network, with a target."""
    return trace_of(loaded, pixels_of(), target=2)


def keys_that_moved(before, after):
    """Ids of the keys whose own vector changed: where log w′ − log w differs from the row's median."""
    change = after.weights.double().log() - before.weights.double().log()
    rest = (change - change.median(-1, keepdim=True).values).abs()
    return set(before.key_ids[rest.amax(1).median(1).values > 1e-9].tolist())


# Who sees which pixels ----------------------------------------------------------------------------------------------


def pixel_moved(loaded, row, column):
    loaded.model.double()
    pixels = pixels_of().double()
    changed = pixels.clone()
    changed[0, :, row, column] += 3
    return trace_of(loaded, pixels), trace_of(loaded, changed)


@pytest.mark.parametrize("pixel", [(1, 2), (17, 30), (31, 47)])
def test_dual_a_pixel_moves_its_fine_patch_and_the_four_copies_of_its_coarse_one(pixel):
    before, after = pixel_moved(loaded_of("dual"), *pixel)
    fine, coarse = before.attention[0], before.attention[1]
    assert (fine.name, coarse.name) == ("blocks.0.attn", "blocks.0.attn (coarse)")
    own = id_of(fine.key, (pixel[0] // 4, pixel[1] // 4))
    assert keys_that_moved(fine, after.attention[0]) == {own}
    corner = (pixel[0] // 8 * 2, pixel[1] // 8 * 2)
    four = {id_of(fine.key, (corner[0] + r, corner[1] + c)) for r in (0, 1) for c in (0, 1)}
    assert keys_that_moved(coarse, after.attention[1]) == four
    partners = dual_scale.partners(loaded_of("dual"), own)
    assert set(partners.fine_ids) == four
    assert pixel_box(partners.coarse, partners.coarse_id, SIZE) == (
        corner[1] * 4.0,
        corner[0] * 4.0,
        corner[1] * 4.0 + 8,
        corner[0] * 4.0 + 8,
    )
    assert int((after.features[0].values - before.features[0].values).norm(dim=1).argmax()) == own


def silent(model):
    """No block changes its tokens: what is left is the embedding and the averaging."""
    for block in model.blocks:
        for layer in (block.attn.proj, block.mlp.fc2):
            layer.weight.zero_()
            layer.bias.zero_()


@pytest.mark.parametrize("pixel", [(1, 2), (17, 30), (31, 47)])
def test_gradual_a_token_stands_for_the_pixels_of_its_box_and_no_other(pixel):
    loaded = loaded_of("gradual", reduce_after=(1, 2, 3), img_size=(32, 48))
    silent(loaded.model)
    before, after = pixel_moved(loaded, *pixel)
    sizes = []
    for layer, features, other in zip(
        [layer for layer in before.attention if layer.learned], before.features, after.features, strict=True
    ):
        tokens = layer.query
        moved = (features.values != other.values).any(1).nonzero().flatten().tolist()
        boxes = {i: pixel_box(tokens, i, SIZE) for i in range(1, len(tokens))}
        x, y = pixel[1] + 0.5, pixel[0] + 0.5
        assert moved == [i for i, (x0, y0, x1, y1) in boxes.items() if x0 < x < x1 and y0 < y < y1]
        assert features.tokens == tokens
        x0, y0, x1, y1 = boxes[1]
        sizes.append((y1 - y0, x1 - x0))
        assert (tokens.stride * tokens.aspect, tokens.stride) == (y1 - y0, x1 - x0)
    assert sizes == [(4, 4), (4, 8), (8, 8), (8, 16)]
    averaging = [layer for layer in before.attention if not layer.learned]
    assert [layer.name for layer in averaging] == [f"averaging after block {i}" for i in (1, 2, 3)]


def test_gradual_the_averaging_is_what_the_model_does():
    loaded = loaded_of("gradual")
    trace = trace_of(loaded, pixels_of())
    steps = [*loaded.model.steps(pixels_of())]
    for layer, (left, kept, _) in zip([a for a in trace.attention if not a.learned], steps, strict=False):
        assert layer.weights.shape[1:] == (1, 1, 2)
        assert_close(dense(layer)[0] @ left[0, 1:], kept[0, 1:])
        assert torch.equal(left[0, 0], kept[0, 0])


def test_golden_partners_at_224_pixels():
    """Counted from 1, as the theory does."""
    loaded = loaded_of("dual", img_size=224, patch_size=8, coarse_patch_size=16)
    assert dual_scale.stream(loaded.model).grid == (28, 28)
    first, second = dual_scale.partners(loaded, 0), dual_scale.partners(loaded, 2)
    assert [i + 1 for i in first.fine_ids] == [1, 2, 29, 30]
    assert [i + 1 for i in second.fine_ids] == [3, 4, 31, 32]
    assert (first.coarse_id, second.coarse_id, first.coarse.grid) == (0, 1, (14, 14))


# Nothing is lost ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NETWORKS)
def test_rollout_keeps_mass_one(kind):
    trace = shown(loaded_of(kind))
    assert trace.check.passed
    for query in ("cls", "mean", 3, (1, 1)):
        masses = rollout_masses(trace, query)
        assert float(masses.grid.sum()) + sum(masses.special.values()) == pytest.approx(1, abs=1e-5)
        assert masses.grid.shape == (8, 12)  # on the first tokens, whatever they became
    assert float(rollout(trace).sum()) == pytest.approx(1, abs=1e-5)
    assert len(rollout_by_layer(trace)) == 4
    rows = rollout_matrix(trace)
    assert_close(rows.sum(1), torch.ones(len(rows)))


def test_rollout_of_dual_is_the_product_of_the_fine_layers():
    trace = trace_of(loaded_of("dual"), pixels_of())
    product = torch.eye(96)
    for layer in trace.attention:
        if "coarse" not in layer.name:
            product = (0.5 * dense(layer).mean(0) + 0.5 * torch.eye(96)) @ product
    assert_close(rollout_matrix(trace), product, rtol=1e-4, atol=1e-6)


def test_rollout_of_gradual_is_the_product_with_the_averaging():
    trace = trace_of(loaded_of("gradual, mean-pooled"), pixels_of())
    product = torch.eye(96)
    for layer in trace.attention[:-1]:
        step = dense(layer).mean(0)
        product = (0.5 * step + 0.5 * torch.eye(len(step)) if layer.learned else step) @ product
    product = dense(trace.attention[-1])[0] @ product  # after the last block
    assert [a.learned for a in trace.attention] == [True, True, False, True, True, False]
    assert_close(rollout(trace, "mean").flatten(), product.mean(0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", NETWORKS)
def test_explanations_with_a_gradient(kind):
    trace = shown(loaded_of(kind))
    for layer in trace.attention:
        assert (layer.gradient is not None) == layer.learned
    assert legrad(trace).shape == (8, 12)
    assert len(legrad_by_layer(trace)) == 4
    assert grad_cam(trace).shape == cam_layer(trace).tokens.grid


def test_the_features_that_decide_are_in_the_order_of_the_patches():
    """What the last attention layer receives stands in aligned rows inside the model."""
    for kind in ("dual", "dual, last block merges"):
        loaded = loaded_of(kind)
        trace, seen = shown(loaded), []
        block = loaded.model.blocks[3]
        handle = block.norm1.register_forward_hook(lambda _, __, out, seen=seen: seen.append(out[0]))
        loaded.model(pixels_of())
        handle.remove()
        into = next(f for f in trace.cam_features if "attention" in f.name)
        assert_close(into.values, seen[0][loaded.model.rows_of])  # of the fine stream
        assert not torch.allclose(into.values, seen[0])


# Two streams and α --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dual", "dual, last block merges"])
def test_both_scores_and_alpha_make_the_merged_attention_of_the_trace(kind):
    loaded = loaded_of(kind)
    found = dual_scale.streams(loaded, pixels_of())
    layer = next(a for a in trace_of(loaded, pixels_of()).attention if a.name == found.layer)
    assert found.alpha == pytest.approx(loaded.model.balance().item())
    assert found.learned
    merged = found.attention(found.alpha)
    assert (merged.query, merged.name) == (layer.query, layer.name)
    assert_close(dense(merged), dense(layer), rtol=1e-4, atol=1e-6)
    assert torch.equal(dense(found.attention(1.0)), found.fine_scores.softmax(-1))
    assert torch.equal(dense(found.attention(0.0)), found.coarse_scores.softmax(-1))


def test_another_alpha_is_another_model_with_the_same_weights():
    loaded = loaded_of("dual")
    found, before = dual_scale.streams(loaded, pixels_of()), loaded.model(pixels_of())[0]
    assert_close(dual_scale.logits_at(loaded, found, found.alpha), before)
    for alpha in (0.0, 1.0):
        other = dual_scale.with_alpha(loaded, alpha)
        trace = trace_of(other, pixels_of())
        assert trace.check.passed
        assert_close(dual_scale.logits_at(loaded, found, alpha), trace.logits)
        assert not torch.allclose(trace.logits, before)
        assert f"α = {alpha:.2f}" in trace.model
    assert torch.equal(loaded.model(pixels_of())[0], before)
    with pytest.raises(NotApplicable, match="one stream"):
        dual_scale.streams(loaded_of("gradual"), pixels_of())
    with pytest.raises(ValueError, match="no fine patch 96"):
        dual_scale.partners(loaded, 96)


def test_chosen_rows_are_those_of_the_patches_asked_for():
    loaded = loaded_of("dual")
    full, some = (trace_of(loaded, pixels_of(), keep=keep) for keep in (None, Keep(rows=(5, 50))))
    for layer, every in zip(some.attention, full.attention, strict=True):
        assert layer.query_ids.tolist() == [[5, 50]]
        for position, query in enumerate((5, 50)):
            row = (every.query_ids[0] == query).nonzero().item()
            assert_close(layer.weights[:, :, position], every.weights[:, :, row])
    # Fewer tokens after every reduction: an id is another token then, and everything is kept.
    gradual = trace_of(loaded_of("gradual"), pixels_of(), keep=Keep(rows=(5,)))
    assert all(len(a.query) == a.query_ids.numel() for a in gradual.attention)


# Rectangles ---------------------------------------------------------------------------------------------------------


def test_distances_between_rectangles():
    tokens = Tokens("1×2 patches", ("cls",), (2, 3), stride=8.0, aspect=0.5)
    weights = torch.zeros(1, 1, 7, 7)
    weights[..., 0] = 1.0
    weights[0, 0, 1] = torch.tensor([0.5, 0, 0, 0, 0.5, 0, 0])  # half of the first cell's to the one below
    weights[0, 0, 2] = torch.tensor([0.0, 1, 0, 0, 0, 0, 0])  # all of the second cell's to its left
    ids = torch.arange(7)[None]
    layer = Attention("one", weights, tokens, tokens, ids, ids)
    assert mean_distance_px(layer).tolist() == pytest.approx([(4 + 8) / 2])


# The rest of the library --------------------------------------------------------------------------------------------


def test_patches_and_single_layers_can_be_taken_apart():
    for kind in ("dual", "gradual", "parts"):
        loaded = loaded_of(kind)
        found = patch_embedding(loaded, pixels_of())
        embed = loaded.model.patch_embed
        assert_close(found.vectors.flatten(0, 1), embed(pixels_of())[0])
        assert found.weight.shape == (24, 3, 4, 4)
    stem = loaded_of("parts", stem="conv")
    assert patch_embedding(stem, pixels_of()).weight is None  # no filters of patches
    for loaded in (loaded_of("gradual"), loaded_of("parts")):
        for i, layer in enumerate(a for a in trace_of(loaded, pixels_of()).attention if a.learned):
            parts = attention_parts(loaded, pixels_of(), i)
            assert (parts.name, parts.tokens) == (layer.name, layer.query)
            assert_close(parts.weights, layer.weights[0])
    assert parts.plain
    assert parts.out_weight.data_ptr() == loaded.model.blocks[i].attn.out.weight.data_ptr()
    with pytest.raises(NotApplicable, match="built differently"):
        attention_parts(loaded_of("dual"), pixels_of(), 0)


@pytest.mark.parametrize("kind", ["dual", "gradual"])
def test_a_trace_goes_to_a_file_and_back(kind, tmp_path):
    trace = shown(loaded_of(kind))
    save_npz(trace, tmp_path / "trace.npz")
    again, _ = open_npz(tmp_path / "trace.npz")
    assert [a.query for a in again.attention] == [a.query for a in trace.attention]
    assert_close(rollout(again), rollout(trace))
    assert (again.check, again.check.failure) == (trace.check, trace.check.failure)


def test_names_are_in_the_catalogue():
    from vizkit.models.catalogue import catalogue

    families = {entry.name.partition(".")[0]: entry.family for entry in catalogue("*")}
    assert families["dual_scale_tiny"] == "dual_scale"
    assert families["gradual_reduction_base"] == "gradual_reduction"
    assert families["vit_parts_base"] == "vit"
    weights = {entry.name: entry.weights for entry in catalogue("vit_parts_base*")}
    assert weights == {"vit_parts_base.augreg2_in21k_ft_in1k": "published"}
    assert {entry.weights for entry in catalogue("dual_scale_*")} == {"none"}


@pytest.mark.product
@pytest.mark.parametrize("name", ["dual_scale_tiny", "gradual_reduction_tiny", "vit_parts_tiny"])
def test_load_by_name_at_another_size(name):
    loaded = vizkit.load(name, pretrained=False, image_size=(64, 96))
    trace = vizkit.trace(loaded, noisy_picture(90, 120))
    assert trace.image_size == (64, 96)
    patch = 16 if "parts" in name else 8
    assert trace.attention[0].query.grid == (64 // patch, 96 // patch)
    with pytest.raises(ModelError, match="nearest size"):
        vizkit.load(name, pretrained=False, image_size=(60, 96))


@pytest.mark.rest
def test_checkpoints_open_in_a_fresh_process(tmp_path):
    """As `vizkit.training.runs.saving` writes them; whoever opens them knows nothing of our networks."""
    from timm.models import save_for_hf

    expected, options = {}, {"dual": {"alpha": 0.3, "positions": "2d"}, "gradual": {}, "parts, mean-pooled": {}}
    for kind, given in options.items():
        loaded = loaded_of(kind, **given)
        expected[kind] = loaded.model(torch.ones(1, 3, *SIZE))[0].tolist()
        names = {"label_names": list("abcde")}
        save_for_hf(loaded.model, str(tmp_path / kind), model_config=names, safe_serialization=True)
    code = (
        "import json, sys, torch, vizkit\n"
        "for folder in sys.argv[1:]:\n"
        "    loaded = vizkit.load(folder, device='cpu')\n"
        "    assert loaded.labels == tuple('abcde')\n"
        "    print(json.dumps(loaded.model(torch.ones(1, 3, *loaded.preprocessing.size_hw))[0].tolist()))\n"
    )
    command = [sys.executable, "-c", code, *(str(tmp_path / kind) for kind in options)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for kind, line in zip(options, found, strict=True):
        assert_close(torch.tensor(json.loads(line)), torch.tensor(expected[kind]))


# Training -----------------------------------------------------------------------------------------------------------


@pytest.mark.rest
def test_the_models_to_compare_are_equal_in_all_else():
    from vizkit.training.architectures import ours

    counts = {}
    for name in ("vit_fine", "vit_coarse", "dual", "dual_half", "gradual"):
        for size, side in (("digits", 32), ("small", 112)):
            model = ours(f"{size}_{name}", 0, {"num_classes": 10})
            assert model(torch.randn(1, 3, side, side)).shape == (1, 10)
            assert (len(model.blocks), model.embed_dim) == ((4, 64) if size == "digits" else (8, 128))
            counts[size, name] = sum(p.numel() for p in model.parameters())
            if name.startswith("dual"):
                assert model.merge_block == 3 / 4 * len(model.blocks)  # as block 9 of 12
                wide = model.patch_embed_coarse.proj.weight  # begins like the fine patches
                assert wide.std().item() == pytest.approx(wide[0].numel() ** -0.5, rel=0.05)
    for size in ("digits", "small"):
        assert counts[size, "vit_fine"] == counts[size, "gradual"]
        assert counts[size, "dual"] == counts[size, "dual_half"] + 1
        assert max(counts.values()) * 4 < 8e6  # bytes


def test_alpha_moves_in_training():
    """A single number beside matrices, for which Muon is made: it gets AdamW's step."""
    from vizkit.training.architectures import ours
    from vizkit.training.optimizing import optimizer_of
    from vizkit.training.recipe import Recipe

    model = ours("digits_dual", 0, {"num_classes": 10})
    optimizer = optimizer_of(model, Recipe(optimizer="muon", lr=4e-3))
    torch.nn.functional.cross_entropy(model(torch.randn(8, 3, 32, 32)), torch.arange(8)).backward()
    downhill = -model.balance.free.grad.sign().item()
    optimizer.step()
    assert model.balance.free.item() == pytest.approx(4e-3 * downhill, rel=0.05)


def test_reductions_are_named_by_what_a_token_stands_for():
    loaded = loaded_of("gradual")
    assert [t.name for t in gradual_reduction.token_sets(loaded.model, SIZE)] == [
        "patches",
        "1×2 patches",
        "2×2 patches",
        "2×2 patches",
        "2×2 patches",
    ]


# How they know places -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("dual", "fixed sinusoids"),
        ("gradual", "learned"),
        ("parts", "learned"),
        ("parts, mean-pooled", "fixed sinusoids"),
    ],
)
def test_positions_are_known_and_can_be_taken_out(kind, expected):
    """Without positions a transformer cannot see that its patches were exchanged; averaging neighbours can."""
    loaded = loaded_of(kind, **({"reduce_after": ()} if kind == "gradual" else {}))
    assert positions.kind(loaded) == (expected,)
    assert (positions.learned_table(loaded) is None) == (expected == "fixed sinusoids")
    order = torch.randperm(96, generator=torch.Generator().manual_seed(3))
    if kind == "dual":  # whole coarse patches, or their fine ones would be others
        coarse = torch.randperm(24, generator=torch.Generator().manual_seed(3))
        together = torch.arange(96).view(4, 2, 6, 2).permute(0, 2, 1, 3).reshape(24, 4)
        order[together] = together[coarse]
    plain = loaded.model(pixels_of())[0]
    with_them, without = (positions.logits_shuffled(loaded, pixels_of(), order, there)[0] for there in (True, False))
    assert not torch.allclose(with_them, plain, atol=1e-3)
    assert_close(without, positions.without_positions(loaded).model(pixels_of())[0], rtol=1e-4, atol=1e-5)
    assert torch.equal(loaded.model(pixels_of())[0], plain)
