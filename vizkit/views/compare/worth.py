"""Five models that are equal in all else, by their accuracy and their cost (Badzohreh 2024, in our reading)."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from statistics import fmean

from vizkit.analysis.comparison.seed_interval import accuracy, difference
from vizkit.analysis.remarks.data_size import worth
from vizkit.figure.evaluation.accuracy_cost import FAMILIES, Point, accuracy_cost
from vizkit.figure.training.learning_curves import Curve, learning_curves
from vizkit.models.probes.multiply_adds import work_of
from vizkit.percent import in_percent
from vizkit.training.architectures import sketched
from vizkit.training.experiments.architectures import SIZES, VARIANTS, Size, Worth, worths
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.command_line import command
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.views import bundled
from vizkit.views.architecture.counted import amount
from vizkit.views.blocks import Block, Chart, Code, Folded, Line, Numbers, Said, Table

PROPOSED, INSTEAD = ("dual", "gradual"), "vit_fine"
MINUTES = "Of training, all epochs, on the machine and beside the work that it had: an order of magnitude."


def shipped() -> list[RunFolder]:
    folder = bundled.FOLDER / "experiments" / "architectures"
    return [RunFolder(file.parent) for file in sorted(folder.glob("*/recipe.json"))]


def studies() -> tuple[dict[str, tuple[Size, list[Worth]]], list[str]]:
    """(the tables that there are by their titles, shipped ones first; what is wrong with one's own)."""
    tables = {size.title: (size, rows) for size in SIZES.values() if (rows := worths(size, shipped()))}
    wrong = []
    for size in SIZES.values():
        try:
            if rows := worths(size, runs()):
                tables[f"your runs: {size.title}"] = size, rows
        except RecipeError as sentence:
            wrong.append(str(sentence))
    return tables, wrong


def shown(title: str) -> Iterator[Block]:
    """The study of this title: what two scales, or fewer and fewer tokens, gain in accuracy and what they cost."""
    tables, wrong = studies()
    size, rows = tables[title]
    images = rows[0].runs[0].read("result.json").get("test_images", 1)
    taken = {row.variant: cost_of(size.model(row.variant), size.side_px, size.classes) for row in rows}
    costs = {variant: multiply_adds for variant, (_, multiply_adds) in taken.items()}
    rows = sorted(rows, key=lambda row: costs[row.variant])
    tests = {row.variant: dict(zip([run.recipe.seed for run in row.runs], row.tests, strict=True)) for row in rows}
    reached = {row: accuracy(tests[row.variant], images) for row in rows}
    for name in PROPOSED:
        gain = difference(tests.get(name, {}), tests.get(INSTEAD, {}), images)
        if gain is not None:
            yield Said(worth(VARIANTS[name], "the plain ViT of fine patches", costs[name] / costs[INSTEAD], gain))
    points = [
        Point(row.words, row.words, costs[row.variant] / 1e6, 100 * each.mean, 100 * each.half)
        for row, each in reached.items()
    ]
    figure = accuracy_cost(points, "multiply–adds (10⁶)", "test images right (%)").update_layout(showlegend=False)
    yield Chart(figure, "Accuracy of every model against its cost", "Test accuracy against cost")
    yield Line(
        "Width, depth, heads, images, optimiser and epochs are the same for all five: only model and seed differ. "
        "Whiskers are 95 % intervals, of other seeds where there are several, and of other test images."
    )
    yield from map(Line, wrong)
    lines = [
        {
            "Model": row.words,
            "Test": in_percent(each.mean, 1),
            "95 % interval": f"{in_percent(each.low, 1)} to {in_percent(each.high, 1)}",
            "Seeds": f"{each.seeds}",
            "Multiply–adds": amount(costs[row.variant]),
            "Minutes": f"{fmean(row.minutes):.1f}",
        }
        for row, each in reached.items()
    ]
    yield Table(tuple(lines), "Accuracy on test images", helps={"Minutes": MINUTES})
    yield Folded("How they were trained", partial(how_trained, rows, images))
    yield Numbers(
        lambda: {
            "model": [row.words for row in rows],
            "parameters": [taken[row.variant][0] for row in rows],
            "multiply_adds": [taken[row.variant][1] for row in rows],
        }
    )


@cache
def cost_of(model: str, side_px: int, classes: int) -> tuple[int, int]:
    """(parameters, multiply–adds of one image)."""
    network = sketched(model, side_px, classes)
    if network is None:
        return 0, 0
    return sum(each.numel() for each in network.parameters()), work_of(network.eval(), (1, 3, side_px, side_px)).total[
        ""
    ]


def by_epoch(rows: Sequence[Worth]) -> Chart:
    """As errors on a logarithmic axis, where what is good can be told apart."""
    lines = []
    for row in rows:
        wrong = {epoch: [1 - each for each in every] for epoch, every in row.validation().items()}
        means, lows, highs = ([end(each) for each in wrong.values()] for end in (fmean, min, max))
        lines.append(Curve(row.words, [*wrong], means, lows, highs, place=len(FAMILIES) + len(lines)))
    figure = learning_curves(lines, "validation images wrong", percent=True, log=True, height=400)
    return Chart(figure, "Validation errors of every model by epoch", "Validation errors by epoch")


def how_trained(rows: Sequence[Worth], images: int) -> Iterator[Block]:
    run = rows[0].runs[0]
    yield by_epoch(rows)
    yield Line(f"{run.recipe.epochs} epochs; one of {images:,} test images is {100 / images:.2f} %.")
    yield Code(command(run.recipe, f"runs/{run.name}"), "bash")
    yield Code("python -m benchmarks.architectures train runs/architectures", "bash")
