"""What the runs of `data_size` allow to say: who leads, and where a teacher helps."""

from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks import data_size as remarks
from vizkit.training.experiments.data_size import METHODS
from vizkit.training.experiments.size_results import Study

UNTAUGHT = [method for method, about in METHODS.items() if not about.teacher]
OF = {"all": "that saw all images", "same": "that saw the same images"}
TEACHERS = {
    method: f"{about.distillation} teacher {OF[about.teacher]}" for method, about in METHODS.items() if about.teacher
}


def findings(study: Study) -> list[str]:
    """Who leads, and each teacher that changes anything."""
    taught = [teacher_finding(*each) for each in teacher_gains(study).items() if remarks.shown(several(each[1]))]
    return [*leads(study), *taught]


def leads(study: Study) -> list[str]:
    """Of the fewest and of the most pictures who is best."""
    return [said for at in dict.fromkeys((study.sizes[0], study.sizes[-1])) if (said := lead(study, at))]


def lead(study: Study, images: int) -> str | None:
    """Of the methods without a teacher; None where fewer than two have learned from so many pictures."""
    reached = [outcome for method in UNTAUGHT if (outcome := study.at(method, images))]
    first, second, *_ = [*sorted(reached, key=lambda outcome: -outcome.estimate.mean), None, None]
    gain = first.above(second) if first and second else None
    if first is None or second is None or gain is None:
        return None
    return remarks.lead(images, first.method, second.method, first.estimate.mean, gain)


def teacher_gains(study: Study) -> dict[str, dict[int, Estimate]]:
    """Kind of teacher → number of pictures → how much more accurate a DeiT is than `study.control`, same seeds."""
    gains = {kind: study.gains(method) for method, kind in TEACHERS.items()}
    return {kind: gained for kind, gained in gains.items() if gained}


def teacher_finding(kind: str, gained: dict[int, Estimate]) -> str:
    return remarks.helps(kind, several(gained))


def several(gained: dict[int, Estimate]) -> dict[int, Estimate]:
    """The gains that rest on several seeds, where there are such: one alone does not say how much another would
    change."""
    return {images: gain for images, gain in gained.items() if gain.seeds > 1} or gained
