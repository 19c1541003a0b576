"""All that is told of a data set as one page: shortcuts, the map, suspects."""

from typing import TYPE_CHECKING, ClassVar

from vizkit.hosts.page import document
from vizkit.views.blocks import Blocks, Heading, Line
from vizkit.views.data_set.plane import Plane
from vizkit.views.data_set.shortcuts import Shortcuts
from vizkit.views.data_set.suspects import Suspects
from vizkit.views.distillation.labelled import FOLDER
from vizkit.views.subject import Subject, no_picture
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.evaluation.data_set import Look
    from vizkit.models import Loaded

LOOK = "look"


class Whole(View):
    """What one pass of a model tells of a set of labelled pictures."""

    overlays: ClassVar = False
    how: ClassVar = How(
        "The first sentences say whether the answers hang on a place that the images of a label share. Each point of "
        "the map is an image, near ones are alike to the model. Suspects are to be looked at, the worst first.",
        "",
        "that a suspect label is wrong, or that a cluster is one: look at the images.",
        "Lapuschkin et al. 2019 (SpRAy); Northcutt et al. 2021 (cleanlab); Poličar et al. 2024 (openTSNE)",
    )

    def title(self, of: Subject) -> str:
        return f"{len(of.find(LOOK).found):,} images of {of.find(LOOK).found.name}"

    def show(self, of: Subject) -> Blocks:
        look = of.find(LOOK)
        for at, _ in enumerate(look.shortcuts):
            yield Heading(f"Shortcut? Place {at + 1}")
            clusters, hidden = zip(*look.shortcuts, strict=True)
            yield from Shortcuts(data=FOLDER, cluster=at + 1).drawn(of, look.found, clusters, [*hidden])
        yield Heading("Map")
        yield from Plane(data=FOLDER).drawn(of, look.found, look.map, look.probed)
        yield Heading("Suspects")
        yield from Suspects(data=FOLDER).drawn(of, look.found, look.suspects)
        yield from map(Line, look.notes)


def page(look: "Look", loaded: "Loaded") -> str:
    """HTML that needs no server. The pictures are read again where they lie."""
    of = Subject(lambda: loaded, no_picture(), model=loaded.name)
    of.kept(LOOK, lambda: look)
    return document(Whole(), [of])
