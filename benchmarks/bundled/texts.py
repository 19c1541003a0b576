"""What the bundled models of texts answer to two thousand unseen texts.

`python -m benchmarks texts` writes texts.npz beside the other recorded evaluations;
Memory on the page Sequences shows it.
"""

from vizkit.views.bundled import FOLDER
from vizkit.writing import write_record

TO = FOLDER / "experiments" / "evaluation" / "texts.npz"


def run() -> None:
    from vizkit.models.sequences import bundled_sequences, open_sequence
    from vizkit.training.sequences.answers import answered

    found = {name: answered(open_sequence(f"bundled:{name}")) for name in bundled_sequences()}
    write_record(TO, found)
    for name, each in found.items():
        print(f"{name}: {(each.wrong == 0).mean():.2%} of {len(each.wrong):,} texts right")
    print(f"{TO.stat().st_size:,} bytes")


if __name__ == "__main__":
    run()
