"""Answers of the lessons on windows, teachers and convolutions, from the networks' own outputs and by plain loops."""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.lessons.test_course import subject
from vizkit.lessons.shelf import opened
from vizkit.views.subject import Subject

SWIN, DEIT, CNN = "6_windows_that_shift", "7_a_teachers_dark_knowledge", "8_before_transformers"
SIDE, WINDOW, SHIFT = 14, 7, 3  # of the Swin of the insects


def logits(of: Subject, model: Any = None, source: str = "") -> Tensor:
    from vizkit.models import pixels_of

    loaded = subject(source, of.image).open() if source else of.open()
    with torch.no_grad():
        return (model or loaded.model)(pixels_of(loaded, of.original))[0].double()


def soft(of: Subject, t: float = 1.0, source: str = "") -> Tensor:
    return (logits(of, source=source) / t).softmax(-1)


def ranked(of: Subject, rank: int, t: float = 1.0) -> float:
    """Of the class that is so many-th, from 1, without a temperature."""
    return float(soft(of, t)[logits(of).argsort(descending=True)[rank - 1]])


def named(of: Subject, name: str) -> float:
    return float(soft(of)[list(of.open().labels).index(name)])


def visible(row: int, column: int, shift: int) -> Tensor:
    """1 where a token may look: the same window, cut at the edges over which the roll brings other tokens in."""

    def window(at: int) -> tuple[int, bool]:
        rolled = (at - shift) % SIDE
        return rolled // WINDOW, bool(shift) and at < shift

    own = window(row), window(column)
    return torch.tensor([[float((window(r), window(c)) == own) for c in range(SIDE)] for r in range(SIDE)])


def without_shift(of: Subject) -> float:
    model: Any = copy.deepcopy(of.open().model)
    for stage in model.layers:
        for block in stage.blocks:
            block.shift_size, block.attn_mask = (0, 0), None
    return float(logits(of, model).softmax(-1)[logits(of).argmax()])


def divergence(of: Subject, t: float = 1.0, source: str = "") -> float:
    teacher, student = soft(of, t, "bundled:insects_cnn"), soft(of, t, source)
    return float((teacher * (teacher.log() - student.log())).sum())


def doubt(of: Subject, source: str = "") -> float:
    p = soft(of, source=source)
    return float(-(p * p.log()).sum()) / math.log(len(p))


def last_tokens(of: Subject) -> Tensor:
    """After the last block, (token, channel)."""
    model, kept = of.open().model, []
    handle = model.get_submodule(f"blocks.{len(model.blocks) - 1}").register_forward_hook(  # pyright: ignore
        lambda *given: kept.append(given[-1])
    )
    logits(of)
    handle.remove()
    return kept[0][0]


def of_token(of: Subject, index: int) -> float:
    model: Any = of.open().model
    x = model.norm(last_tokens(of))
    out = (model.head, model.head_dist)[index](x[index])
    return float(out.softmax(-1)[logits(of).argmax()])


def cost(n: int, c: int, m: int) -> int:
    return 12 * n * c * c + 2 * n * m * c


CELLS = SIDE * SIDE
ANSWERS: dict[tuple[str, int], Callable[[Subject], Any]] = {
    (SWIN, 1): lambda of: CELLS**2,
    (SWIN, 2): lambda of: (SIDE // WINDOW) ** 2,
    (SWIN, 3): lambda of: CELLS * WINDOW**2,
    (SWIN, 4): lambda of: visible(7, 7, 0),
    (SWIN, 5): lambda of: visible(7, 7, SHIFT),
    (SWIN, 6): lambda of: float(visible(0, 0, SHIFT).sum()),
    (SWIN, 8): lambda of: (2 * WINDOW - 1) ** 2,
    (SWIN, 9): lambda of: CELLS // 4,
    (SWIN, 11): lambda of: cost(16 * CELLS, 64, 16 * CELLS) / cost(16 * CELLS, 64, WINDOW**2),
    (SWIN, 12): without_shift,
    (DEIT, 1): lambda of: 1 - float(soft(of).max()),
    (DEIT, 2): lambda of: [
        named(of, name) for name in ("backswimmer", "diving beetle", "mosquito larva", "midge larva")
    ],
    (DEIT, 3): lambda of: ranked(of, 1, 3) / ranked(of, 2, 3),
    (DEIT, 4): lambda of: ranked(of, 1, 3),
    (DEIT, 5): lambda of: ranked(of, 1, 1000),
    (DEIT, 6): lambda of: ranked(of, 2) / (1 - ranked(of, 1)),
    (DEIT, 7): lambda of: [(more := doubt(of, "bundled:insects_cnn") > doubt(of)), not more],
    (DEIT, 8): lambda of: [(near := divergence(of) < divergence(of, source="bundled:insects_vit")), not near],
    (DEIT, 9): lambda of: divergence(of, 3) / divergence(of, 20),
    (DEIT, 10): lambda of: 2,
    (DEIT, 11): lambda of: float(torch.cosine_similarity(*last_tokens(of)[:2], 0)),
    (DEIT, 12): lambda of: [(first := of_token(of, 0) > of_token(of, 1)), not first],
    (CNN, 2): lambda of: math.prod(of.open().model.forward_features(of.pixels).shape[-2:]),  # pyright: ignore
    (CNN, 8): lambda of: sum(weight.numel() for weight in of.open().model.parameters()),
}


@pytest.mark.product
@pytest.mark.parametrize(("name", "number"), ANSWERS, ids=lambda each: str(each)[:2])
def test_an_answer_is_that_of_the_network_itself(name: str, number: int) -> None:
    lesson = opened(name)
    question, of = lesson.steps[number - 1].question, subject(lesson.model, lesson.picture)
    assert question is not None
    expected = ANSWERS[name, number](of)
    found = [expression.value(of) for expression in question.expressions]
    if isinstance(expected, Tensor):
        assert torch.equal(found[0].float(), expected)
        return
    for one, other in zip(found, expected if isinstance(expected, list) else [expected], strict=True):
        assert one == pytest.approx(other, rel=2e-3, abs=1e-5)


def test_positions_exchanged_are_the_patches_shuffled() -> None:
    """What the lesson on positions asks, and the picture that it shows then, are one experiment."""
    from vizkit.lessons.expressions import parse
    from vizkit.views.positions.shuffle import Shuffle

    of = subject("bundled:insects_vit", "damselfly nymph")
    for seed in (1, 2):
        answer = parse(f'probability(edits="positions:scramble={seed}")').value(of)
        shuffled = Shuffle(share=100, seed=seed).both(of)[True].shuffled
        assert answer == pytest.approx(float(shuffled.softmax(-1)[of.seen.logits.argmax()]), abs=1e-4)
