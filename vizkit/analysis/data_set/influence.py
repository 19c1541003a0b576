"""Who taught an answer: TracIn (Pruthi et al. 2020, arXiv 2002.08484) of the last layer at the model's final weights.

The gradient of the cross-entropy with respect to a linear layer is (p − y) hᵀ, to its bias p − y, so that the dot
product of two pictures' gradients is (p − y)·(p′ − y′) · (⟨h, h′⟩ + 1): no backward pass. TracIn sums this over the
checkpoints of a training, times the learning rate; where only the last is left, its order is what can be told.
"""

import numpy as np
from jaxtyping import Float, Int


def last_layer(
    probabilities: Float[np.ndarray, "picture class"],
    truth: Int[np.ndarray, " picture"],
    features: Float[np.ndarray, "picture feature"],
    row: int,
) -> Float[np.ndarray, " picture"]:
    """The dot product of each picture's gradient with that of picture `row`. A step on a picture above zero lowers the
    loss of picture `row`, on one below zero raises it. `probabilities`: softmax of the logits; `features`: what the
    layer reads; `truth`: the labels that the losses are of."""
    wrong = probabilities.astype(np.float64)
    wrong[np.arange(len(truth)), truth] -= 1
    features = features.astype(np.float64)
    return (wrong @ wrong[row]) * (features @ features[row] + 1)
