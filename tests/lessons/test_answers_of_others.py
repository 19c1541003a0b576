"""Answers of the lessons on windows, teachers and convolutions, from the networks' own outputs and by plain loops."""

import copy
import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.lessons.test_course import subject
from vizkit.lessons.shelf import opened

SWIN, DEIT, CNN = "6_windows_that_shift", "7_a_teachers_dark_knowledge", "8_before_transformers"
SIDE, WINDOW, SHIFT = 14, 7, 3  # of the Swin of the insects


def logits(of, model=None, source=""):
    from vizkit.models import pixels_of

    loaded = subject(source, of.image).open() if source else of.open()
    with torch.no_grad():
        return (model or loaded.model)(pixels_of(loaded, of.original))[0].double()


def soft(of, t=1.0, source=""):
    return (logits(of, source=source) / t).softmax(-1)


def ranked(of, rank, t=1.0):
    """Of the class that is so many-th, from 1, without a temperature."""
    return float(soft(of, t)[logits(of).argsort(descending=True)[rank - 1]])


def named(of, name):
    return float(soft(of)[list(of.open().labels).index(name)])


def visible(row, column, shift):
    """1 where a token may look: the same window, cut at the edges over which the roll brings other tokens in."""

    def window(at):
        rolled = (at - shift) % SIDE
        return rolled // WINDOW, bool(shift) and at < shift

    own = window(row), window(column)
    return torch.tensor([[float((window(r), window(c)) == own) for c in range(SIDE)] for r in range(SIDE)])


def without_shift(of):
    model = copy.deepcopy(of.open().model)
    for stage in model.layers:
        for block in stage.blocks:
            block.shift_size, block.attn_mask = (0, 0), None
    return float(logits(of, model).softmax(-1)[logits(of).argmax()])


def divergence(of, t=1.0, source=""):
    teacher, student = soft(of, t, "bundled:insects_cnn"), soft(of, t, source)
    return float((teacher * (teacher.log() - student.log())).sum())


def doubt(of, source=""):
    p = soft(of, source=source)
    return float(-(p * p.log()).sum()) / math.log(len(p))


def last_tokens(of):
    """After the last block, (token, channel)."""
    model, kept = of.open().model, []
    handle = model.get_submodule(f"blocks.{len(model.blocks) - 1}").register_forward_hook(
        lambda *given: kept.append(given[-1])
    )
    logits(of)
    handle.remove()
    return kept[0][0]


def of_token(of, index):
    model = of.open().model
    x = model.norm(last_tokens(of))
    out = (model.head, model.head_dist)[index](x[index])
    return float(out.softmax(-1)[logits(of).argmax()])


def cost(n, c, m):
    return 12 * n * c * c + 2 * n * m * c


def looks(of, row, column):
    """Of a token whose shifted window lies at the top left: weights of head 1 of block 2, from q, k and bias."""
    block = of.open().model.layers[0].blocks[1]
    attention, kept = block.attn, []
    handle = attention.register_forward_pre_hook(lambda _, given: kept.append(given[0]))
    logits(of)
    handle.remove()
    with torch.no_grad():
        q, k, _ = attention.qkv(kept[0][0]).reshape(WINDOW**2, 3, attention.num_heads, -1).permute(1, 2, 0, 3)
        scores = q @ k.mT / math.sqrt(q.shape[-1]) + attention._get_rel_pos_bias()[0]
        weights = scores.softmax(-1)[0][(row - SHIFT) * WINDOW + column - SHIFT]
    found = torch.zeros(SIDE, SIDE)
    found[SHIFT : SHIFT + WINDOW, SHIFT : SHIFT + WINDOW] = weights.reshape(WINDOW, WINDOW)
    return found


def reached(row, column):
    """After a block of windows and one of shifted windows: the windows of all that are seen in the second."""
    seen = visible(row, column, SHIFT).nonzero().tolist()
    return float((sum(visible(r, c, 0) for r, c in seen) > 0).float().mean())


def fields(of):
    """Sides after each stage, by the formula of the lesson along the longest path; a pool begins the stage after it."""
    r, j, sides = 1, 1, dict[str, int]()
    for name, layer in of.open().model.named_modules():
        if not isinstance(layer, torch.nn.Conv2d | torch.nn.MaxPool2d) or "downsample" in name or "head" in name:
            continue
        f, s = (side if isinstance(side, int) else side[0] for side in (layer.kernel_size, layer.stride))
        r, j = r + (f - 1) * j, j * s
        if isinstance(layer, torch.nn.Conv2d):
            sides[".".join(name.split(".")[:-1]).partition(".blocks")[0]] = r
    return [*sides.values()]


def first_wide(of):
    first = next(stage for stage, side in enumerate(fields(of), 1) if side >= of.pixels.shape[-1])
    return [first <= 2, first == 3, first > 3, False]


def grad_cam(of):
    model = of.open().model
    with torch.enable_grad():
        maps = model.forward_features(of.pixels.clone().requires_grad_())
        (slope,) = torch.autograd.grad(model.forward_head(maps).max(), maps)
    return (slope.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()


def unmoved(of, source=""):
    """Cosine of the pooled features when the image moves right by 4 pixels, the strip in the mean colour, 0."""
    each = subject(source, of.image) if source else of
    model = each.open().model
    moved = torch.cat([torch.zeros_like(each.pixels[..., :4]), each.pixels[..., :-4]], -1)
    with torch.no_grad():
        still, then = (model.forward_head(model.forward_features(x), pre_logits=True)[0] for x in (each.pixels, moved))
    return float(torch.cosine_similarity(still.flatten(), then.flatten(), 0))


def used_side(of):
    """Of the cell at 0.4 of both sides, as it leaves the third stage: the smallest odd square of pixels around the
    middle of its field in which the gradient sums to 68 %. Cell i, n pixels from the next, looks at pixel n · i."""
    model = of.open().model
    pixels = of.pixels.clone().requires_grad_()
    with torch.enable_grad():
        maps = model.stages[:2](model.stem(pixels))  # the stem is the first
        row, column = (int(0.4 * side) for side in maps.shape[-2:])
        (slope,) = torch.autograd.grad(maps[0, :, row, column].sum(), pixels)
    apart = pixels.shape[-1] // maps.shape[-1]
    effect, y, x = slope[0].abs().sum(0), apart * row, apart * column
    halves = range(max(effect.shape))
    held = [effect[max(0, y - h) : y + h + 1, max(0, x - h) : x + h + 1].sum() / effect.sum() for h in halves]
    return 2 * next(half for half in halves if held[half] >= 0.68) + 1


def vanished(of):
    """Powers of ten between the gradients of the first and the last of as many layers as follow one another in the
    network (a shortcut beside them adds none), all of 64 × 64 with sigmoids, propagated backwards by hand."""
    kinds = torch.nn.Conv2d | torch.nn.MaxPool2d
    depth = sum(
        isinstance(layer, kinds) and "downsample" not in name and "head" not in name
        for name, layer in of.open().model.named_modules()
    )
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(64, 64, generator=generator, dtype=torch.float64) / 8 for _ in range(depth)]
    head = torch.randn(10, 64, generator=generator, dtype=torch.float64) / 8
    states = [torch.randn(32, 64, generator=generator, dtype=torch.float64)]
    for weight in weights:
        states.append(1 / (1 + (-states[-1] @ weight.T).exp()))
    labels = torch.randint(10, (32,), generator=generator)
    back = ((states[-1] @ head.T).softmax(-1) - torch.eye(10, dtype=torch.float64)[labels]) / 32 @ head
    norms = []
    for weight, before, after in zip(weights[::-1], states[-2::-1], states[:0:-1], strict=True):
        back = back * after * (1 - after)
        norms.append(float((back.T @ before).norm()))
        back = back @ weight
    return math.log10(norms[0] / norms[-1])


CELLS = SIDE * SIDE
ANSWERS = {
    (SWIN, 1): lambda of: CELLS**2,
    (SWIN, 2): lambda of: (SIDE // WINDOW) ** 2,
    (SWIN, 3): lambda of: CELLS * WINDOW**2,
    (SWIN, 4): lambda of: visible(7, 7, 0),
    (SWIN, 5): lambda of: visible(7, 7, SHIFT),
    (SWIN, 6): lambda of: float(visible(0, 0, SHIFT).sum()),
    (SWIN, 7): lambda of: looks(of, 7, 7),
    (SWIN, 8): lambda of: (2 * WINDOW - 1) ** 2,
    (SWIN, 9): lambda of: CELLS // 4,
    (SWIN, 10): lambda of: reached(1, 1),
    (SWIN, 11): lambda of: cost(16 * CELLS, 64, 16 * CELLS) / cost(16 * CELLS, 64, WINDOW**2),
    (SWIN, 12): without_shift,
    (DEIT, 1): lambda of: 1 - float(soft(of).max()),
    (DEIT, 2): lambda of: [
        named(of, name) for name in ("backswimmer", "diving beetle", "mosquito larva", "midge larva")
    ],
    (DEIT, 3): lambda of: ranked(of, 1, 2) / ranked(of, 2, 2),
    (DEIT, 4): lambda of: ranked(of, 1, 3),
    (DEIT, 5): lambda of: ranked(of, 1, 100),
    (DEIT, 6): lambda of: ranked(of, 2) / (1 - ranked(of, 1)),
    (DEIT, 7): lambda of: [(more := doubt(of, "bundled:insects_cnn") > doubt(of)), not more],
    (DEIT, 8): lambda of: [(near := divergence(of) < divergence(of, source="bundled:insects_vit")), not near],
    (DEIT, 9): lambda of: divergence(of, 3) / divergence(of, 20),
    (DEIT, 10): lambda of: 2,
    (DEIT, 11): lambda of: float(torch.cosine_similarity(*last_tokens(of)[:2], 0)),
    (DEIT, 12): lambda of: [(first := of_token(of, 0) > of_token(of, 1)), not first],
    (CNN, 2): lambda of: math.prod(of.open().model.forward_features(of.pixels).shape[-2:]),
    (CNN, 3): lambda of: fields(of)[0],
    (CNN, 4): first_wide,
    (CNN, 5): used_side,
    (CNN, 6): grad_cam,
    (CNN, 7): lambda of: [(less := unmoved(of) > unmoved(of, "bundled:insects_vit")), not less],
    (CNN, 8): lambda of: sum(weight.numel() for weight in of.open().model.parameters()),
    (CNN, 9): vanished,
}


@pytest.mark.product
@pytest.mark.parametrize("name, number", ANSWERS, ids=lambda each: str(each)[:2])
def test_an_answer_is_that_of_the_network_itself(name, number):
    lesson = opened(name)
    question, of = lesson.steps[number - 1].question, subject(lesson.model, lesson.picture)
    expected = ANSWERS[name, number](of)
    found = [expression.value(of) for expression in question.expressions]
    if isinstance(expected, Tensor):
        ours, theirs = (each / each.max() for each in (found[0].float().nan_to_num(), expected))
        assert_close(ours, theirs, rtol=2e-3, atol=1e-4)
        return
    for one, other in zip(found, expected if isinstance(expected, list) else [expected], strict=True):
        assert one == pytest.approx(other, rel=2e-3, abs=1e-5)


def test_positions_exchanged_are_the_patches_shuffled():
    """What the lesson on positions asks, and the picture that it shows then, are one experiment."""
    from vizkit.lessons.expressions import parse
    from vizkit.views.positions.shuffle import Shuffle

    of = subject("bundled:insects_vit", "damselfly nymph")
    for seed in (1, 2):
        answer = parse(f'probability(edits="positions:scramble={seed}")').value(of)
        shuffled = Shuffle(share=100, seed=seed).both(of)[True].shuffled
        assert answer == pytest.approx(float(shuffled.softmax(-1)[of.seen.logits.argmax()]), abs=1e-4)
