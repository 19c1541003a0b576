"""Beside a ViT: where both predictions come from, and how far each layer attends."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from torch import Tensor

from vizkit.analysis.attention.attention_map import attention_map
from vizkit.analysis.attention.statistics import by_layer, farthest_px
from vizkit.analysis.attribution.rollout import rollout_masses
from vizkit.analysis.remarks import swin
from vizkit.figure.attention.distances import distances
from vizkit.figure.canvas.rows import Rows
from vizkit.models import family_of
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Answered, Blocks, Chart, Heading, Line, Map, Numbers, Said, side_by_side
from vizkit.views.controls import choice
from vizkit.views.subject import Subject
from vizkit.views.swin.place import places
from vizkit.views.view import How, View

WORDS = {"swin": "Swin", "vit": "ViT"}
WAYS = ("rollout", "last layer")
CAPS = {"swin": "the window's diagonal", "vit": "the image's diagonal"}


def named(family: str, of: Sequence[Subject]) -> list[str]:
    """The models of a family, as options."""
    return [called(each) for each in of if family_of(each.loaded.model) == family]


def called(of: Subject) -> str:
    """Without where it is from."""
    return of.name.rpartition(":")[2]


class Beside(View):
    """The same image in a Swin and in a ViT."""

    swin: str | None = choice("Swin", partial(named, "swin"), "Those among the chosen models.", key="beside_swin")
    vit: str | None = choice("ViT", partial(named, "vit"), "Those among the chosen models.", key="beside_vit")
    way: Literal["rollout", "last layer"] = choice(
        "Class token of the ViT",
        WAYS,
        "Through all layers, or its attention in the last one (mean of heads). Swin has no class token.",
        key="beside_way",
    )

    together = True
    how = How(
        "Above, what each place adds to the output: Swin averages its last tokens, so their rows of rollout are "
        "averaged; a ViT reads its class token. Below, a dot is a head and the line the largest distance that its "
        "layer allows: Swin sees further only by merging, a ViT may attend across the whole image from its first "
        "layer.",
        r"\begin{gathered} \bar d_h = \tfrac1N \textstyle\sum_{ij} w_{ij}\lVert p_i - p_j\rVert_2 \\ "
        r"\le\; \text{stride} \cdot \sqrt{(M_1-1)^2 + (M_2-1)^2} \end{gathered}",
        "which of the two is right, or why they predict it: rollout does not depend on a class. The two models may "
        "see the image in different sizes; distances are in pixels of the Swin's input.",
        "Liu et al. 2021; Dosovitskiy et al. 2020, fig. 7 right; Abnar & Zuidema 2020, eq. 1",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return " beside ".join(each.name for each in self.both(of).values())

    def both(self, of: Sequence[Subject]) -> dict[str, Subject]:
        """By their families."""
        chosen = {"swin": self.swin, "vit": self.vit}
        found = {}
        for family, name in chosen.items():
            known = named(family, of)
            if not known:
                raise NotApplicable(f"A Swin is shown beside a ViT: choose a {WORDS[family]} too.")
            found[family] = next(each for each in of if called(each) == (name if name in known else known[0]))
        return found

    def show(self, of: Sequence[Subject]) -> Blocks:
        both = self.both(of)
        maps = {family: self.pooled(each, family) for family, each in both.items()}
        counted = {family: each.made(by_layer, each.seen) for family, each in both.items()}
        wide = {family: each.seen.image_size[1] for family, each in both.items()}
        ratio = {"swin": 1.0, "vit": wide["swin"] / wide["vit"]}  # what is compared is in pixels of one input
        values = {f: [ratio[f] * layer.distance_px.numpy() for layer in layers] for f, layers in counted.items()}
        allowed = {family: [ratio[family] * most for most in caps(each)] for family, each in both.items()}
        own, other = (float(values[family][0].mean()) for family in ("swin", "vit"))
        yield Said(swin.looks_farther(own, other, allowed["swin"][0], allowed["vit"][0]))
        most = max(float(places.max()) * places.numel() for places, _, _ in maps.values())
        yield side_by_side(*(self.mapped(both[family], *maps[family]) for family in both))
        one = "" if ratio["vit"] == 1 else f" Distances of both are in pixels of the Swin's input, {wide['swin']} wide."
        yield Line(f"The brightest place of both has {most:.1f} times an equal share.{one}")
        top, deepest = max(*allowed["swin"], *allowed["vit"]), max(map(len, allowed.values()))
        charts = []
        for family, each in both.items():
            figure = distances(values[family], allowed[family], top, CAPS[family], deepest)
            figure.update_yaxes(title={"text": "pixels of a {1} × {0} input".format(*both["swin"].seen.image_size)})
            charts.append(Chart(figure, f"Mean attention distance of every head of {each.name}, by layer"))
        yield Heading("Mean attention distance")
        yield side_by_side(*charts)
        yield Numbers(
            lambda: (
                {f"{family}_places": places for family, (places, _, _) in maps.items()}
                | {
                    f"{family}_layer{number}_distance_px": each.distance_px
                    for family, layers in counted.items()
                    for number, each in enumerate(layers, 1)
                }
            )
        )

    def pooled(self, of: Subject, family: str) -> tuple[Tensor, str, dict[str, float]]:
        """(what the head reads, places only, sum 1; of which token; what is left out)."""
        if family == "swin" or self.way == "rollout":
            rolled = of.made(rollout_masses, of.seen)
            lost = {"padding": rolled.padding} if rolled.padding > 5e-4 else {}
            special = {f"[{name}]": share for name, share in rolled.special.items()}
            return rolled.grid / rolled.grid.sum(), rolled.query, special | lost
        seen = attention_map(of.layers[-1], "cls")
        if seen.fallback:
            raise NotApplicable(f"{of.name} has no class token in its last layer; choose rollout.")
        return seen.places / seen.places.sum(), "cls", {f"[{name}]": each for name, each in seen.special.items()}

    def mapped(self, of: Subject, places: Tensor, query: str, rest: dict[str, float]) -> Blocks:
        """One of the two: its map, its answer and what is left out."""
        whose = "the mean of the last tokens" if query == "mean" else "the class token"
        way = "rollout" if query == "mean" else self.way
        yield Heading(f"{of.name}: {way} of {whose}, which the head reads")
        row, grid = places.reshape(1, -1).numpy(), (places.shape[0], places.shape[1])
        rows = Rows(row, grid, query_special=(query,), verb="draws")
        loaded = of.loaded
        lines = loaded.head.lines(of.seen.logits, loaded.label, 1) if loaded.trained else []
        left = " · ".join(f"{name} {in_percent(share)}" for name, share in rest.items())
        answer = [f"Its answer: {name} ({text})." for name, text in lines]
        parts = answer + ([f"Left out of the picture: {left}."] if left else [])
        yield Map(
            rows,
            query,
            f"{way} of",
            f"share of what the head reads, {grid[0]} × {grid[1]} places",
            said=" ".join(parts),
            of=of,
        )
        yield Answered(loaded)


def caps(of: Subject) -> list[float]:
    """The largest distance that every attention layer allows, in pixels."""
    if family_of(of.loaded.model) == "swin":
        return [farthest_px(each.block.window, each.of.tokens.stride) for each in places(of)]
    return [farthest_px(each.key.grid or (1, 1), each.key.stride) for each in of.layers]
