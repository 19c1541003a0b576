"""The story of a finished run of a network that enlarges, as `runs.card` tells it of classifiers."""

CARD = """\
# {name}

{architecture} ({sizes}), {parameters:,} parameters, trained from scratch on {data}: images of 24 × 24 to 96 × 96.

| | |
|---|---|
| Test | {psnr:.2f} dB on {images:,} pairs, {accuracy:.1f} % better than bicubic |
| Test loss | {loss:.4f}, mean absolute error of a channel from 0 to 1 |
| Validation | {val_psnr:.2f} dB, which chose epoch {epoch} of {epochs} |
| Trained on | {train_images:,} scenes, data seed {data_seed} |
| Command | `{command}` |
| Seed | {seed} |
| Time, device | {minutes:.1f} min in {epochs} epochs, {device} |
| Versions | torch {torch} |
| Licence of the model | {licence} |

PSNR of the luminance (ITU-R BT.601). References of a test are mixed as in training: half show the same scene turned,
shifted, scaled and lit otherwise, the others something else. The test scenes had no part in training or in the choice
of the epoch. metrics.jsonl holds the curves.

{pictures}
"""
DRAWN = "Images: drawn by vizkit, and for useless references parts of two photographs. Expect less of photographs."
FOLDER = "Images: squares of 192 × 192 pixels of those in a folder, halved. Expect less of other images."
