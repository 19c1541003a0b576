"""The story of a finished run on texts in words, as `runs.card` tells it of pictures."""

CARD = """\
# {name}

{architecture} ({sizes}), {parameters:,} parameters, trained from scratch on {data}.

| | |
|---|---|
| Test | {right:,} of {images:,} texts {how} ({accuracy:.1f} %) |
| Test, word by word | {answers:.2f} % right |
| Test loss | {loss:.4f}, cross-entropy in nats of a word |
| Validation | {val:.1f} %, which chose epoch {epoch} of {epochs} |
| Trained on | {train_images:,} texts, data seed {data_seed} |
| Command | `{command}` |
| Seed | {seed} |
| Time, device | {minutes:.1f} min in {epochs} epochs, {device} |
| Versions | torch {torch} |
| Licence of the model | {licence} |

The test texts had no part in training or in the choice of the epoch. metrics.jsonl holds the curves.

Texts: written by vizkit from seeds, in English words and digits. Expect nothing of other texts.
"""
HOW = {
    "translate": "translated without a mistake, by the most probable word at every step",
    "causal": "continued after the arrow without a mistake, by the most probable word at every step",
    "masked": "in which all hidden words (15 %, as in BERT) were guessed right",
}
