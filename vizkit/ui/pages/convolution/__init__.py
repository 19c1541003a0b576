"""Convolutional networks, seen with the same eyes as transformers."""

from vizkit.ui.views import View

VIEWS = (
    View("Slide", "A kernel walks over the image: pixels times weights, summed.", "slide", "", picture=True),
    View("Activations", "What lets a network bend: the curves, and how much gradient they pass.", "activations", ""),
    View("Vanishing gradients", "What is left of the gradient at the first of many layers.", "vanishing", ""),
)
