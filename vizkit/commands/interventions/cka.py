"""How alike the layers of one or several models represent the same images."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts.types import PositiveInt

from vizkit.commands.options import Data, Device, Seed, Some, writes
from vizkit.commands.output import progress, write_arrays, write_output
from vizkit.writing import csv_lines

if TYPE_CHECKING:
    from vizkit.evaluation.inside.similarity import Similarity


def cka(
    *models: str,
    data: Data = "insects",
    images: Some = 256,
    seed: Seed = 0,
    batch: PositiveInt = 32,
    device: Device = None,
    output: Annotated[Path | None, writes(".json", ".csv", ".npz")] = None,
) -> None:
    """How alike layers represent images, in one model or between several.

    vizkit cka bundled:insects_vit bundled:insects_cnn --images 256 -o cka.json

    Args:
        models: Bundled:NAME, a timm name, a run folder.
        batch: Images compared together, 4 or more.
        output: All pairs of layers.
    """
    import vizkit
    from vizkit.evaluation.inside.similarity import similarity

    if not models:
        raise ValueError("Give the name of a model, or of several.")
    models = tuple(dict.fromkeys(models))
    loaded = [vizkit.load(name, device=device) for name in models]
    with progress("%", total=100) as tell:
        result = similarity(loaded, data, images, batch=batch, seed=seed, tell=lambda share: tell(100 * share))
    if output is None:
        print(as_csv(result), end="")
        return
    kind = output.suffix.lower()
    if kind == ".csv":
        write_output(output, as_csv(result))
    elif kind == ".npz":
        arrays = {"models": result.models, "layers": result.layers, "images": result.images}
        write_arrays(output, cka=result.values.numpy(), **arrays)
    else:
        content = {
            "models": models,
            "data": data,
            "images": result.images,
            "batch": batch,
            "seed": seed,
            "torch": version("torch"),
            "layers": result.layers,
            "cka": [[round(value, 4) for value in row] for row in result.values.tolist()],
        }
        write_output(output, json.dumps(content) + "\n")
    print(f"{output}: {len(result.layers)} layers, {result.images} images")


def as_csv(result: "Similarity") -> str:
    """A row and a column for each layer."""
    names = [f"{result.models[at]} {layer}" for at, layer in result.layers]
    values = result.values.tolist()
    rows = [[name, *(f"{value:.4f}" for value in row)] for name, row in zip(names, values, strict=True)]
    return csv_lines([["layer", *names], *rows])
