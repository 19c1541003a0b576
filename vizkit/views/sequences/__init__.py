"""Transformers on texts, where they began, beside the recurrent networks that they replaced."""

from functools import partial

from vizkit.views.entry import Entry, Former

of_text = partial(Entry, needs="", reads="nothing", page="sequences")

VIEWS = (
    of_text(
        "Translate",
        "Which words each digit of a date looks at while it is written, and whether it is right.",
        "sequences.translate:Translate",
        name="translate",
    ),
    of_text(
        "Step by step",
        "One word through one layer, every number from its embedding to the answer.",
        "sequences.steps:StepByStep",
        name="word-steps",
        formerly=(
            Former(
                "Words",
                name="words",
                fields={"text_model": "text_model", "text": "text", "sequence_model": "text_model"}
                | {"sequence_text": "text"},
                settings={"step": 1},
            ),
        ),
    ),
    of_text(
        "Masks",
        "Who may look at whom: everybody, what came before, or another text.",
        "sequences.masks:Masks",
        formerly=(Former("Masked", page="attention", name="causal-mask"),),
        name="masks",
    ),
    of_text(
        "Memory",
        "What a recurrent network forgets on the way, and what attention keeps in reach.",
        "sequences.memory:Memory",
        formerly=(
            Former(
                "Sequences",
                "evaluate",
                "texts",
                {"model": "model", "eval_sequence": "model"},
                {"part": "Right by length", "task": "texts"},
            ),
        ),
        name="memory",
    ),
    Entry(
        "From words to patches",
        "The same layer on a sentence and on an image: what changes and what stays.",
        "sequences.bridge:Bridge",
        "vit",
        name="words-to-patches",
        page="sequences",
    ),
)
