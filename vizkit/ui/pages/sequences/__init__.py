"""Sequences: the transformer on texts, where it began, beside the recurrent networks that it replaced."""

from vizkit.ui.views import View

VIEWS = (
    View("Translate", "A date in words becomes one in digits: which words does each digit look at?", "translate", ""),
    View("Step by step", "One word through one layer, every number from its embedding to the answer.", "steps", ""),
    View("Masks", "Who may look at whom: everybody, what came before, or another text.", "masks", ""),
    View("Memory", "What a recurrent network forgets on the way, and what attention keeps in reach.", "memory", ""),
)
