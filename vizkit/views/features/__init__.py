"""What a patch knows: dense features of one model, on several images."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Colours of patches",
        "Patches of several images in the colours of their three main directions, and which are most alike.",
        "features.colours:Colours",
        name="pca",
        page="features",
    ),
    Entry(
        "Object",
        "Which patches are the object? Four rules that need no label, and how right they are.",
        "features.object:Object",
        name="object",
        page="features",
    ),
    Entry(
        "Match",
        "Which place of the other images is most like the patch that you click, and whether it is the right one.",
        "features.match:Match",
        name="match",
        page="features",
    ),
    Entry(
        "Label",
        "Paint a few patches of two things or more, and a linear probe labels all patches of all images at once.",
        "features.label:Label",
        name="label",
        page="features",
    ),
    Entry(
        "X-ray",
        "Patches of far larger norm than all others, the neurons that make them, and a register that takes them.",
        "features.xray:XRay",
        formerly=(Former("Token norms by layer", "patches", "token-norms"), Former("Norms", "patches")),
        name="xray",
        page="features",
    ),
)
