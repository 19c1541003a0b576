"""Convolutional networks, seen with the same eyes as transformers."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Slide",
        "A kernel walks over the image: pixels times weights, summed.",
        "convolution.slide:Slide",
        name="slide",
        page="convolution",
    ),
    Entry(
        "Feature maps",
        "What every channel of a layer sees, where, and what its numbers are made of.",
        "convolution.feature_maps:FeatureMaps",
        "cnn",
        name="feature-maps",
        page="convolution",
    ),
    Entry(
        "Receptive field",
        "How much of the image a unit can see, and uses.",
        "convolution.receptive_field:ReceptiveField",
        formerly=(Former("Reach", "swin", "swin-reach"),),
        name="receptive-field",
        page="convolution",
    ),
    Entry(
        "Filters",
        "The first layer's filters, and the patches that a channel answers to most.",
        "convolution.filters:Filters",
        "cnn",
        name="filters",
        page="convolution",
    ),
    Entry(
        "Shift by a pixel",
        "The picture moves by a few pixels, and the answers with it or not.",
        "convolution.shift:Shift",
        answers=True,
        name="shift",
        page="convolution",
    ),
    Entry(
        "Activations",
        "What lets a network bend: the curves, and what a model's own are given.",
        "convolution.activations:Activations",
        name="activations",
        page="convolution",
    ),
    Entry(
        "Norms",
        "Which numbers share a mean, on the model's own tokens.",
        "convolution.norms:Norms",
        name="norms",
        page="convolution",
    ),
    Entry(
        "Vanishing gradients",
        "What is left of the gradient at the first of many layers.",
        "convolution.vanishing:Vanishing",
        "",
        reads="nothing",
        name="vanishing-gradients",
        page="convolution",
    ),
)
