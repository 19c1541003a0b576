"""The words of a lesson's expressions: small questions to the model and the image at hand.

A word takes the subject first and then plain numbers and names; it gives a map (row × column of patches), a place
(row, column from 0), a number or a text. Layers, blocks, heads and stages are counted from 1, or `last`. `head`: a
number or `mean`. `query` and `key`: a special token such as `cls`, `patch` for the one under the cursor (the middle of
the image until somebody clicks), or a place. `cls`, a class: `top`, `second`, a rank, or its name. `edits` of the
model are those of `vizkit trace`, such as "heads:3.2=0".

Every word of a model also takes `model`, a bundled model or one of CHANGED, and `picture`, one that comes with vizkit.
What a model does not have raises NotApplicable with one sentence.
"""

from vizkit.lessons.vocabulary import attention, explanations, features, learning, maps, model, older
from vizkit.lessons.vocabulary.asking import VOCABULARY

__all__ = ["VOCABULARY", "attention", "explanations", "features", "learning", "maps", "model", "older"]
