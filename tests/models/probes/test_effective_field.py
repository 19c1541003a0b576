"""The effective field against the theoretical, and against a gradient that is known."""

import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.models import pixels_of
from vizkit.models.probes.convolution.effective_field import effective_fields
from vizkit.models.probes.convolution.field_table import formula, rows_of
from vizkit.models.probes.convolution.receptive_field import walk
from vizkit.traces import NotApplicable


@pytest.fixture(scope="module")
def lenet():
    torch.manual_seed(3)
    return vizkit.load("lenet5", pretrained=False)


def test_no_pixel_outside_the_theoretical_field_has_an_effect(lenet, photo):
    fields = effective_fields(lenet, [pixels_of(lenet, photo), pixels_of(lenet, photo[:, ::-1].copy())])
    for field, seen in zip(fields, walk(lenet).stages, strict=True):
        assert field.grid == seen.grid
        x0, y0, x1, y1 = seen.box(field.cell)
        inside = field.share[max(0, y0) : y1, max(0, x0) : x1]
        assert float(field.share.sum()) == pytest.approx(1)
        assert float(inside.sum()) == pytest.approx(1)
        assert bool((inside > 0).all())
        assert field.centre_yx == ((y0 + y1) / 2, (x0 + x1) / 2)


def test_the_first_layer_is_its_kernel(lenet, photo):
    """All six maps at one place: the effect of a pixel is |Σ_k tanh'(z_k) w_k| there."""
    pixels = pixels_of(lenet, photo)
    (first, *_) = effective_fields(lenet, [pixels])
    row, column = first.cell
    weight = lenet.model.c1.weight[:, 0]
    z = lenet.model.c1(pixels)[0, :, row, column]
    expected = torch.einsum("k,khw->hw", 1 - z.tanh() ** 2, weight).abs()
    assert_close(first.share[row : row + 5, column : column + 5], expected / expected.sum())


def test_the_mean_of_two_images_counts_both_alike(lenet, photo):
    one, two = pixels_of(lenet, photo), 3 * pixels_of(lenet, 255 - photo)
    both = effective_fields(lenet, [one, two])[-1].share
    alone = [effective_fields(lenet, [each])[-1].share for each in (one, two)]
    assert_close(both, (alone[0] + alone[1]) / 2)


def test_a_vits_first_block_sees_everything(vit, photo):
    fields = effective_fields(vit, [pixels_of(vit, photo)])
    assert len(fields) == len(vit.model.blocks)
    assert bool((fields[0].share > 0).all())
    rows, columns = fields[0].grid
    assert fields[0].centre_yx == ((rows // 2 + 0.5) * 16, (columns // 2 + 0.5) * 16)


def test_the_middle_of_an_oblong_image_is_rows_then_columns(photo):
    cnn = vizkit.load("test_resnet", pretrained=False, image_size=(75, 130))
    for field, seen in zip(effective_fields(cnn, [pixels_of(cnn, photo)]), walk(cnn).stages, strict=True):
        x0, y0, x1, y1 = seen.box(field.cell)
        assert field.centre_yx == ((y0 + y1) / 2, (x0 + x1) / 2)
        assert field.centre_yx[0] < field.centre_yx[1]


def test_models_without_places_are_refused(photo):
    mlp = vizkit.load("pixel_mlp", pretrained=False)
    with pytest.raises(NotApplicable, match="no features with places"):
        effective_fields(mlp, [pixels_of(mlp, photo)])
    with pytest.raises(ValueError, match="at least one image"):
        effective_fields(mlp, [])


def test_the_table_fills_the_formula_in():
    walked = walk(vizkit.load("lenet5", pretrained=False))
    assert [formula(layer) for layer in walked.layers] == [
        "r = 1 + 1·(5 − 1)·1 = 5 pixels",
        "r = 5 + 1·(2 − 1)·1 = 6 pixels",
        "r = 6 + 1·(5 − 1)·2 = 14 pixels",
        "r = 14 + 1·(2 − 1)·2 = 16 pixels",
        "r = 16 + 1·(5 − 1)·4 = 32 pixels",
    ]
    assert [row["field_px"] for row in rows_of(walked)] == [5, 6, 14, 16, 32]
