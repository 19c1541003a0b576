"""The story of a finished run of a mask head, as `card` tells it of the network that finds."""

CARD = """\
# {name}

The mask head of {of}, {parameters:,} parameters, trained on {data}; the network behind it was left as it is.

| | |
|---|---|
| Test | panoptic quality {pq:.3f} on {images:,} scenes; {accuracy:.1f} % of them without any mistake |
| Masks | mean IoU {iou:.3f} of matched queries with their things, at a stride of 4 pixels |
| Test loss | {loss:.3f}, focal + DICE of matched queries |
| Validation | panoptic quality {val_pq:.3f}, which chose epoch {epoch} of {epochs} |
| Trained on | {train_images:,} scenes, data seed {data_seed} |
| Command | `{command}` |
| Seed | {seed} |
| Time, device | {minutes:.1f} min in {epochs} epochs, {device} |
| Versions | torch {torch}, timm {timm} |
| Licence of the model | {licence} |

Panoptic quality as Kirillov et al. (2019) define it, of things alone. The test scenes had no part in training or in the
choice of the epoch. Images: drawn by vizkit. They are not photographs: expect nothing on real animals.
"""
