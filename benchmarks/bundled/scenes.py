"""What the bundled detector says of a thousand unseen scenes, box by box.

`python -m benchmarks scenes` writes scenes.npz beside the other recorded evaluations;
Many scenes on the page Detection opens on it.
"""

from vizkit.commands.detection.evaluating import opened
from vizkit.commands.options import Request
from vizkit.views.bundled import FOLDER
from vizkit.writing import write_record

TO = FOLDER / "experiments" / "evaluation" / "scenes.npz"


def run() -> None:
    from vizkit.evaluation.scenes.judging import judge

    asked = Request(model=["bundled:scenes_detr"])
    outcome = judge(*opened("scenes", asked, None), lambda *said: print(f"\r{said[2]} scenes", end="", flush=True))
    write_record(TO, outcome)
    for row in outcome.models:
        print(f"\n{row.name}: {row.measures}; {TO.stat().st_size:,} bytes")


if __name__ == "__main__":
    run()
