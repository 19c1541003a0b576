"""Transformers on texts, where they began, beside the recurrent networks that they replaced."""

from functools import partial

from vizkit.views.entry import Entry, Former, Only

BOTH = "a sentence and an image"
"""An option of Step by step, known before its own module, and torch, are there."""
TYPED = {"text_model": "text_model", "text": "text", "sequence_model": "text_model", "sequence_text": "text"}
of_text = partial(Entry, needs="", reads="nothing")

VIEWS = (
    of_text(
        "Translate",
        "Which words each digit of a date looks at while it is written, and whether it is right.",
        "sequences.translate:Translate",
        name="translate",
    ),
    Entry(
        "Step by step",
        "One word through one layer, every number from its embedding to the answer; also beside a patch of an image.",
        "sequences.steps:StepByStep",
        "",
        name="word-steps",
        only=Only("beside", "steps_beside", BOTH, BOTH),
        formerly=(
            Former("Words", name="words", fields=TYPED),
            Former("From words to patches", name="words-to-patches", fields=TYPED, settings={"beside": BOTH}),
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
        "What a recurrent network forgets on the way, and what attention keeps in reach, up to the lengths learned.",
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
)
