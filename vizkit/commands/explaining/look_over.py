"""A labelled set looked over with a model: shortcuts, suspects, what frozen features tell, a map of all images.

The same command goes on where it was stopped, and needs no second pass where it was done.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vizkit.commands.options import AS_IT_IS, HERE, OUTPUT, Cluster, Images, Model, Opening
from vizkit.commands.output import progress, refuse_output, stoppable, write_output, writing_to
from vizkit.training.interrupting import terminable

if TYPE_CHECKING:
    from vizkit.evaluation.data_set import Look
    from vizkit.models import Loaded


def look_over(
    data: str,
    /,
    *,
    model: Model,
    output: Annotated[list[Path] | None, OUTPUT] = None,
    split: str = "",
    method: str = "",
    images: Images = None,
    seed: int = 0,
    cluster: Cluster = HERE,
    opening: Opening = AS_IT_IS,
) -> None:
    """A labelled folder: shortcuts, wrong labels, near copies, a map.

    vizkit look-over photos/ --model runs/mine -o look.html -o look.parquet

    vizkit look-over insects --split train+test --images 500 --model bundled:insects_vit -o suspects.csv

    Args:
        data: A folder or zip of class folders, insects, digits …; nothing in it is changed.
        output: OUT.html, a page; OUT.parquet, a row for each image; OUT.csv, a row for each suspect; repeatable.
        split: train, val or test, several as train+test; all of a folder, the test part of other sets.
        method: Of the maps, as explain has them; one that costs little where it is left out.
        seed: Of the map, the folds and the clusters.
    """
    for path in output or ():
        refuse_output(path, (".html", ".parquet", ".csv"))
    with terminable():
        loaded = opening.load(model)
        from vizkit.evaluation.data_set import look_over, open_labelled, record
        from vizkit.explanations.reading import workers_for
        from vizkit.image import side_of

        pictures = open_labelled(data, split, images=images, size_px=side_of(loaded.preprocessing), seed=seed)
        workers = workers_for(loaded.device.type, len(pictures))
        with cluster.used(), stoppable() as stopping, progress("image", loaded.name) as tell:
            how = {"workers": workers, "tell": tell, "stopping": stopping}
            found = record(loaded, pictures, method=method.replace("-", "_"), **how)
            look = look_over(loaded, found, seed=seed, stopping=stopping)
    print("\n".join(_said(look)))
    for path in output or ():
        with writing_to(path):
            _write(path, look, loaded)
        print(path)


def _said(look: "Look") -> list[str]:
    from collections import Counter

    from vizkit.evaluation.data_set import KINDS

    found = look.found
    lines = [f"{len(found):,} images of {found.name}, {found.model}, maps by {found.method}.", *look.sentences]
    if look.map is not None:
        made = look.map
        shares = f"{made.purity:.0%} have the same label (of those in the features {made.purity_before:.0%}"
        shares += f", chance {made.chance:.0%})"
        lines.append(f"Map: trustworthiness {made.trustworthiness:.2f}; of the 10 nearest on it {shares}.")
    if look.probed is not None:
        accuracies = {"k-NN": look.probed.knn, "linear": look.probed.linear, "the model itself": look.probed.model}
        told = (
            f"{name} {each.value:.1%} ({each.low:.1%}–{each.high:.1%})" for name, each in accuracies.items() if each
        )
        lines.append(f"Frozen features, {look.probed.folds} folds: {', '.join(told)}.")
    counts = Counter(one.kind for one in look.suspects)
    lines.append(f"Suspects: {', '.join(f'{KINDS[kind]} {n}' for kind, n in counts.items()) or 'none'}.")
    return [*lines, *(f"{place}: {why}" for place, why in found.broken.items()), *look.notes]


def _write(path: Path, look: "Look", loaded: "Loaded") -> None:
    from vizkit.evaluation.data_set import suspects_csv
    from vizkit.writing import write

    if path.suffix == ".csv":
        write_output(path, suspects_csv(look.found, look.suspects))
    elif path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        write(path, lambda file: parquet.write_table(pyarrow.table(look.rows()), file, compression="zstd"))
    else:
        from vizkit.hosts.data_set import page

        write_output(path, page(look, loaded).encode())
