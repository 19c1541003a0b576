"""The story of a finished run of a network that finds things, as `runs.card` tells it of classifiers."""

CARD = """\
# {name}

{architecture} ({sizes}), {parameters:,} parameters, trained on {data}.

| | |
|---|---|
| Test | AP50 {ap50:.3f}, AP {ap:.3f} on {images:,} scenes; {accuracy:.1f} % of them without any mistake |
| Test loss | {loss:.3f}, of the last layer: cross-entropy + 5 · box distance + 2 · (1 − GIoU) |
| Validation | AP50 {val_ap50:.3f}, which chose epoch {epoch} of {epochs} |
| Trained on | {train_images:,} scenes, data seed {data_seed} |
| Command | `{command}` |
| Seed | {seed} |
| Time, device | {minutes:.1f} min in {epochs} epochs, {device} |
| Versions | torch {torch}, timm {timm} |
| Licence of the model | {licence} |

AP as COCO defines it, by torchmetrics. The test scenes had no part in training or in the choice of the epoch.
metrics.jsonl holds the curves. {origin}
"""
DRAWN = "Images: drawn by vizkit. They are not photographs: expect nothing on real animals."
