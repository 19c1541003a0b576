"""Who taught an answer: the cosine of two images' gradients (Hanawa et al. 2021, arXiv 2006.04528) in the last layer.

The gradient of the cross-entropy with respect to a linear layer is (p − y) hᵀ, to its bias p − y, so that the dot
product of two images' gradients is (p − y)·(p′ − y′) · (⟨h, h′⟩ + 1): no backward pass. That product, TracIn (Pruthi
et al. 2020, arXiv 2002.08484), is largest for images that the model is most wrong about, whatever they are compared
with; divided by the lengths of both gradients it says which images pull the same way.
"""

import numpy as np
from jaxtyping import Float, Int


def last_layer(
    probabilities: Float[np.ndarray, "picture class"],
    truth: Int[np.ndarray, " picture"],
    features: Float[np.ndarray, "picture feature"],
    row: int,
) -> Float[np.ndarray, " picture"]:
    """The cosine of each image's gradient and that of image `row`, −1 to 1. A step on an image above zero lowers
    the loss of image `row`, on one below zero raises it. `probabilities`: softmax of the logits; `features`: what the
    layer reads; `truth`: the labels that the losses are of."""
    wrong = probabilities.astype(np.float64)
    wrong[np.arange(len(truth)), truth] -= 1
    features = features.astype(np.float64)
    lengths = np.linalg.norm(wrong, axis=1) * np.sqrt((features**2).sum(1) + 1)
    products = (wrong @ wrong[row]) * (features @ features[row] + 1)
    return products / np.maximum(lengths * lengths[row], 1e-12)
