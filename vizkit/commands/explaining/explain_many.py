"""`vizkit explain SOURCE -o maps/`: a row for each image of a folder, of shards or of a set, as `vizkit.explanations`
keeps it. The same command goes on where it was stopped.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.explaining.maps import chosen
from vizkit.commands.options import Cluster, Images, Opening
from vizkit.commands.output import progress, stoppable, writing_to
from vizkit.settings import __version__
from vizkit.training.interrupting import terminable

if TYPE_CHECKING:
    from vizkit.explanations.passes import Maps
    from vizkit.explanations.place import Place
    from vizkit.explanations.source import Source
    from vizkit.models import Loaded

BATCH = {"cpu": 16}
ON_A_GPU = 128
PART_S = 30.0  # of work that a part takes, where the machine is as quick as at the start


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Many:
    """How many images are explained.

    Args:
        maps: Of many images: how values between lowest and highest are kept.
        batch: Of many images: how many the model is given at once.
        workers: Processes that read images beside the model.
        split: Of many images that are divided.
        precision: Of many images: what the model computes in; auto is bf16 on a GPU that has it (docs/gpu.md), tf32
            leaves the weights in float32 and rounds what it multiplies.
        patch_features: Of many images: also the vector of every patch after the last block, which `explained --alike`
            searches; 2 bytes a number.
    """

    maps: Literal["uint8", "float16"] = "uint8"
    batch: PositiveInt | None = None
    workers: int | None = None
    images: Images = None
    split: Literal["", "train", "val", "test"] = ""
    precision: Literal["auto", "fp32", "tf32", "bf16"] = "auto"
    patch_features: bool = False


USUAL = Many()


def is_many(data: str, output: "Place") -> bool:
    """Whether it is no single image, nor what would be written of one."""
    path = Path(data)
    return path.is_dir() or data.endswith((".tar", ".parquet", ".zip")) or not (path.is_file() or output.suffix)


def explain_many(
    data: str,
    outputs: Sequence["Place"],
    opening: Opening,
    model: str,
    methods: Sequence[str],
    layer: str,
    classes: tuple[str | None, str | None],
    many: Many,
    cluster: Cluster,
) -> None:
    """`classes`: what is explained, and what it is set against."""
    if len(outputs) != 1 or outputs[0].suffix:
        raise ValueError(f"The maps of {data} need a folder: give its name, without an ending, after -o.")
    output = outputs[0]
    with terminable():
        loaded = _computing_in(many.precision, opening.load(model))
        from vizkit.explanations.job import PassWork, device_of, make_missing
        from vizkit.explanations.parts import Run, alone
        from vizkit.explanations.passes import ANSWER, LABEL, Maps
        from vizkit.explanations.reading import workers_for
        from vizkit.explanations.source import PART, open_source
        from vizkit.explanations.table import begun, opened
        from vizkit.image import side_of

        named, rival = classes[0] or ANSWER, loaded.number_of(classes[1])
        if named in (ANSWER, LABEL) and named in loaded.labels:
            number = loaded.labels.index(named)
            raise ValueError(f"{loaded.name} has a class {named!r}; for that one give class {number}.")
        target: Any = named if named in (ANSWER, LABEL) else loaded.number_of(named)
        make = partial(Maps, loaded, chosen(methods), many.maps, target, rival, layer, many.patch_features)
        made_by = make()
        for method, reason in made_by.without.items():
            print(f"{METHODS[method].title}: no map. {reason}")
        with cluster.used():
            before = (begun(output) or {}).get("part")
            most = before if isinstance(before, int) and before > 0 else min(PART, made_by.most_within(PART_S))
            size = min(many.batch or BATCH.get(device_of(loaded), ON_A_GPU), most)
            most -= most % size  # so that batches are the same, however the parts are cut
            side, without = side_of(loaded.preprocessing), Path(str(output)).resolve()
            source = open_source(data, many.split, images=many.images, size_px=side, without=without, most=most)
            told = settings_of(data, many.split, source, loaded, made_by) | {"batch": size}
            readers = workers_for(loaded.device.type, source.images) if many.workers is None else many.workers
            with stoppable() as stopping, writing_to(output), alone(output), progress("image", loaded.name) as tell:
                run = Run.begin(output, told | {"part": most}, source.counts)
                work = PassWork(run, source, loaded, make, size, readers, told, timed=True, made_by=made_by)
                speed = make_missing(work, tell, stopping)
    import pyarrow.compute as of

    table = opened(str(output)).dataset
    broken = table.count_rows(filter=of.field("error").is_valid())
    reasons = f", {broken:,} of them with a reason instead" if broken else ""
    print(f"{output}: {table.count_rows():,} images{reasons}. {speed if speed.per_s else ''}".rstrip())


def _computing_in(precision: str, loaded: "Loaded") -> "Loaded":
    """In bfloat16 the maps of a trained model correlate with those in float32 by .9996 at least (docs/gpu.md). In TF32
    the weights stay as they are and factors of products are rounded, here and in all that this process computes."""
    import torch

    from vizkit.check import LOWER, precision_of_products

    if precision == "tf32":
        torch.set_float32_matmul_precision("high")
        if precision_of_products(loaded.device) != LOWER["tf32"]:
            raise ValueError(
                "TF32 is a precision of NVIDIA's GPUs since Ampere (compute capability 8.0), and this is none: "
                "leave --precision out."
            )
    fits = loaded.device.type == "cuda" and torch.cuda.is_bf16_supported()
    if precision == "bf16" or (precision == "auto" and fits):
        loaded.model.to(torch.bfloat16)
    return loaded


def settings_of(data: str, split: str, source: "Source", loaded: "Loaded", made_by: "Maps") -> dict[str, Any]:
    """What rows depend on besides how they are cut: another run with the same writes the same."""
    import pyarrow

    from vizkit.check import precision_of_products, precision_of_type
    from vizkit.explanations.job import device_of
    from vizkit.explanations.kept import weights_digest

    products = precision_of_products(loaded.device)
    return {
        "source": data,
        **({"split": split} if split else {}),
        "pictures": source.digest,
        "model": loaded.name,
        "weights_sha256": weights_digest(loaded.model),
        "labels": [*loaded.labels],
        "preprocessing": asdict(loaded.preprocessing),
        "maps": {name: {"shape": shape, "signed": made_by.signed[name]} for name, shape in made_by.shapes.items()},
        **({"patch_features": [*made_by.vectors.shape]} if made_by.vectors else {}),
        "kind": made_by.kind,
        "target": made_by.target,
        "against": made_by.against,
        "layer": made_by.layer,
        "patches": made_by.cells,
        "device": device_of(loaded),
        "precision": max(precision_of_type(loaded.dtype), products, key=lambda each: each.spacing).name,
        "versions": {"vizkit": __version__, "pyarrow": pyarrow.__version__}
        | {name: version(name) for name in ("torch", "timm")},
    }
