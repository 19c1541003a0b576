"""Masks: which pixels belong to which thing."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vizkit.analysis.remarks.detection import of_masks
from vizkit.figure.detection.on_picture import Frame, Panel
from vizkit.figure.detection.segments import segments_over
from vizkit.figure.palette import CLASSES
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Numbers, Said, Table
from vizkit.views.detection.scene import Given, OfScene, least_score
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.models.detection.segmenting import Segments


class SegmentMasks(OfScene, View):
    """Every pixel goes to the query whose mask is surest there."""

    score: float = least_score()

    shows = "Masks of things"
    how = How(
        "A pixel belongs to the query whose mask is surest there, and to the ground, which is dark, where no mask is. "
        "IoU: pixels of both / pixels of either. Panoptic quality counts a segment as right above an IoU of 0.5, with "
        "the right class.",
        r"\mathrm{PQ} = \frac{\sum_{(p, g) \in TP} \mathrm{IoU}(p, g)}{|TP| + \frac12 |FP| + \frac12 |FN|}",
        "finer edges than the masks have: they are made at a quarter of the model's input.",
        "Carion et al. 2020, § 4.4; Kirillov et al. 2019",
    )

    def show(self, of: Subject) -> Blocks:
        from vizkit.models.detection.panoptic import matches, partners, quality
        from vizkit.models.detection.segmenting import Segments

        given = self.given(of)
        said = segments(given, self.score)
        names, hits, rows, pq = given.names(said.labels), dict[int, float](), [], 0.0
        true = given.truth
        truth = Segments(said.instances * 0, said.labels[:0]) if true is None else Segments(true.instances, true.labels)
        things = given.names(truth.labels)
        if true is not None:
            hits = {thing: iou for _, thing, iou in matches(said, truth)}
            pq = quality([said], [truth], len(given.model.labels)).pq
            rows = [
                {
                    "insect": thing,
                    "best mask": "–" if at is None else names[at],
                    "IoU": f"{iou:.3f}",
                    "found": "yes" if each in hits else "no",
                }
                for each, (thing, (at, iou)) in enumerate(zip(things, partners(said, truth), strict=True))
            ]
        panels = [painted(given, said, f"Found in {given.title}")]
        panels += [painted(given, truth, "What is there")] if true else []
        right = [(things[thing], iou) for thing, iou in hits.items()]
        yield Said(of_masks(given.title, len(names), len(things) if true else None, right, pq))
        yield from self.canvas(given, panels, "Masks.")
        if rows:
            yield Table(tuple(rows), "Each insect, what the mask that overlaps it most is called, and their overlap")
        own = {"instances": said.instances, "labels": said.labels, "true_instances": truth.instances}
        yield Numbers(partial(dict, own, picture=given.rgb))


def segments(given: Given, score: float) -> "Segments":
    """NotApplicable where the model has no masks."""
    from vizkit.models import ModelError
    from vizkit.models.detection.opening import detector_folder
    from vizkit.models.detection.opening_masks import has_masks, open_masks
    from vizkit.models.detection.segmenting import segment

    source = given.key[0]
    try:
        if not has_masks(source):
            raise NotApplicable(
                f"{given.model.name} finds boxes and has no masks yet: train them with the recipe detr-masks into the "
                "folder masks of its run."
            )
        written = (detector_folder(source)[0] / "masks" / "config.json").stat().st_mtime_ns
        head = given.of.kept(OfModel(("masks", given.key, written)), partial(open_masks, source))
    except ModelError as sentence:
        raise NotApplicable(str(sentence)) from None
    return given.kept(("segments", written, score), partial(segment, given.model, head, given.rgb, score))


def painted(given: Given, shown: "Segments", title: str) -> Panel:
    """Each mask in the colour of its class, and its name there."""
    (rows, columns), frames, places = shown.instances.shape, list[Frame](), shown.labels.tolist()
    for thing, (name, place) in enumerate(zip(given.names(shown.labels), places, strict=True), 1):
        y, x = np.nonzero(shown.instances == thing)
        middle = float(np.median(x)) / columns, float(np.median(y)) / rows
        frames.append(Frame((*middle, *middle), CLASSES[place % len(CLASSES)], name, bare=True))
    return Panel(title, frames, rgb=segments_over(given.shown, shown.instances, places))
