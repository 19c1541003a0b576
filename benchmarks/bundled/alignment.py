"""How often the digits of a written date look most at the words of the source that say the same, over unseen dates.

`python -m benchmarks alignment` writes alignment.json beside the bundled models that have cross-attention; the page
reads it.
"""

import json
from dataclasses import asdict

PAIRS = 2000


def run() -> None:
    from vizkit.datasets.sequences.opening import open_pairs
    from vizkit.evaluation.alignment import measured_alignment
    from vizkit.models.sequences import bundled_sequences, open_sequence
    from vizkit.models.sequences.opening import BUNDLED
    from vizkit.traces import NotApplicable

    pairs = open_pairs("dates", "test", count=PAIRS)
    for name in bundled_sequences():
        model = open_sequence(f"bundled:{name}")
        if not (model.translates and model.data == "dates"):
            continue
        try:
            roles = measured_alignment(model, pairs)
        except NotApplicable:
            continue
        (BUNDLED / name / "alignment.json").write_text(
            json.dumps({role: asdict(a) for role, a in roles.items()}) + "\n"
        )
        print(f"{name}:", ", ".join(f"{role} {a.share:.1%} of {a.places:,} digits" for role, a in roles.items()))


if __name__ == "__main__":
    run()
