"""Transformers on texts, where they began, beside the recurrent networks that they replaced."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Translate",
        "Which words each digit of a date looks at while it is written.",
        "sequences.translate:Translate",
        "",
        reads="nothing",
        name="translate",
        page="sequences",
    ),
    Entry(
        "Step by step",
        "One word through one layer, every number from its embedding to the answer.",
        "sequences.steps:StepByStep",
        "",
        reads="nothing",
        name="word-steps",
        page="sequences",
    ),
    Entry(
        "Masks",
        "Who may look at whom: everybody, what came before, or another text.",
        "sequences.masks:Masks",
        "",
        reads="nothing",
        formerly=(Former("Masked", page="attention", name="causal-mask"),),
        name="masks",
        page="sequences",
    ),
    Entry(
        "Memory",
        "What a recurrent network forgets on the way, and what attention keeps in reach.",
        "sequences.memory:Memory",
        "",
        reads="nothing",
        name="memory",
        page="sequences",
    ),
    Entry(
        "Words",
        "Which words are alike, and what becomes of one word at two places.",
        "sequences.words:Words",
        "",
        reads="nothing",
        name="words",
        page="sequences",
    ),
    Entry(
        "From words to patches",
        "The same block on a sentence and on an image: what changes and what stays.",
        "sequences.bridge:Bridge",
        "vit",
        fragment=False,
        name="words-to-patches",
        page="sequences",
    ),
)
