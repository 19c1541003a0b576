"""Trust: how far each map can be believed. All maps of one model erase the image together, and are scored."""

from typing import Literal

from vizkit.datasets.insects import DECIDING, LABELS
from vizkit.scoring import scorable
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Answered, Blocks, Download, Later, Line, Numbers
from vizkit.views.controls import choice, number
from vizkit.views.relevance.decision import in_words
from vizkit.views.relevance.explained import drawn_insect
from vizkit.views.relevance.many import Many
from vizkit.views.relevance.maps_of_one import lost
from vizkit.views.relevance.race import Race, Racing
from vizkit.views.subject import Subject
from vizkit.views.view import How


class Trust(Racing):
    """How far each map can be believed: the model is run on images of which the places that it marks are erased."""

    over: Literal["its kind", "insects", "digits", "uploads"] = choice(
        "Many images",
        ("its kind", "insects", "digits", "uploads"),
        "Over which images the maps are scored together: those that the model knows, or a set. Insects are newly "
        "drawn: no bundled model has seen them, and where they are is known to the pixel.",
        words={"uploads": "your images"},
        key="trust_over",
        more=True,
        runs=True,
    )
    images: int = number(
        "Images",
        2,
        200,
        24,
        "How many of them; the more, the narrower the intervals.",
        key="trust_images",
        more=True,
        runs=True,
    )
    alone = True
    overlays = False
    how = How(
        "Every image is what the model sees when the places that a map marks are erased, the most important first; "
        "the bar below it and its curve are the probability of the class. The best map stands first: beside a name, by "
        "how much it is better than a random order, on the mean of taking away and putting back. A map is credible if "
        "it is clearly better than chance and changes when the weights are shuffled, over many images. Where the "
        "class is not the prediction, or is also that of the blurred image, nothing is ranked.",
        r"\mathrm{AUC} = \tfrac1n \Big( \sum_k s_k - \tfrac{s_0 + s_n}{2} \Big), \quad \mathrm{ROAD} = "
        r"\overline{s}_{\text{least first}} - \overline{s}_{\text{most first}}, \quad \rho = "
        r"\text{rank correlation with shuffled weights}",
        "that the best map is right. Images with places removed are unlike those of training; pointing and mass "
        "measure whether a map lies on the insect, which a model may rightly not use; noise passes the check with "
        "random weights.",
        "Petsiuk et al. 2018; Rong et al. 2022; Adebayo et al. 2018; Zhang et al. 2016; Yeh et al. 2019",
    )

    def title(self, of: Subject) -> str:
        return f"Trust in the maps for {self.what(of)}: {self.removed} % {self.test}"

    def show(self, of: Subject) -> Blocks:
        loaded = self.answer(of)[0]
        scorable(loaded)
        if not loaded.head.bounded:
            raise NotApplicable("A single feature has no largest value, so nothing says how much of it is left.")
        if of.changes.model:
            raise NotApplicable("Trust runs the model again, as it is: without changes of the model.")
        fast, without = self.fast(of)
        if not fast and not self.slow:
            raise NotApplicable(next(iter(without.values())))
        yield Line(f"{in_words(*self.answer(of), *self.asked(of))}{drawn_truth(of)}")
        yield from map(Line, of.loaded.notes)
        many = Many(of, (*fast, *self.slow), self.scores, self.over, self.images)
        race = Race(self, of, (*fast, *self.slow), many.said())
        if len(found := race.found()) == len(race.jobs):  # at once, so that the browser turns it
            yield from race.show(found)
        else:
            yield Later(of, race.jobs, race.show)
        yield from many.blocks()
        yield from lost(without, "this model")
        yield Answered(of.loaded)
        yield Numbers(race.numbers)
        yield Download("Table (CSV)", race.csv)


def drawn_truth(of: Subject) -> str:
    """What a drawn image shows, and by which parts its class differs from the others."""
    insect = drawn_insect(of)
    if insect is None:
        return ""
    label = LABELS[insect.label]
    return f" · drawn: a {label}, decided by its {' and '.join(DECIDING[label])}"
