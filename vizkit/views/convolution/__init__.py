"""Convolutional networks, seen with the same eyes as transformers."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Slide",
        "A filter of a model walks over the image: pixels times weights, summed.",
        "convolution.slide:Slide",
        formerly=(Former("Filters", name="filters", fields={"channel": "filter", "filters_channel": "filter"}),),
        name="slide",
    ),
    Entry(
        "Feature maps",
        "What every channel of a layer sees, where, and what its numbers are made of.",
        "convolution.feature_maps:FeatureMaps",
        "cnn",
        name="feature-maps",
    ),
    Entry(
        "Reach",
        "What one cell of each layer can see of the image: CNN, Swin and ViT.",
        "convolution.receptive_field:ReceptiveField",
        formerly=(Former("Receptive field"), Former("Reach", "swin", "swin-reach")),
        name="receptive-field",
    ),
    Entry(
        "Shift by a pixel",
        "The image moves by a few pixels, and the answers with it or not.",
        "convolution.shift:Shift",
        answers=True,
        name="shift",
    ),
    Entry(
        "What makes deep networks trainable",
        "Residual paths, norms and activations, and what is left of the gradient at the first of many layers.",
        "convolution.trainable:Trainable",
        formerly=(
            Former("Vanishing gradients"),
            Former(
                "Activations",
                name="activations",
                fields={"curves": "activations", "activations": "activations"},
                settings={"shows": "activations"},
            ),
            Former(
                "Norms",
                name="norms",
                fields={"block": "block", "images": "images", "channel": "channel"},
                settings={"shows": "norms"},
            ),
        ),
        name="vanishing-gradients",
    ),
)
