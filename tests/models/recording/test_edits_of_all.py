"""The contract of edits: in one model of every timm module with attention a head is taken away and a key is not seen,
or a sentence says why not."""

import copy
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.test_families import ZOO, first_trace, loaded_of, pixels_of, trace_of
from vizkit.models.changing import changed_trace
from vizkit.models.recording.edits import EditError, parse
from vizkit.traces import PADDING

OTHERWISE, AFTERWARDS = "in a way that is not edited", "changes its weights after the softmax"
REFUSED = {
    **dict.fromkeys(
        (
            "byoanet",
            "byobnet",
            "coat",
            "efficientvim",
            "efficientvit_msra",
            "hiera",
            "nest",
            "shvit",
            "twins",
            "vision_transformer_sam",
            "volo",
        ),
        OTHERWISE,
    ),
    **dict.fromkeys(("cait", "convit", "efficientformer_v2"), AFTERWARDS),
}
MUTE = ("cait", "edgenext", "hieradet_sam2", "levit", "swin_transformer_v2", "swin_transformer_v2_cr")
"""Begin their training with factors of zero behind their attention, or in front of the head."""


def subject(module):
    if module not in MUTE:
        return loaded_of(module), first_trace(module)
    model = copy.deepcopy(loaded_of(module).model)
    random = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        if not name.endswith("bias") and float(parameter.abs().max()) < 1e-4:
            parameter.copy_(torch.randn(parameter.shape, generator=random))
    loaded = replace(loaded_of(module), model=model, compared={})
    return loaded, trace_of(loaded, pixels_of(module))


@pytest.mark.product
@pytest.mark.parametrize("module", ZOO)
@torch.no_grad()
def test_a_head_is_taken_away_and_a_key_is_not_seen_or_a_sentence_says_why_not(module):
    loaded, plain = subject(module)
    pixels = pixels_of(module)

    def edited(*texts):
        return changed_trace(loaded, pixels, tuple(map(parse, texts)), [pixels])

    first = next(layer for layer in plain.attention if layer.learned)
    token = int(first.key_ids[first.key_ids != PADDING].flatten()[0])
    if REFUSED.get(module) == OTHERWISE:
        for text in (f"blind:1={token}", "heads:1.1=0", "heads:1.1=mean"):
            with pytest.raises(EditError, match=OTHERWISE):
                edited(text)
        return

    blind = edited(f"blind:1={token}")
    layer = next(each for each in blind.attention if each.learned)
    assert float(layer.weights[(layer.key_ids == token)[:, None, None].expand_as(layer.weights)].max()) == 0
    assert blind.check.refused is None

    without = edited("heads:1.1=0")
    assert float((without.logits - plain.logits).abs().max()) > 1e-7
    layer = next(each for each in without.attention if each.learned)
    assert_close(layer.weights, first.weights, atol=1e-5, rtol=0)

    if module in REFUSED:
        with pytest.raises(EditError, match=AFTERWARDS):
            edited("heads:1.1=mean")
        return
    same = edited("heads:1.1=0", "heads:1.1=mean")  # the mean over this very image
    assert float((same.logits - plain.logits).abs().max()) <= 1e-4 * max(1.0, float(plain.logits.abs().max()))
