"""What the views of the Distillation page ask for in the same way: a temperature, and how a class is called."""

import streamlit as st

from vizkit.models import Loaded
from vizkit.traces import NotApplicable

TEMPERATURES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0,
                30.0, 40.0, 50.0, 70.0, 100.0)  # fmt: skip
LOWEST_OF_LOSSES = 0.5  # below, answers are nearly hard, and the losses nearly flat
MOST_CLASSES = 12  # rows of bars that can still be read from the last bench


def temperature(label: str, key: str, value: float, help: str, lowest: float = TEMPERATURES[0]) -> float:
    """A temperature of `lowest` to 100, in steps that look even on a logarithmic axis."""
    options = [t for t in TEMPERATURES if t >= lowest]
    with st.container(width=260):
        chosen = st.select_slider(
            label, options, value, format_func=lambda t: f"{t:g}", key=key, bind="query-params", help=help
        )
    return float(chosen)


def class_names(loaded: Loaded, count: int) -> tuple[str, ...]:
    """How the classes of a model are called, in the order of its logits. NotApplicable without a softmax."""
    if not loaded.head.exclusive:
        raise NotApplicable(f"{loaded.name} gives {loaded.head.gives}; choose a model with a softmax over classes.")
    return tuple(loaded.label(index) for index in range(count))


def short(name: str) -> str:
    """A class of ImageNet by the first of its synonyms."""
    return name.split(",")[0]
