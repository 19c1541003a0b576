"""The story of a finished run of a mask head, as `card` tells it of the network that finds."""

from torch import nn

from vizkit.training.evaluating import Score
from vizkit.training.runs.card import card_of_network
from vizkit.training.runs.folder import RunFolder

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


def card(run: RunFolder, model: nn.Module, score: Score, train_scenes: int, of: str) -> str:
    """The card as Markdown. `of`: the name of the network that finds."""
    val_pq = max(line["val_pq"] for line in run.metrics())
    return card_of_network(CARD, run, model, score, train_scenes, of=of, pq=score.pq, iou=score.iou, val_pq=val_pq)
