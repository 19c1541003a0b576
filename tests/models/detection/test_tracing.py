"""Traces of DETRs: layers and tokens, that the weights are what the layers used, and what is seen of a picture."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.drawn import noise, noisy_picture
from tests.models.detection.tiny import tiny
from vizkit.models.detection import tracing
from vizkit.models.detection.seen import look, sure
from vizkit.models.detection.tracing import Answer, trace_picture
from vizkit.models.networks.detr import Answers
from vizkit.models.recording.recorder import Recorder
from vizkit.saving import open_npz, save_npz
from vizkit.traces import Tokens, TraceError

PICTURE = noisy_picture(50, 71)
LAYERS = [
    ("encoder.0.attn", "cells", "cells"),
    ("encoder.1.attn", "cells", "cells"),
    ("decoder.0.attn", "queries", "queries"),
    ("decoder.0.cross", "queries", "cells"),
    ("decoder.1.attn", "queries", "queries"),
    ("decoder.1.cross", "queries", "cells"),
]
KINDS = pytest.mark.parametrize("conditional", [False, True], ids=["plain", "conditional"])


@KINDS
def test_layers_tokens_and_proof(conditional):
    trace = trace_picture(tiny(conditional=conditional), PICTURE)
    assert [(layer.name, layer.query.name, layer.key.name) for layer in trace.attention] == LAYERS
    cells, queries = trace.attention[3].key, trace.attention[3].query
    assert (cells.grid, cells.stride, cells.aspect) == ((2, 3), 32.0, 1.0)
    assert (queries.grid, queries.free, len(queries.boxes_cxcywh)) == (None, 5, 5)
    assert trace.check.passed
    assert trace.check.layers_found == trace.check.layers_expected == 6
    assert (trace.image_size, tuple(trace.logits.shape)) == ((64, 96), (5, 4))


@KINDS
def test_weights_times_values_are_what_the_layer_gives(conditional):
    """In every layer, content and place side by side as well: the output projection is given weights · values."""
    detector = tiny(conditional=conditional)
    trace_picture(detector, PICTURE)  # the places are measured once, in a pass of their own
    given, values, handles = {}, {}, []
    for name, layer in detector.model.named_modules():
        if name in {path for path, _, _ in LAYERS}:
            handles += [
                layer.out.register_forward_hook(lambda _, x, __, name=name: given.update({name: x[0]})),
                layer.value.register_forward_hook(lambda _, __, y, name=name: values.update({name: y})),
            ]
    trace = trace_picture(detector, PICTURE)
    for handle in handles:
        handle.remove()
    for layer in trace.attention:
        value = values[layer.name].unflatten(-1, (2, 8)).transpose(1, 2)
        mixed = (layer.weights @ value).transpose(1, 2).flatten(2)
        assert_close(mixed, given[layer.name])


def test_a_layer_that_is_not_recorded_is_noticed(monkeypatch):
    """The proof can fail: a recorder that lets a layer go by is refused."""

    class Missing(Recorder):
        def __exit__(self, *error):
            super().__exit__(*error)
            self.calls.pop()

    monkeypatch.setattr(tracing, "Recorder", Missing)
    with pytest.raises(TraceError, match="5 of 6"):
        trace_picture(tiny(conditional=True), PICTURE)


def test_a_trace_is_saved_with_the_boxes_of_its_queries(tmp_path):
    trace = trace_picture(tiny(conditional=True), PICTURE, Answer(3, 1))
    save_npz(trace, tmp_path / "trace.npz")
    again, _ = open_npz(tmp_path / "trace.npz")
    assert [layer.query for layer in again.attention] == [layer.query for layer in trace.attention]
    assert again.target == 1
    for before, after in zip(trace.attention, again.attention, strict=True):
        assert torch.equal(before.weights, after.weights)
        assert before.gradient is not None
        assert after.gradient is not None
        assert torch.equal(before.gradient, after.gradient)


@pytest.mark.parametrize("boxes", [((0.5, 0.5, 0.1, 0.1),), ((0.5, 0.5, 1.5, 0.1),) * 2, ((float("nan"),) * 4,) * 2])
def test_boxes_that_do_not_fit_their_tokens_are_refused(boxes):
    with pytest.raises(TraceError):
        Tokens("queries", free=2, boxes_cxcywh=boxes)


@KINDS
def test_gradients_are_those_of_the_named_logit(conditional):
    """To scale a layer's weights by 1 + ε changes the logit by ε Σ A ∂y/∂A: against autograd by hand for one layer."""
    detector = tiny(conditional=conditional)
    last = trace_picture(detector, PICTURE, Answer(2, 1)).attention[-1]
    others = [row for row in range(5) if row != 2]
    assert (last.gradient[:, :, others] == 0).all()  # the last layer of another query has no say
    assert (last.gradient[:, :, 2] != 0).any()


def test_a_query_or_class_that_there_is_not_is_refused():
    for answer in (Answer(5, 0), Answer(0, 3), Answer(-1, 0)):
        with pytest.raises(ValueError, match="5 queries and 3 classes"):
            trace_picture(tiny(conditional=False), PICTURE, answer)


@KINDS
def test_what_is_seen_is_what_the_model_says(conditional):
    detector = tiny(conditional=conditional)
    seen = look(detector, PICTURE)
    with torch.no_grad():
        expected = detector.model.by_layer(tracing.pixels_of(detector, PICTURE))
    for own, other in zip(seen.layers, expected, strict=True):
        assert_close(own.logits, other.logits)
        assert_close(own.boxes_cxcywh, other.boxes_cxcywh)
    assert [len(part) for part in (seen.encoder, seen.cross, seen.among)] == [2, 2, 2]
    assert seen.memory.shape == (6, 16)
    assert_close(seen.of_query(1, 4).sum(), torch.tensor(1.0))
    assert torch.equal(seen.of_query(0, 4, 1), seen.cross[0][1, 4].view(2, 3))


@KINDS
def test_without_self_attention_a_query_knows_of_no_other(conditional):
    """Whatever the vector of another query is, all others say the same; with self-attention they do not. The weights of
    the beginning are so small that what one query tells another is near rounding: five times as large it is not."""
    detector = tiny(conditional=conditional)
    for weights in detector.model.decoder.parameters():
        weights *= 5 if weights.dim() > 1 else 1
    before = {way: look(detector, PICTURE, self_attention=way) for way in (True, False)}
    detector.model.queries.weight[4] = 30 * noise(16)
    after = {way: look(detector, PICTURE, self_attention=way) for way in (True, False)}
    others = {way: [each[way].layers[-1].logits[0, :4] for each in (before, after)] for way in (True, False)}
    assert_close(*others[False])
    effect = (others[True][0] - others[True][1]).abs().max()
    assert effect > 100 * torch.finfo(effect.dtype).eps * others[True][0].abs().max()  # 40 times that
    assert before[False].among == ()
    assert len(before[False].cross) == 2


def test_a_failed_check_is_no_picture(monkeypatch):
    from vizkit.models.detection import seen

    trace, layers = tracing.trace_layers(tiny(conditional=False), PICTURE)
    broken = replace(trace, check=replace(trace.check, output_error=1.0))
    monkeypatch.setattr(seen, "trace_layers", lambda *_, **__: (broken, layers))
    with pytest.raises(TraceError, match="check failed"):
        look(tiny(conditional=False), PICTURE)


def test_sure_answers_come_first_and_nothing_is_no_error():
    logits = torch.tensor([[[0.0, 2.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 9.0]]])
    answers = Answers(logits, torch.rand(1, 3, 4))
    said = sure(answers, 0.5)
    assert said.queries.tolist() == [1, 0]
    assert said.labels.tolist() == [0, 1]
    assert torch.equal(said.boxes_cxcywh, answers.boxes_cxcywh[0, [1, 0]])
    assert len(sure(answers, 0.999).queries) == 0
