"""Activation patching: all of it restores everything, nothing restores nothing, a region is that edit by hand."""

import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture
from vizkit.analysis.attribution.restored import restored
from vizkit.models import attention_places, pixels_of, trace
from vizkit.models.probes.interventions.patching import masks_of, patch, sides_of
from vizkit.traces import NotApplicable

IMAGES = [noisy_picture(28, 28, seed=i) for i in (1, 2)]


@pytest.mark.product
@pytest.mark.parametrize("name", ["bundled:digits_vit", "bundled:digits_swin"])
def test_everything_restores_all_and_nothing_nothing(name):
    loaded = vizkit.load(name)
    clean, corrupted = (pixels_of(loaded, image) for image in IMAGES)
    heard = []
    made = patch(loaded, clean, corrupted, attention_places(loaded, clean), done=heard.append)
    assert_close(made.clean, trace(loaded, IMAGES[0]).logits, atol=1e-5, rtol=0)
    target = int((made.clean - made.corrupted).argmax())
    shares = [restored(each, made.clean, made.corrupted, target) for each in (made.everything, made.nothing)]
    assert float((shares[0] - 1).abs().max()) <= 1e-4
    assert float(shares[1].abs().max()) <= 1e-4
    assert heard[-1] == 1
    assert heard == sorted(heard)
    assert made.heads is not None
    assert [len(layer) for layer in made.heads] == [place.heads for place in attention_places(loaded, clean)]


def test_a_region_and_a_head_are_the_same_edits_of_a_trace():
    loaded = vizkit.load("bundled:digits_vit")
    clean, corrupted = (pixels_of(loaded, image) for image in IMAGES)
    made = patch(loaded, clean, corrupted, attention_places(loaded, clean))
    rows, columns = made.regions.shape[1:3]
    assert made.names == ("cls",)
    token = 1 + columns + 2  # row 1, column 2
    edits = {f"patch:stream.2={token}": made.regions[1, 1, 2], "patch:stream.3=0": made.special[2, 0]}
    assert made.heads is not None
    edits |= {"heads:2.1=mean": made.heads[1][0], "heads:1.2=mean": made.heads[0][1]}
    for text, logits in edits.items():
        by_edit = trace(loaded, IMAGES[1], edits=[text], reference=[IMAGES[0]]).logits
        assert_close(logits, by_edit, atol=1e-4, rtol=0)
    assert rows * columns == len(trace(loaded, IMAGES[0]).attention[0].key) - 1


def test_regions_cut_the_grids_of_all_layers():
    assert sides_of([(14, 14)]) == [(14, 14), (7, 7), (2, 2)]
    assert sides_of([(56, 56), (28, 28), (7, 7)]) == [(7, 7)]
    assert sides_of([(37, 37)]) == [(37, 37)]
    masks = masks_of((4, 4), (2, 2), 1)
    assert masks.shape == (7, 17)
    assert masks[1].nonzero().flatten().tolist() == [3, 4, 7, 8]
    assert masks[4].nonzero().flatten().tolist() == [0]
    assert masks[5].all()
    assert not masks[6].any()


def test_shares_of_what_was_taken():
    clean, corrupted = torch.tensor([3.0, 1.0]), torch.tensor([1.0, 2.0])
    logits = torch.tensor([[2.0, 2.0], [3.0, 1.0], [0.0, 2.0]])
    assert restored(logits, clean, corrupted, 0).tolist() == [0.5, 1.0, -0.5]
    assert_close(restored(logits, clean, corrupted, 0, 1), torch.tensor([1 / 3, 1.0, -1 / 3]))
    with pytest.raises(NotApplicable, match="nothing to restore"):
        restored(logits, clean, corrupted, 1)


def test_a_cnn_has_no_stream():
    loaded = vizkit.load("bundled:digits_cnn")
    with pytest.raises(NotApplicable, match="one stream"):
        patch(loaded, *(pixels_of(loaded, image) for image in IMAGES), ())
