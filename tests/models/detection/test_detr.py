"""DETR from its parts against transformers' own, and its numbers against the paper's."""

import timm
import torch
from torch.testing import assert_close
from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

from vizkit.models.detection.from_transformers import from_transformers
from vizkit.models.networks.detr import DETR
from vizkit.models.networks.positions import cell_positions, point_positions


def theirs():
    resnet = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 12, 16, 20], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"]
    )
    config = DetrConfig(
        use_timm_backbone=False,
        backbone=None,
        backbone_config=resnet,
        d_model=32,
        encoder_layers=3,
        use_pretrained_backbone=False,
        decoder_layers=2,
        encoder_attention_heads=4,
        num_queries=7,
        decoder_attention_heads=4,
        encoder_ffn_dim=40,
        decoder_ffn_dim=40,
        num_labels=3,
    )
    torch.manual_seed(0)
    model = DetrForObjectDetection(config).eval()
    for name, parameter in model.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(parameter, std=0.2)
    return model


def backbone():
    return timm.create_model("resnet18", num_classes=0, global_pool="")


@torch.no_grad()
def test_outputs_are_those_of_transformers():
    model, pixels = theirs(), torch.randn(2, 3, 96, 160)
    expected = model(pixel_values=pixels)
    answers = from_transformers(model)(pixels)
    assert expected.logits.std() > 0.1
    assert_close(answers.logits, expected.logits, atol=1e-4, rtol=0)
    assert_close(answers.boxes_cxcywh, expected.pred_boxes, atol=1e-5, rtol=0)


def test_the_size_of_detr_r50():
    with torch.device("meta"):
        resnet = timm.create_model("resnet50", num_classes=0, global_pool="")
        model = DETR(resnet, 2048, 91)
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    assert 41 < millions < 42  # Carion et al. 2020, table 1
    assert model.queries.weight.shape == (100, 256)


def test_positions_are_half_rows_half_columns():
    places = cell_positions((3, 5), 16)
    assert places.shape == (15, 16)
    grid = places.unflatten(0, (3, 5))
    assert_close(grid[1, 0, :8], grid[1, 4, :8])
    assert_close(grid[0, 2, 8:], grid[2, 2, 8:])
    # The first pair of channels turns once from edge to edge: the sine of 2π · (row + 1) / rows.
    assert_close(grid[:, 0, 0], (torch.arange(1, 4) / 3 * 2 * torch.pi).sin(), atol=1e-5, rtol=0)
    assert_close(point_positions(torch.tensor([0.4, 1 / 3]), 16), grid[0, 1], atol=1e-5, rtol=0)


def test_permuted_queries_give_permuted_answers():
    torch.manual_seed(0)
    model, pixels = (
        DETR(backbone(), 512, 3, dim=16, heads=2, hidden=24, encoder_depth=1, decoder_depth=2, queries=5).eval(),
        torch.randn(1, 3, 64, 96),
    )
    with torch.no_grad():
        before = model(pixels)
        order = torch.tensor([3, 0, 4, 2, 1])
        model.queries.weight.copy_(model.queries.weight[order])
        after = model(pixels)
    assert_close(after.logits, before.logits[:, order])
    assert_close(after.boxes_cxcywh, before.boxes_cxcywh[:, order])


def test_conditional_queries_start_all_over_the_image_and_learn():
    torch.manual_seed(0)
    model = DETR(
        backbone(), 512, 3, dim=16, heads=2, hidden=24, encoder_depth=1, decoder_depth=3, queries=9, conditional=True
    )
    middles = model.places.sigmoid()
    assert sorted({round(x, 3) for x in middles[:, 0].tolist()}) == [0.167, 0.5, 0.833]
    every = model.by_layer(torch.randn(2, 3, 64, 96))
    assert len(every) == 3
    sum(each.boxes_cxcywh.sum() + each.logits.sum() for each in every).backward()
    assert all(parameter.grad is not None for name, parameter in model.named_parameters() if "backbone" not in name)
