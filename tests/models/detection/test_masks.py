"""The mask head: its maps, its pixels, how it is opened, and what a hostile file is answered."""

import json

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from vizkit.models.detection import opening
from vizkit.models.detection.building import Backbone, backbone_of, build
from vizkit.models.detection.opening_masks import config_of, has_masks, open_masks, weights_digest
from vizkit.models.detection.segmenting import SMALLEST, finer_channels, mask_inputs, segments, segments_of
from vizkit.models.networks.detr_masks import MaskHead, QueryMaps, box_maps
from vizkit.models.sources.hub import ModelError

ARGS = {"layers": [1, 1], "channels": [16, 32], "stem_chs": 8}
SIZES = {"dim": 16, "heads": 2, "hidden": 16, "encoder_depth": 1, "decoder_depth": 1, "queries": 5, "groups": 1}


@pytest.fixture(scope="module")
def detr():
    torch.manual_seed(0)
    return build("detr_small", 3, backbone_of(Backbone("resnetv2_18d", ARGS)), SIZES).eval()


@pytest.fixture(scope="module")
def head(detr):
    torch.manual_seed(1)
    return MaskHead(16, finer_channels(detr, (64, 64)), heads=2, width=16).eval()


def test_the_maps_of_a_query_are_shares_and_follow_the_product():
    torch.manual_seed(0)
    maps, memory = QueryMaps(8, 2), torch.randn(2, 8, 3, 5)
    states, image = torch.randn(3, 8), torch.tensor([0, 1, 1])
    made = maps(states, memory, image)
    assert made.shape == (3, 2, 3, 5)
    assert_close(made.sum((2, 3)), torch.ones(3, 2))
    scores = (maps.query(states)[2, 4:] @ maps.key(memory)[1, 4:].flatten(1)) / 2  # its second head, √4
    assert_close(made[2, 1].flatten(), scores.softmax(-1))


def test_a_box_is_drawn_by_the_share_of_each_cell():
    made = box_maps(torch.tensor([[0.5, 0.25, 0.5, 0.5], [0.0, 1.0, 0.5, 0.2]]), (2, 4))
    assert made[0, 0].tolist() == [[0, 1, 1, 0], [0, 0, 0, 0]]
    assert_close(made[1, 0], torch.tensor([[0, 0, 0, 0], [0.2, 0, 0, 0]]))


def test_a_query_is_answered_from_its_own_picture(detr, head):
    torch.manual_seed(2)
    pixels = torch.randn(2, 3, 64, 64)
    given, alone = mask_inputs(detr, pixels), mask_inputs(detr, pixels[1:])
    both = head(*given.inputs(torch.tensor([0, 1, 1]), torch.tensor([2, 2, 4])))
    assert both.shape == (3, 16, 16)
    own = head(*alone.inputs(torch.tensor([0, 0]), torch.tensor([2, 4])))
    assert_close(both[1:], own, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(both[0], both[1], atol=1e-3)


def test_the_states_are_those_from_which_the_answers_come(detr):
    pixels = torch.randn(1, 3, 64, 64)
    given = mask_inputs(detr, pixels)
    assert_close(detr.classes(given.states), given.answers.logits)
    assert_close(given.answers.logits, detr(pixels).logits)


def test_every_parameter_learns_and_no_instance_is_no_error(detr, head):
    given = mask_inputs(detr, torch.randn(1, 3, 64, 64))
    head.zero_grad()
    head(*given.inputs(torch.tensor([0, 0]), torch.tensor([0, 1]))).square().mean().backward()
    assert not [name for name, each in head.named_parameters() if each.grad is None]
    assert head(*given.inputs(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))).shape == (0, 16, 16)


def test_masks_compete_and_specks_are_left_out():
    logits = np.full((3, 8, 8), -1.0)
    logits[0, :, :5], logits[1, :, 4:] = 1.0, 2.0
    logits[2, 0, 0] = 9.0  # one pixel
    made = segments(logits, [7, 8, 9])
    assert made.labels.tolist() == [7, 8]
    assert (made.instances[:, 4:] == 2).all()
    assert (made.instances == 1).sum() == 31 >= SMALLEST
    assert not segments(-np.ones((1, 8, 8)), [2]).instances.any()
    assert segments(np.zeros((0, 8, 8)), []).instances.shape == (8, 8)


def test_only_sure_queries_are_drawn(detr, head):
    given = mask_inputs(detr, torch.randn(2, 3, 64, 64))
    everything = segments_of(head, given, (64, 64), threshold=0.0)
    assert [each.instances.shape for each in everything] == [(64, 64)] * 2
    nothing = segments_of(head, given, (64, 64), threshold=1.0)
    assert not any(each.instances.any() or len(each.labels) for each in nothing)


# ---- opening ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def run(tmp_path, detr, head):
    from safetensors.torch import save_file

    from vizkit.image import Preprocessing

    needs = Preprocessing((64, 64), (0.5,) * 3, (0.5,) * 3, 1.0, "squash", "bilinear")
    about = opening.config_of("detr_small", detr, Backbone("resnetv2_18d", ARGS), ("a", "b", "c"), needs, "mit")
    (tmp_path / "config.json").write_text(json.dumps(about))
    save_file(detr.state_dict(), tmp_path / "model.safetensors")
    (tmp_path / "masks").mkdir()
    (tmp_path / "masks" / "config.json").write_text(json.dumps(config_of(head, weights_digest(tmp_path), "")))
    save_file(head.state_dict(), tmp_path / "masks" / "model.safetensors")
    return tmp_path


def test_it_opens_as_it_was_saved(run, detr, head):
    opened, given = open_masks(run), mask_inputs(detr, torch.randn(1, 3, 64, 64))
    which = torch.tensor([0]), torch.tensor([3])
    assert_close(opened(*given.inputs(*which)), head(*given.inputs(*which)))
    assert has_masks(run)
    assert opening.open_detector(run).labels == ("a", "b", "c")


@pytest.mark.parametrize(
    "change, words",
    [
        ({"task": "detect"}, "another task"),
        ({"of": "0" * 64}, "other weights"),
        ({"sizes": None}, "names no mask head"),
        ({"sizes": {"dim": 16, "finer": [16, 8], "heads": 2, "width": 2**40}}, "size above"),
        ({"sizes": {"dim": 16, "finer": [], "heads": 2, "width": 16}}, "no detr_masks can have"),
        ({"sizes": {"dim": "x", "finer": [16, 8], "heads": 2, "width": 16}}, "no detr_masks can have"),
        ({"sizes": {"dim": 16, "finer": [16], "heads": 3, "width": 16}}, "no detr_masks can have"),
        ({"sizes": {"dim": 32, "finer": [16], "heads": 2, "width": 16}}, "another network"),
    ],
)
def test_hostile_files_are_refused(run, change, words):
    file = run / "masks" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ModelError, match=words):
        open_masks(run)


def test_other_or_no_weights_are_refused(run):
    weights = run / "masks" / "model.safetensors"
    weights.write_bytes(b"\x10" * 64)
    with pytest.raises(ModelError):
        open_masks(run)
    weights.unlink()
    with pytest.raises(ModelError, match="detr-masks"):
        open_masks(run)
    (run / "masks" / "config.json").unlink()
    assert not has_masks(run)
    with pytest.raises(ModelError, match="detr-masks"):
        open_masks(run)
