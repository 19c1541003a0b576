"""Landscape: the loss around a run's last checkpoint, on a plane of its weights."""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from vizkit.analysis.remarks.evaluation import around, on_the_path
from vizkit.datasets.image_set import DatasetError
from vizkit.evaluation.inside.landscape import PATH, PLANES, Landscape, landscape
from vizkit.figure.training.landscape import surface
from vizkit.image import ImageError
from vizkit.models import ModelError
from vizkit.traces import NotApplicable
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Chart, Hint, Job, Later, Line, Numbers, Proof, Said
from vizkit.views.controls import choice, run_with_checkpoints
from vizkit.views.subject import Subject
from vizkit.views.train.learned import Learned
from vizkit.views.view import How, View
from vizkit.work_folder import file_of

AXES = {
    False: ("first direction, filter norms", "second direction, filter norms"),
    True: ("first component, distance of weights", "second component"),
}


class LossLandscape(View):
    """The loss around a run's last checkpoint, and the path there."""

    run: str = run_with_checkpoints(bundled.RECORDED)
    plane: str = choice(
        "Plane", PLANES, "Two random directions, or the two in which the run's checkpoints spread most.", key="plane"
    )

    overlays = False
    how = How(
        "The weights of the last checkpoint are moved along two directions, and the same test images, which the run "
        "never learned from, are asked at each place; the checkpoint is at 0, 0. In a random direction each filter is "
        "as long as the model's own, so that networks with larger weights do not look flatter; biases and norms stay. "
        "Points of the path are checkpoints, laid onto the plane.",
        r"L(\theta + a\,d_1 + b\,d_2), \quad \lVert d_{ij} \rVert = \lVert \theta_{ij} \rVert",
        "how the loss looks in all other directions, of which there are as many as weights; the first component "
        "explains much of any random walk's path too.",
        "Li et al. 2018, arXiv 1712.09913; Antognini and Sohl-Dickstein 2018, arXiv 1806.08805",
    )

    def title(self, of: Subject) -> str:
        return f"The loss around {bundled.title(self.run)}: {self.plane}"

    def show(self, of: Subject) -> Blocks:
        run, steps = Learned(run=self.run).with_steps(of)
        facts = file_of(run.path, steps[-1]).stat()
        key = "landscape", self.plane, str(run.path), tuple(steps), facts.st_mtime_ns, facts.st_size
        job = Job(key, f"The loss around {bundled.title(self.run)}", partial(_computed, run, self.plane))
        button = "" if self.run == bundled.RECORDED else "Compute the loss around it"
        yield Later(of, (job,), partial(self.drawn, steps), button=button)

    def drawn(self, steps: list[int], found: Mapping[Hashable, Any]) -> Blocks:
        for made in found.values():
            yield from self.surface(steps, made)

    def surface(self, steps: list[int], made: Landscape) -> Blocks:
        own, name = self.plane == PATH, bundled.title(self.run)
        if own:
            lowest = float(made.loss.min())
            said = on_the_path(name, len(steps), made.centre, lowest, made.shares, made.walk)
        else:
            said = around(name, made.loss, made.x, made.y, made.images)
        yield Said(said)
        if not own:
            yield Hint("These are two of many directions: on the plane of the run's own path the loss may be lower.")
        figure = surface(made.loss, made.x, made.y, AXES[own], made.path, steps if own else [])
        yield Chart(figure, f"Loss on a plane of weights, the last checkpoint at 0, 0. {said}")
        yield Line(
            f"{made.images} test images, as many of each class, at {made.loss.size} places. The frame is round the "
            "place of the checkpoint."
        )
        yield Proof(
            None,
            f"Loss of the checkpoint as it opens {made.asked:.6f}, at the centre of the surface {made.centre:.6f}: "
            f"{'the same number' if made.holds else 'not the same, so this surface is not around it'}.",
            made.holds,
        )
        yield Numbers(lambda: vars(made) | {"steps": steps})


def _computed(run: RunFolder, plane: str, progress: Any) -> Landscape:
    try:
        return landscape(run, plane, progress)
    except (DatasetError, RecipeError, ModelError, ImageError) as sentence:
        raise NotApplicable(str(sentence)) from None
