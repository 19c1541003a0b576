"""What models lose when the deciding parts of drawn insects are erased, and when as many other pixels are."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts.types import PositiveInt

from vizkit.commands.options import Device, writes
from vizkit.commands.output import aligned, progress, write_output


def deciding(
    *models: str,
    images: PositiveInt = 200,
    device: Device = None,
    output: Annotated[Path | None, writes(".json")] = None,
) -> None:
    """Whether models look at the deciding parts of drawn insects.

    vizkit deciding bundled:insects_vit bundled:insects_cnn --images 200 -o deciding.json

    Args:
        models: Bundled:NAME, a run folder.
        images: Drawings.
        output: All numbers.
    """
    import vizkit
    from vizkit.interventions.deciding import deciding_parts

    results = {}
    for name in models:
        with progress("drawing", name) as tell:
            results[name] = deciding_parts(vizkit.load(name, device=device), images, tell=tell)
    kinds = {"deciding parts": "deciding", "other pixels": "others", "difference": "difference"}
    rows = [
        [name, *("{:.2f} ± {:.2f}".format(*result.mean(kind)) for kind in kinds.values()), f"{result.larger:.0%}"]
        for name, result in results.items()
    ]
    print(aligned([["model", *kinds, "larger"], *rows]))
    print(f"logits that the class loses, 95 % intervals; {images} drawings")
    if output:
        rounded = {
            name: {
                field: [round(each, 4) for each in value] if isinstance(value, tuple) else value
                for field, value in result._asdict().items()
            }
            for name, result in results.items()
        }
        write_output(output, json.dumps({"torch": version("torch"), "images": images, "models": rounded}) + "\n")
        print(output)
