"""Losses of learning from labels and from a teacher (Hinton et al. 2015; DeiT: Touvron et al. 2021)."""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.training.recipe import Recipe

Logits = Float[Tensor, "image label"]


def soft_loss(student: Logits, teacher: Logits, temperature: float) -> Float[Tensor, ""]:
    """T² · KL(softmax(teacher / T) ‖ softmax(student / T)), mean over images, in nats (Hinton et al. 2015, § 2).

    T² keeps the gradient's size about the same at every T.
    """
    log_teacher = F.log_softmax(teacher / temperature, dim=-1)
    log_student = F.log_softmax(student / temperature, dim=-1)
    return temperature**2 * F.kl_div(log_student, log_teacher, reduction="batchmean", log_target=True)


def hard_loss(student: Logits, teacher: Logits) -> Float[Tensor, ""]:
    """Cross-entropy with the teacher's first choice as the label (DeiT, equation 3)."""
    return F.cross_entropy(student, teacher.argmax(-1))


def soft_targets(labels: Int[Tensor, " image"], classes: int, smoothing: float) -> Float[Tensor, "image {classes}"]:
    """One-hot rows with `smoothing` spread evenly over all classes (Szegedy et al. 2016)."""
    return F.one_hot(labels, classes).float() * (1 - smoothing) + smoothing / classes


def mixed_loss(
    outputs: Logits | tuple[Logits, Logits], targets: Logits, teacher: Logits | None, recipe: Recipe
) -> Float[Tensor, ""]:
    """(1 − λ) · cross-entropy with the labels + λ · the teacher's part; without a teacher, the cross-entropy.

    `outputs` of a model with a distillation token are two: the class head answers to the labels, the other to the
    teacher. λ = ½ with "hard" is DeiT's loss.
    """
    own, from_teacher = outputs if isinstance(outputs, tuple) else (outputs, outputs)
    loss = F.cross_entropy(own, targets)
    if teacher is None:
        return loss if own is from_teacher else (loss + F.cross_entropy(from_teacher, targets)) / 2
    if recipe.distillation == "soft":
        taught = soft_loss(from_teacher, teacher, recipe.temperature)
    else:
        taught = hard_loss(from_teacher, teacher)
    return (1 - recipe.teacher_share) * loss + recipe.teacher_share * taught
