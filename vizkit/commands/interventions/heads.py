"""What each head of a model does, and what its answers lose without it."""

from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from vizkit.commands.options import HERE, Cluster, Data, Device, Seed, Some, writes
from vizkit.commands.output import aligned, progress, write_output
from vizkit.writing import csv_of

if TYPE_CHECKING:
    from pyarrow import Table

    from vizkit.analysis.attention.head_atlas import HeadAtlas
    from vizkit.evaluation.inside.heads import Ablation
    from vizkit.explanations.kept import Kept


SHOWN = 10
KINDS: "dict[str, tuple[Ablation, ...]]" = {"mean": ("mean",), "zero": ("zero",), "both": ("mean", "zero")}
COLUMNS = ("flipped", "estimate", "patches far", "entropy")


def heads(
    model: str,
    /,
    *,
    data: Data = "insects",
    images: Some = 200,
    seed: Seed = 0,
    without: Literal["mean", "zero", "both"] = "mean",
    prune: bool = False,
    device: Device = None,
    cluster: Cluster = HERE,
    output: Annotated[Path | None, writes(".json", ".csv")] = None,
) -> None:
    """What each head does, and what the answers of a model lose without it.

    vizkit heads bundled:insects_vit --images 200 --prune -o heads.json

    vizkit heads runs/mine --data photos/ --on ray -o heads.json

    Args:
        model: Bundled:NAME, a timm name, a run folder.
        without: A head gives its mean, or nothing.
        prune: Accuracy with more and more heads taken away, too.
        output: All numbers.
    """
    from vizkit.analysis.attention.head_atlas import as_json
    from vizkit.analysis.attention.head_atlas import table as columns_of

    with cluster.used():
        atlas = measured(model, data, images, KINDS[without], prune, device, seed)
    if output is None:
        print(table(atlas))
        return
    about = {"model": model, "seed": seed, "torch": version("torch")}
    csv = output.suffix.lower() == ".csv"
    write_output(output, csv_of(columns_of(atlas)) if csv else as_json(atlas, **about))
    print(f"{output}: {len(atlas.names)} heads, {atlas.images} images")


def measured(
    model: str, data: str, images: int, kinds: "tuple[Ablation, ...]", prune: bool, device: str | None, seed: int
) -> "HeadAtlas":
    """Rows that were made before are found in the cache."""
    import vizkit
    from vizkit.analysis.attention.head_atlas import HeadAtlas
    from vizkit.evaluation.inside import heads
    from vizkit.traces import NotApplicable

    loaded = vizkit.load(model, device=device)
    if prune and not loaded.classifies:
        raise NotApplicable(f"{loaded.name} gives {loaded.head.gives}: no answers stay or go. Leave out --prune.")
    names = heads.names_of(heads.places_of(loaded))
    importance, pruning, passes = {}, {}, count()
    with progress("%", total=100 * (1 + len(kinds) * (1 + prune))) as bar:

        def rows(kept: "Kept") -> "Table":
            done = next(passes)
            kept.fill(tell=lambda images, of, *_: bar(100 * (done + images / (of or 1))))
            return kept.every()

        for kind in kinds:
            kept = heads.importance(loaded, data, images, kind, seed)
            importance[kind] = order = heads.summed(rows(kept), names)
            if prune:
                kept = heads.without(loaded, data, images, order, kind, seed)
                pruning[kind] = heads.pruned(rows(kept), order, seed)
        behaviours = heads.means(rows(heads.behaviours(loaded, data, images, seed)))
    first = importance[kinds[0]]
    return HeadAtlas(first.names, data, first.images, behaviours, importance, pruning)


def table(atlas: "HeadAtlas") -> str:
    """The heads without which most is lost, a line each."""
    kind, result = next(iter(atlas.importance.items()))
    rows = [
        [
            "{}.{}".format(*(place + 1 for place in result.names[i])),
            f"{result.lost[i]:.3f} ± {result.half[i]:.3f}",
            "–" if result.of_likeness else f"{result.flipped[i]:.1%}",
            "–" if result.of_likeness else f"{result.estimate[i]:.3f}",
            f"{atlas.behaviours['distance'][i]:.2f}",
            f"{atlas.behaviours['entropy'][i]:.2f}",
        ]
        for i in result.order[:SHOWN]
    ]
    gives = {"mean": "its mean", "zero": "nothing"}[kind]
    about = f"{result.images} images, a head gives {gives}"
    if not result.of_likeness:
        about += f"; rank correlation with the gradient's estimate {result.correlation:.2f}"
    columns = ["head", "likeness lost" if result.of_likeness else "nats lost", *COLUMNS]
    return "\n".join([aligned([columns, *rows], left=0), *_pruned(atlas, kind), about])


def _pruned(atlas: "HeadAtlas", kind: str) -> list[str]:
    from vizkit.analysis.attention.pruning import band, still

    if (pruning := atlas.pruning.get(kind)) is None:
        return []
    kept = {name: still(pruning.counts, band(curves)[0], 0.9) for name, curves in pruning.own.items()}
    words = ", ".join(f"{name} {count}" for name, count in kept.items())
    return [f"heads of {pruning.heads} that can go while 90 % of the answers stay, by order: {words}"]
