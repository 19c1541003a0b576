"""What models take: counted against the papers, memory against sums by hand, time only for its shape."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from vizkit.analysis.comparison.published import IMAGENET
from vizkit.image import Preprocessing
from vizkit.models import ModelError
from vizkit.models.probes.cost import device_in_words, held_answering, kept_learning, measure, seconds_of, tokens_of
from vizkit.models.probes.multiply_adds import counted
from vizkit.models.sources.loaded import Loaded

CPU = torch.device("cpu")


def loaded_of(model, side_px=8):
    return Loaded("own", model.eval(), CPU, Preprocessing((side_px, side_px), (0.5,) * 3, (0.5,) * 3))


def test_a_device_is_called_what_it_is(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    loaded = loaded_of(nn.Identity())
    assert device_in_words(loaded) == "CPU, 2 threads"
    loaded.device = torch.device("mps")
    assert device_in_words(loaded) == "mps"


@pytest.mark.product
@pytest.mark.parametrize("row", IMAGENET, ids=lambda row: f"{row.timm}-{row.side_px}")
def test_parameters_and_multiply_adds_are_the_published_ones(row):
    import timm

    with torch.device("meta"):
        loaded = loaded_of(timm.create_model(row.timm, pretrained=False), row.side_px)
    printed = row.parameters
    if row.timm == "swin_tiny_patch4_window7_224":
        assert loaded.parameters == 28_288_354  # the authors' own code has as many; the paper prints 29 M
        printed = 28.3e6
    assert loaded.parameters == pytest.approx(printed, rel=0.01)
    assert counted(loaded) == pytest.approx(row.multiply_adds, rel=0.05)


def test_nothing_of_the_model_is_touched_by_counting(vit):
    before = [(p.data_ptr(), p.requires_grad, p.device) for p in vit.model.parameters()]
    counted(vit)
    kept_learning(vit.model, torch.zeros(1, 3, 160, 160))
    assert before == [(p.data_ptr(), p.requires_grad, p.device) for p in vit.model.parameters()]
    assert all(p.grad is None for p in vit.model.parameters())


class Chain(nn.Module):
    """(image, 10) → 1000 → 500 → 3, nothing in between."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(*sizes, bias=False) for sizes in ((10, 1000), (1000, 500), (500, 3)))

    def forward(self, pixels):
        return self.c(self.b(self.a(pixels)))


def test_memory_by_hand():
    chain, pixels = Chain(), torch.zeros(2, 10)
    # At the most the outputs of a and b, 4 bytes a number, are there at once; a's is gone before c's comes.
    assert held_answering(loaded_of(chain), pixels) == 4 * 2 * (1000 + 500)
    # To learn, every layer keeps what came in, and the square at the end what came out.
    assert kept_learning(chain, pixels) == 4 * 2 * (10 + 1000 + 500 + 3)


def test_a_pass_in_place_and_views_take_no_more():
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(10, 100, bias=False)

        def forward(self, pixels):
            return self.a(pixels).view(-1, 100).relu_()[:, :50]

    assert held_answering(loaded_of(Small()), torch.zeros(1, 10)) == 4 * 100


def test_learning_keeps_more_than_answering_holds(digits):
    pixels = torch.zeros(1, 3, 32, 32)
    answering, learning = held_answering(digits, pixels), kept_learning(digits.model, pixels)
    assert answering == held_answering(digits, pixels), "nothing of the first pass stays"
    assert 2 * answering < learning
    assert kept_learning(digits.model, torch.zeros(2, 3, 32, 32)) == pytest.approx(2 * learning, rel=0.02)


@pytest.mark.parametrize("name, tokens", [("vit", (101,)), ("swin", (16 * 24, 8 * 12, 4 * 6, 2 * 3))])
def test_tokens(name, tokens, request):
    assert tokens_of(request.getfixturevalue(name)) == tokens


def test_places_of_a_cnn(cnn):
    found = tokens_of(cnn)
    assert list(found) == sorted(found, reverse=True)
    assert found[-1] == 25


def test_measuring_tells_what_comes_and_can_be_stopped(digits):
    heard = []
    found = measure(digits, torch.zeros(1, 3, 32, 32), 4, heard.append)
    assert heard[:2] == ["memory without gradients", "memory of a training step"]
    assert set(found.seconds) == {1, 4}
    assert all(0 < low <= median <= high for median, low, high in found.seconds.values())
    assert found.passes >= 3
    assert found.where.startswith("CPU")

    def stop():
        raise ModelError("enough")

    with pytest.raises(ModelError):
        seconds_of(digits, torch.zeros(1, 3, 32, 32), stop)


class OneWay(nn.Module):
    """Writes over what the way back would need."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3 * 8 * 8, 5)

    def forward(self, pixels):
        with torch.inference_mode(torch.is_grad_enabled()):
            made = self.first(pixels.flatten(1))
        return made * self.first.weight.sum()


def test_a_model_without_a_way_back_is_measured_but_for_learning():
    found = measure(loaded_of(OneWay()), torch.zeros(1, 3, 8, 8), 2, lambda _: None)
    assert found.learning_bytes is None
    assert found.answering_bytes > 0


def test_what_is_taken_per_image_is_of_the_batch(monkeypatch):
    """A clock that says one second for every pass."""
    now = iter(range(1000))
    monkeypatch.setattr("vizkit.models.probes.cost.time", SimpleNamespace(perf_counter=lambda: float(next(now))))
    assert seconds_of(loaded_of(nn.Flatten()), torch.zeros(4, 3, 8, 8)) == (0.25, 0.25, 0.25, 4)
