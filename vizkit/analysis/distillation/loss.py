"""The loss of a student that answers otherwise than its teacher and the label, and where the loss pulls its logits.

    soft: L = (1 − λ) · CE(softmax(z_s), y) + λ · T² · KL(softmax(z_t / T) ‖ softmax(z_s / T))
    hard: L = (1 − λ) · CE(softmax(z_s), y) + λ · CE(softmax(z_s), argmax z_t)

Hinton, Vinyals & Dean 2015 (arXiv 1503.02531), § 2; hard labels with λ = ½: DeiT (Touvron et al. 2021, arXiv
2012.12877), eq. 2 and 3. In nats, float64, one number for each image; `vizkit.training.distillation` is what training
minimises, and a test holds the two equal.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from vizkit.analysis.distillation.temperature import log_probabilities
from vizkit.traces import NotApplicable

Logits = Float[Tensor, "image label"]
PerImage = Float64[Tensor, " image"]
PerLabel = Float64[Tensor, "image label"]


def kl_by_label(teacher: Logits, student: Logits, temperature: float) -> PerLabel:
    """p_t · (log p_t − log p_s) at T: what each label adds to the divergence. Negative where the student gives a label
    more than the teacher does; together never below 0."""
    log_t, log_s = log_probabilities(teacher, temperature), log_probabilities(student, temperature)
    return log_t.exp() * (log_t - log_s)


def kl(teacher: Logits, student: Logits, temperature: float) -> PerImage:
    """KL(softmax(z_t / T) ‖ softmax(z_s / T)), ≥ 0."""
    return kl_by_label(teacher, student, temperature).sum(-1).clamp(min=0.0)


def soft_loss(teacher: Logits, student: Logits, temperature: float) -> PerImage:
    """T² · KL, ≥ 0."""
    return temperature**2 * kl(teacher, student, temperature)


def cross_entropy(student: Logits, labels: Int[Tensor, " image"]) -> PerImage:
    """−log softmax(z_s)[y] at T = 1, ≥ 0."""
    return -log_probabilities(student, 1.0).gather(-1, labels[:, None])[:, 0].clamp(max=0.0)


def hard_loss(teacher: Logits, student: Logits) -> PerImage:
    """Cross-entropy with the teacher's first choice as the label."""
    return cross_entropy(student, teacher.argmax(-1))


@dataclass(frozen=True)
class Losses:
    """Means over images, in nats. `share`: λ."""

    temperature: float
    share: float
    kl: float
    soft: float
    label: float
    teacher_choice: float

    @property
    def soft_distillation(self) -> float:
        """(1 − λ) · CE + λ · T² · KL."""
        return (1 - self.share) * self.label + self.share * self.soft

    @property
    def hard_distillation(self) -> float:
        """(1 − λ) · CE + λ · CE with the teacher's first choice."""
        return (1 - self.share) * self.label + self.share * self.teacher_choice


def losses(teacher: Logits, student: Logits, labels: Int[Tensor, " image"], temperature: float, share: float) -> Losses:
    """Every part of both losses, mean over images. `share`: λ, 0 (labels alone) to 1 (teacher alone)."""
    if not 0 <= share <= 1:
        raise ValueError(f"λ is a share from 0 to 1, not {share}.")
    divergence = float(kl(teacher, student, temperature).mean())
    return Losses(
        temperature,
        share,
        divergence,
        temperature**2 * divergence,
        float(cross_entropy(student, labels).mean()),
        float(hard_loss(teacher, student).mean()),
    )


# ---- the gradient on the student's logits ----------------------------------------------------------------------------
def kl_gradient(teacher: Logits, student: Logits, temperature: float) -> PerLabel:
    """∂KL / ∂z_s = (softmax(z_s / T) − softmax(z_t / T)) / T."""
    log_t, log_s = log_probabilities(teacher, temperature), log_probabilities(student, temperature)
    return (log_s.exp() - log_t.exp()) / temperature


def soft_gradient(teacher: Logits, student: Logits, temperature: float) -> PerLabel:
    """∂(T² · KL) / ∂z_s = T · (softmax(z_s / T) − softmax(z_t / T))."""
    return temperature**2 * kl_gradient(teacher, student, temperature)


def cross_entropy_gradient(student: Logits, labels: Int[Tensor, " image"]) -> PerLabel:
    """∂CE / ∂z_s = softmax(z_s) − one-hot of the label."""
    own = log_probabilities(student, 1.0).exp()
    return own - torch.nn.functional.one_hot(labels, own.shape[-1])


def gradient_at_high_temperature(teacher: Logits, student: Logits) -> PerLabel:
    """Where T² · ∂KL/∂z_s goes as T grows: the difference of the logits, each less its mean, over the number of labels
    (Hinton et al. 2015, eq. 4): distillation becomes matching logits."""
    apart = student.double() - teacher.double()
    return (apart - apart.mean(-1, keepdim=True)) / apart.shape[-1]


@dataclass(frozen=True)
class GradientSizes:
    """Length of the gradient on the logits, ‖∂L/∂z_s‖₂, mean over images. `plain`: of KL; `scaled`: of T² · KL, by
    temperature; `limit`: where `scaled` goes; `label`: of the cross-entropy with the label, which has no T."""

    temperatures: Float64[Tensor, " temperature"]
    plain: Float64[Tensor, " temperature"]
    scaled: Float64[Tensor, " temperature"]
    limit: float
    label: float


def gradient_sizes(
    teacher: Logits, student: Logits, labels: Int[Tensor, " image"], at: Float64[Tensor, " temperature"]
) -> GradientSizes:
    # One temperature at a time: all at once would not fit for thousands of images of a thousand labels.
    plain = torch.stack([kl_gradient(teacher, student, t).norm(dim=-1).mean() for t in at.tolist()])
    limit = float(gradient_at_high_temperature(teacher, student).norm(dim=-1).mean())
    return GradientSizes(
        at, plain, plain * at**2, limit, float(cross_entropy_gradient(student, labels).norm(dim=-1).mean())
    )


# ---- what is compared ------------------------------------------------------------------------------------------------
def same_labels(teacher: tuple[str, ...], student: tuple[str, ...], names: tuple[str, str]) -> Int[Tensor, " label"]:
    """Where each of the teacher's labels stands among the student's. NotApplicable unless both know the same ones.

    `names`: what the two models are called. ImageNet has labels of one name, so equal lists are taken as they are.
    """
    if teacher == student:
        return torch.arange(len(teacher))
    if sorted(teacher) != sorted(student) or len(set(teacher)) < len(teacher):
        raise NotApplicable(
            f"{names[0]} knows {_listed(teacher)} and {names[1]} {_listed(student)}: their answers cannot be compared; "
            "choose models that learned the same classes."
        )
    return torch.tensor([student.index(label) for label in teacher])


def _listed(labels: tuple[str, ...]) -> str:
    return f"{len(labels)} classes ({', '.join(labels[:2])}{', …' if len(labels) > 2 else ''})"
