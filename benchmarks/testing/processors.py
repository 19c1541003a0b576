"""Every image processor of the installed transformers, with its defaults and with each option turned: how far the input
that vizkit makes is from what `AutoImageProcessor` gives for the same folder and picture.

    python -m benchmarks.testing.processors         # writes its table into docs/models.md
    python -m benchmarks.testing.processors NAME    # every option of those so called, and writes nothing
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from vizkit.image import RGB, mean_difference, prepare
from vizkit.models import ModelError
from vizkit.models.sources.transformers_processor import preprocessing_of

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
HEAD = "## Image processors of transformers"
TEXT = """{head}

`python -m benchmarks.testing.processors` writes this table: every class that `AutoImageProcessor` knows, a folder with
its defaults and one with each option turned. The input that vizkit makes of a picture of 480 × 300 and of one of
300 × 480 is compared with what `AutoImageProcessor.from_pretrained(folder)(picture)` gives: the largest mean difference
of normalised values. Where vizkit's own **words** (size, crop, filter, mean, deviation) give the same, it makes the
pixels; else the folder's **own** processor does, and where it cuts is measured, so that the part drawn on the picture
is true. The rest get a **sentence**: they make tiles, patches, videos or pairs of a picture, find margins or texts in
it, refuse the option themselves, or cannot be made without more. Without transformers installed, processors that only
resize, cut and normalise are opened, and others get a sentence.

| image processor | words | own | sentence | largest difference |
|---|--:|--:|--:|--:|
{rows}

With transformers {version}: {tried:,} folders, {words:,} by words, {own:,} by the processor itself.

"""
SIZES_HW = ((300, 480), (480, 300))
OTHER_SIZES = ({"height": 96, "width": 128}, {"shortest_edge": 100}, {"shortest_edge": 390})
COMMON = {
    "do_resize": True,
    "do_center_crop": False,
    "do_rescale": True,
    "do_normalize": True,
    "do_flip_channel_order": False,
    "size": None,
    "crop_size": None,
    "resample": None,
    "rescale_factor": 1 / 255,
    "image_mean": None,
    "image_std": None,
}


class Outcome(NamedTuple):
    """`way`: "words", "processor" or the sentence that refuses. `difference`: the larger of both pictures, NaN where
    there is none."""

    way: str
    difference: float


def names() -> list[str]:
    """The classes that `AutoImageProcessor` knows, each once for both of its backends."""
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

    every = {name for kinds in IMAGE_PROCESSOR_MAPPING_NAMES.values() for name in kinds.values() if name}
    return sorted(every - {name for name in every if name.endswith("Pil") and name[:-3] in every})


def defaults(name: str) -> dict[str, Any] | None:
    """What the class writes into a folder; None where it cannot be made without more."""
    import transformers

    try:
        return json.loads(getattr(transformers, name)().to_json_string())
    except Exception:  # each in its own way
        return None


def variants(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(what is turned, the settings): first nothing, then each option alone, where sizes are large at smaller ones."""
    settings = {"image_processor_type": name, **(defaults(name) or {})}
    yield "", settings
    settings |= {name: _small(settings[name]) for name in ("size", "crop_size", "pad_size") if settings.get(name)}
    for option, value in {**COMMON, **settings}.items():
        for other in _others(option, value):
            more = {"crop_size": {"height": 90, "width": 110}} if option == "do_center_crop" else {}
            yield f"{option}={json.dumps(other)}", {**more, **settings, option: other}


def _small(size: Any) -> Any:
    """A size in proportion, which takes less time, where it is a large one."""
    if not isinstance(size, dict) or max(filter(None, size.values()), default=0) <= 256:
        return size
    return {name: side and side // 8 for name, side in size.items()}


def _others(option: str, value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if option == "size":
        return [64, *OTHER_SIZES]
    if option == "crop_size":
        return [{"height": 90, "width": 110}]
    if option == "resample":
        return [each for each in (0, 1, 2, 3) if each != value]
    if option in ("image_mean", "image_std"):
        return [[0.2, 0.3, 0.4]]
    if isinstance(value, float):
        return [value / 2]
    if isinstance(value, int):
        return [value * 2]
    return []


def picture(height: int, width: int) -> RGB:
    """Soft colours with a grain: every rule and every filter gives other numbers for it."""
    draw = np.random.default_rng(height)
    coarse = draw.integers(0, 256, (9, 9, 3), dtype=np.uint8)
    soft = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)).astype(int)
    return (soft + draw.integers(-25, 26, soft.shape)).clip(0, 255).astype(np.uint8)


def outcome(settings: dict[str, Any]) -> Outcome:
    """Raises ImageError where the picture is refused which the library takes: that may not happen."""
    from transformers import AutoImageProcessor

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "preprocessor_config.json").write_text(json.dumps(settings))
        try:
            needs = preprocessing_of(Path(folder), "It", {"image_size": 224}, None)
        except ModelError as sentence:
            return Outcome(str(sentence), float("nan"))
        theirs = AutoImageProcessor.from_pretrained(folder)
        apart = []
        for rgb in (picture(*hw) for hw in SIZES_HW):
            given = theirs(Image.fromarray(rgb), return_tensors="pt")["pixel_values"][0].float().numpy()
            apart.append(mean_difference(prepare(rgb, needs)[0], given))
        return Outcome("words" if needs.translated else "processor", max(apart))


def section(page: str) -> str:
    """This table in the page, from its heading to the next one; "" where there is none."""
    start = page.find(HEAD)
    end = page.find("\n## ", start + 1) + 1
    return page[start:end] if start >= 0 else ""


def main(only: str = "") -> None:
    import transformers

    rows, ways = list[str](), list[str]()
    for name in names():
        if only not in name:
            continue
        tried = {turned: outcome(settings) for turned, settings in variants(name)}
        own = [each.way if each.way in ("words", "processor") else "sentence" for each in tried.values()]
        numbers = [each.difference for each in tried.values() if each.difference == each.difference]
        largest = f"{max(numbers):.3f}" if numbers else "–"
        counts = " | ".join(str(own.count(way)) for way in ("words", "processor", "sentence"))
        rows, ways = [*rows, f"| {name.removesuffix('ImageProcessor')} | {counts} | {largest} |"], ways + own
        print(rows[-1], flush=True)
        for turned, each in tried.items() if only else ():
            print(f"    {turned or 'as it is'}: {each.way} {each.difference:.4f}")
    if only:
        return
    page = PAGE.read_text(encoding="utf-8")
    made = TEXT.format(
        head=HEAD,
        rows="\n".join(rows),
        version=transformers.__version__,
        tried=len(ways),
        words=ways.count("words"),
        own=ways.count("processor"),
    )
    old, after = section(page), "## What is not opened"
    PAGE.write_text(page.replace(old, made) if old else page.replace(after, made + after), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
