"""Shortcuts: images of one label in which the model looks at the same odd place, and its answers without it."""

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest

import numpy as np

from vizkit.analysis.remarks.data_set import marked, mean_images, place_in_words
from vizkit.evaluation.data_set.hiding import Hidden, by_effect, grown, hide, verdict
from vizkit.evaluation.data_set.record import Recorded
from vizkit.evaluation.data_set.shortcuts import Cluster, marks_of, shortcuts
from vizkit.figure.scales import OWN, SHARES, Scale
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Folded, Heading, Line, Numbers, Picture, Said, Table, side_by_side
from vizkit.views.controls import number
from vizkit.views.data_set.recorded import OfData, Progress, Step, answer_of, beside, class_of, grid, looked, read_so
from vizkit.views.evaluate.measured import ends
from vizkit.views.subject import Subject
from vizkit.views.view import How

TRIED, EXAMPLES, ZOOM = 3, 6, 5
STEP = ("shortcuts",)
WAITING = "The shared place is being covered."


def last(of: Sequence[Subject], view: "Shortcuts") -> int:
    found = view.made(of[0], *STEP) if of else None
    return max(1, min(TRIED, len(found or ())))


class Shortcuts(OfData):
    """Does the model answer by a mark, a border, a ground, instead of by what the label means?"""

    cluster: int = number("Place", 1, last, 1, "Those on which answers depend first.", follows=True, key="data_cluster")

    how = How(
        "The relevance maps of each label are clustered; a cluster whose images share a place where the model looks "
        "far more than in other labels may be a shortcut. Then that place is covered in all of them with the same "
        "place of other images of the label: answers that depend on it change, and those of the control, an equally "
        "large place elsewhere, do not.",
        r"L = I - D^{-1/2} A\, D^{-1/2}, \quad k = \arg\max_i\,(\lambda_{i+1} - \lambda_i)",
        "shortcuts that lie anywhere in the image, or in all images of a label; objects that often lie in the same "
        "place make clusters too, and only the covering tells them from a mark.",
        "Lapuschkin et al. 2019 (SpRAy); number of clusters: von Luxburg 2007",
    )

    def title(self, of: Subject) -> str:
        return f"Shortcuts of {self.called(of)}"

    def show(self, of: Subject) -> Blocks:
        steps = (
            Step(STEP, "Comparing where it looked", lambda found, progress: shortcuts(found)),
            Step(("hidden",), "Covering the shared places", partial(self.hidden, of)),
        )[: 1 if self.run(of) else 2]
        yield from self.later(of, partial(self.drawn, of), *steps)

    def hidden(self, of: Subject, found: Recorded, progress: Progress) -> list[Hidden | str]:
        """Or why nothing could be."""
        done: list[Hidden | str] = []
        for cluster in (self.made(of, *STEP) or ())[:TRIED]:
            try:
                done.append(hide(of.opened, found, cluster, tell=progress))
            except NotApplicable as reason:
                done.append(str(reason))
        return done

    def drawn(
        self,
        of: Subject,
        found: Recorded,
        clusters: tuple[Cluster, ...] | None,
        hidden: Sequence[Hidden | str | None] | None = None,
    ) -> Blocks:
        if clusters is None:
            return
        if not clusters:
            raise NotApplicable("No label has ten images whose maps could be compared; take more images.")
        of_them = by_effect(zip_longest(clusters[:TRIED], hidden or ()))
        cluster, tried = of_them[min(self.cluster, len(of_them)) - 1]
        yield Said(verdict(found, cluster, tried))
        label = found.labels[cluster.label]
        rest = self.others(found, cluster)
        three = [
            mean(found, cluster.rows, cluster.mean, SHARES),
            mean(found, rest, cluster.others, SHARES),
            mean(found, cluster.rows, grown(cluster.place, found.thumbnails.shape[1:3]).float().numpy(), OWN),
        ]
        where = place_in_words(cluster.place)
        words = mean_images(len(cluster.rows), len(cluster.rows) < cluster.of_label, where)
        both = Picture(beside(three), f"{label}: three mean images", words)
        yield side_by_side(both, self.numbers(tried or ("" if hidden or self.run(of) else WAITING)), widths=(3, 2))
        shown = min(EXAMPLES, len(cluster.rows))
        yield Heading(f"{shown} of the {len(cluster.rows)} images of “{label}”")
        yield from grid(of, found, cluster.rows[:EXAMPLES].tolist(), f"Images of {label} in this cluster")
        yield from read_so(found, cluster.rows[:EXAMPLES].tolist())
        if isinstance(tried, Hidden):
            covered = zip(tried.rows.tolist(), tried.answers.tolist(), tried.pictures[:EXAMPLES], strict=False)
            shown = [
                Picture(rgb, f"{label}, place covered", f"{answer_of(found, row)} → {class_of(found, answer)}")
                for row, answer, rgb in covered
            ]
            yield Folded("With the place covered: answer before → after", lambda: (side_by_side(*shown),))
        if (truth := marks_of(found, cluster.label)) is not None:
            yield Line(marked(label, *truth))
        yield from self.notes(found)
        yield Numbers(
            lambda: {
                "row": cluster.rows,
                "mean": cluster.mean,
                "others": cluster.others,
                "place": cluster.place,
                "eigenvalues": cluster.eigenvalues,
            }
        )

    def others(self, found: Recorded, cluster: Cluster) -> np.ndarray:
        rest = np.setdiff1d(np.flatnonzero(found.target == cluster.label), cluster.rows)
        return rest if len(rest) else np.flatnonzero(found.target != cluster.label)

    def numbers(self, tried: Hidden | str) -> Blocks:
        """How good the answers are with the place and without it, or why that is not known."""
        if isinstance(tried, str):
            yield Line(tried or "The place could not be covered.")
            return
        cases = {
            "as they are": tried.before,
            "the place covered": tried.after,
            "another place covered": tried.elsewhere,
        }
        yield Table(
            tuple(
                {
                    "Images": name,
                    "Right, %": round(100 * value),
                    "95 % interval": f"{in_percent(low, 0)} to {in_percent(high, 0)}",
                }
                for name, each in cases.items()
                for value, low, high in (ends(each),)
            ),
            "Right answers with the place and without it",
        )


def mean(found: Recorded, rows: np.ndarray, heat: np.ndarray, scale: Scale) -> np.ndarray:
    """The mean of images with a map over it."""
    rgb = found.thumbnails[rows].mean(0).round().astype(np.uint8).repeat(ZOOM, 0).repeat(ZOOM, 1)
    return looked(rgb, heat, scale)
