"""Convolutional networks, seen with the same eyes as transformers."""

from vizkit.ui.views import View

VIEWS = (
    View("Slide", "A kernel walks over the image: pixels times weights, summed.", "slide", ""),
    View("Feature maps", "What every channel of a layer sees, where, and what its numbers are made of.", "maps", "cnn"),
    View("Receptive field", "How much of the image a unit can see, and uses.", "receptive_field", "cnn"),
    View("Filters", "The first layer's filters, and the patches that a channel answers to most.", "filters", "cnn"),
    View(
        "Shift by a pixel",
        "The picture moves by a few pixels, and the answers with it or not.",
        "shift",
        "model",
        answers=True,
    ),
    View("Activations", "What lets a network bend: the curves, and what a model's own are given.", "activations"),
    View("Norms", "Which numbers share a mean, on the model's own tokens.", "norms"),
    View(
        "Vanishing gradients",
        "What is left of the gradient at the first of many layers.",
        "vanishing",
        "",
        reads="nothing",
    ),
)
