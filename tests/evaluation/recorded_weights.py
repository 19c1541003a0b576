"""Which weights the results that come with vizkit are of: `python -m tests.evaluation.recorded_weights` writes those
that are here now. Run it after all of them have been measured anew with these (`python -m vizkit heads`, `deciding`,
`shift`, `evaluate`, …), and not to silence the test."""

import json

from vizkit.evaluation.outcome import Outcome
from vizkit.evaluation.scenes.outcome import SceneOutcome
from vizkit.training.sequences.answers import TextAnswers
from vizkit.views import bundled
from vizkit.views.measured_with import EXPERIMENTS, WEIGHTS, digest
from vizkit.writing import read_record


def models():
    """The models of every record, by their folders."""
    every = {f"heads/{file.name}": [file.stem] for file in sorted((EXPERIMENTS / "heads").glob("*.json"))}
    for name in ("deciding/insects.json", "similarity/digits.json", "similarity/insects.json"):
        every[name] = [each.removeprefix("bundled:") for each in content(name)["models"]]
    every["shift/digits.json"] = [
        line["model"].removeprefix("bundled:") for line in content("shift/digits.json")["lines"]
    ]
    for name in ("digits", "insects", "insects_hard"):
        record = f"evaluation/{name}.npz"
        every[record] = [row.name for row in read_record(EXPERIMENTS / record, Outcome).models]
    texts = read_record(EXPERIMENTS / "evaluation/texts.npz", dict[str, TextAnswers])
    every["evaluation/texts.npz"] = [f"sequences/{name}" for name in texts]
    found = read_record(EXPERIMENTS / "evaluation" / "scenes.npz", SceneOutcome)
    every["evaluation/scenes.npz"] = [f"detection/{row.name}" for row in found.models]
    return every


def content(record):
    return json.loads((EXPERIMENTS / record).read_text(encoding="utf-8"))


def weights():
    assert all((bundled.FOLDER / each / "model.safetensors").is_file() for row in models().values() for each in row)
    return {record: {model: digest(model) for model in row} for record, row in models().items()}


if __name__ == "__main__":
    WEIGHTS.write_text(json.dumps(weights(), indent=1) + "\n", encoding="utf-8")
