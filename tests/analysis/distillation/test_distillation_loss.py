"""Losses of distillation against PyTorch, timm, our own training and autograd."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from vizkit.analysis.distillation.loss import (
    cross_entropy,
    cross_entropy_gradient,
    gradient_at_high_temperature,
    gradient_sizes,
    hard_loss,
    kl,
    kl_by_label,
    kl_gradient,
    losses,
    same_labels,
    soft_gradient,
    soft_loss,
)
from vizkit.analysis.distillation.temperature import temperatures
from vizkit.traces import NotApplicable
from vizkit.training import distillation
from vizkit.training.recipe import Recipe

IMAGES, CLASSES = 5, 7
TEMPERATURES = [0.05, 1.0, 3.0, 100.0]


@pytest.fixture
def answers():
    """(teacher, student, labels)"""
    draw = torch.Generator().manual_seed(0)
    teacher, student = 4 * torch.randn(2, IMAGES, CLASSES, generator=draw)
    return teacher, student, torch.randint(CLASSES, (IMAGES,), generator=draw)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_divergence_is_that_of_pytorch_in_float64(answers, temperature):
    teacher, student, _ = answers
    log_t, log_s = ((z.double() / temperature).log_softmax(-1) for z in (teacher, student))
    expected = F.kl_div(log_s, log_t, reduction="none", log_target=True)
    assert_close(kl_by_label(teacher, student, temperature), expected, rtol=1e-9, atol=1e-12)
    assert_close(kl(teacher, student, temperature), expected.sum(-1), rtol=1e-9, atol=1e-12)
    assert_close(soft_loss(teacher, student, temperature), temperature**2 * expected.sum(-1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_no_divergence_from_oneself_whatever_is_added_to_all_logits(answers, temperature):
    teacher, student, _ = answers
    assert kl(teacher, teacher + 5, temperature).tolist() == pytest.approx([0] * IMAGES, abs=1e-9)
    assert (kl(teacher, student, temperature) > 0).all()


@pytest.mark.parametrize("temperature", [0.05, 1.0, 100.0])
def test_extreme_logits_give_numbers(temperature):
    teacher = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]])
    student, labels = -teacher, torch.tensor([0, 1])
    every = [
        kl(teacher, student, temperature),
        soft_loss(teacher, student, temperature),
        cross_entropy(student, labels),
        hard_loss(teacher, student),
        kl_gradient(teacher, student, temperature),
        soft_gradient(teacher, student, temperature),
    ]
    assert all(bool(each.isfinite().all()) for each in every)
    assert float(kl(teacher, student, temperature).min()) >= 0
    sizes = gradient_sizes(teacher, student, labels, temperatures(9))
    assert bool(sizes.plain.isfinite().all())


# ---- equal to what others compute ------------------------------------------------------------------------------------
@pytest.mark.parametrize("temperature", [1.0, 3.0, 20.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_training_minimises_the_same(answers, temperature, share):
    teacher, student, labels = answers
    found = losses(teacher, student, labels, temperature, share)
    assert float(distillation.soft_loss(student, teacher, temperature)) == pytest.approx(found.soft, rel=1e-4)
    assert float(distillation.hard_loss(student, teacher)) == pytest.approx(found.teacher_choice, rel=1e-5)
    targets = distillation.soft_targets(labels, CLASSES, 0.0)
    for kind, expected in (("soft", found.soft_distillation), ("hard", found.hard_distillation)):
        recipe = Recipe(
            data="digits",
            model="digits_vit",
            teacher="bundled:digits_cnn",
            distillation=kind,
            temperature=temperature,
            teacher_share=share,
        )
        assert float(distillation.mixed_loss(student, targets, teacher, recipe)) == pytest.approx(expected, rel=1e-4)


class Says(nn.Module):
    """A model for timm that answers what it is told to."""

    in_chans = 3
    pretrained_cfg = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}  # noqa: RUF012

    def __init__(self, *answers):
        super().__init__()
        self.answers = nn.ParameterList(answers)
        self.num_classes = CLASSES

    def forward(self, pixels):
        return tuple(self.answers) if len(self.answers) > 1 else self.answers[0]

    def set_distilled_training(self, enable=True):
        pass


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_timm_computes_the_same(answers, temperature):
    from timm.task import LogitDistillationTask, TokenDistillationTask

    teacher, student, labels = answers
    pixels = torch.zeros(IMAGES, 3, 2, 2)
    given = {"criterion": nn.CrossEntropyLoss(), "temperature": temperature, "task_loss_weight": 0.7, "verbose": False}
    found = losses(teacher, student, labels, temperature, 0.3)
    told = LogitDistillationTask(Says(student), Says(teacher), **given)(pixels, labels)
    assert told["kd_loss"].item() == pytest.approx(found.soft, rel=1e-4)
    assert told["loss"].item() == pytest.approx(found.soft_distillation, rel=1e-4)
    hard = TokenDistillationTask(Says(student, student), Says(teacher), distill_type="hard", **given)(pixels, labels)
    assert hard["loss"].item() == pytest.approx(found.hard_distillation, rel=1e-4)


# ---- gradients -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("temperature", [0.05, 1.0, 2.5, 100.0])
def test_gradients_are_those_of_autograd(answers, temperature):
    teacher, student, labels = answers
    z = student.double().requires_grad_()
    target = (teacher.double() / temperature).softmax(-1)
    divergence = F.kl_div((z / temperature).log_softmax(-1), target, reduction="sum")
    (expected,) = torch.autograd.grad(divergence, z)
    assert_close(kl_gradient(teacher, student, temperature), expected, atol=1e-9, rtol=1e-7)
    assert_close(soft_gradient(teacher, student, temperature), temperature**2 * expected, atol=1e-9, rtol=1e-7)
    (expected,) = torch.autograd.grad(F.cross_entropy(z, labels, reduction="sum"), z)
    assert_close(cross_entropy_gradient(student, labels), expected, atol=1e-12, rtol=1e-9)


def test_why_t_squared(answers):
    """Without it the gradient falls as 1/T², with it it goes to the difference of the logits (Hinton, eq. 4)."""
    teacher, student, labels = answers
    assert_close(
        soft_gradient(teacher, student, 1e5), gradient_at_high_temperature(teacher, student), atol=1e-3, rtol=1e-3
    )
    at = torch.tensor([50.0, 100.0, 1e5], dtype=torch.float64)
    sizes = gradient_sizes(teacher, student, labels, at)
    assert float(sizes.plain[0] / sizes.plain[1]) == pytest.approx(4, rel=0.02)
    assert float(sizes.scaled[0] / sizes.scaled[1]) == pytest.approx(1, rel=0.02)
    assert float(sizes.scaled[2]) == pytest.approx(sizes.limit, rel=1e-3)
    assert sizes.label == pytest.approx(float(cross_entropy_gradient(student, labels).norm(dim=-1).mean()))
    mean = torch.stack([soft_gradient(teacher, student, t).norm(dim=-1).mean() for t in at.tolist()])
    assert_close(sizes.scaled, mean)


# ---- the mean -------------------------------------------------------------------------------------------------------
def test_means_over_images(answers):
    teacher, student, labels = answers
    found = losses(teacher, student, labels, 3.0, 0.25)
    each = [losses(teacher[i : i + 1], student[i : i + 1], labels[i : i + 1], 3.0, 0.25) for i in range(IMAGES)]
    for name in ("kl", "soft", "label", "teacher_choice", "soft_distillation", "hard_distillation"):
        assert getattr(found, name) == pytest.approx(sum(getattr(one, name) for one in each) / IMAGES), name
    assert found.soft == pytest.approx(9 * found.kl)
    assert found.soft_distillation == pytest.approx(0.75 * found.label + 0.25 * found.soft)
    with pytest.raises(ValueError, match="0 to 1"):
        losses(teacher, student, labels, 3.0, 1.5)


# ---- what can be compared --------------------------------------------------------------------------------------------
def test_labels_in_another_order_are_matched():
    order = same_labels(("cat", "dog", "cow"), ("cow", "cat", "dog"), ("a", "b"))
    assert torch.tensor([30.0, 10.0, 20.0])[order].tolist() == [10, 20, 30]
    assert same_labels(("crane", "crane"), ("crane", "crane"), ("a", "b")).tolist() == [0, 1]


def test_a_label_that_stands_twice_cannot_be_found_in_another_order():
    with pytest.raises(NotApplicable, match="cannot be compared"):
        same_labels(("crane", "crane", "cat"), ("crane", "cat", "crane"), ("a", "b"))


@pytest.mark.parametrize("other", [("cat", "dog"), ("cat", "dog", "cow", "pen"), ("cat", "dog", "ant"), ()])
def test_other_labels_are_refused_in_one_sentence(other):
    with pytest.raises(NotApplicable) as found:
        same_labels(("cat", "dog", "cow"), other, ("a_teacher", "a_student"))
    assert str(found.value).count(".") == 1
    assert str(found.value).startswith("a_teacher knows 3 classes (cat, dog, …) and a_student ")
