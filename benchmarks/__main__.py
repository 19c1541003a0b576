"""Print the tables; `python -m benchmarks [recording] [heads] [memory] [pages] [played] [training] [truth]
[architectures] [relevance] [evaluation] [sessions]`, all of these by default. `mutants` takes most of an
hour, `models` writes docs/models.md, `colours` docs/colours.md, `features` docs/features.md,
`alignment` a file beside bundled models of texts, `learning` trains small runs and writes what changed inside,
`super_resolution` one beside those that enlarge, `detection_queries` one beside those that find, `scenes` and
`texts` one each beside the recorded evaluations, `tiff` reads every kind of TIFF; `python -m benchmarks faults
[--pictures 300 …]`, `folders [--folders 300]` (those of transformers alone), `data_set FOLDER`, `detection [--plain
RUN]`, `explaining [--model NAME …]`, `gpu [--device cuda:1]`, which writes docs/gpu.md, `look [page …]`
and `many` are run alone."""

import platform
import sys
from importlib import import_module
from types import ModuleType

PARTS = (
    "recording",
    "heads",
    "memory",
    "pages",
    "played",
    "training",
    "truth",
    "architectures",
    "relevance",
    "evaluation",
)
PARTS += ("sessions",)
ASKED = (
    "mutants",
    "models",
    "colours",
    "features",
    "alignment",
    "learning",
    "super_resolution",
    "detection_queries",
    "scenes",
    "texts",
    "tiff",
)  # only by name
FOLDERS = {
    **dict.fromkeys(("faults", "mutants", "tiff"), "testing"),
    **dict.fromkeys(("colours", "features", "truth"), "maps"),
    **dict.fromkeys(("alignment", "learning", "super_resolution", "detection_queries", "scenes", "texts"), "bundled"),
}


def machine() -> str:
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    return f"{device} · torch {torch.__version__} · Python {platform.python_version()}"


def module(part: str) -> ModuleType:
    return import_module(".".join(("benchmarks", FOLDERS[part], part) if part in FOLDERS else ("benchmarks", part)))


def main() -> None:
    if sys.argv[1:2] in (
        ["data_set"],
        ["detection"],
        ["explaining"],
        ["faults"],
        ["gpu"],
        ["look"],
        ["many"],
    ):  # with options of their own
        module(sys.argv[1]).run(sys.argv[2:])
        return
    if sys.argv[1:2] == ["folders"]:
        module("faults").run(["--pictures", "0", "--zips", "0", "--checkpoints", "0", *sys.argv[2:]])
        return
    parts = sys.argv[1:] or list(PARTS)
    if unknown := set(parts) - {*PARTS, *ASKED}:
        sys.exit(f"There is no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(PARTS + ASKED)}.")
    print(machine())
    for part in parts:
        module(part).run()


if __name__ == "__main__":
    main()
