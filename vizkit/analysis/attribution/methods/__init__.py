"""The methods that explain a decision, one file each: their words, what they need, their code.

A new one is a file here with its `METHOD`, and its name in `ORDER`. Imports nothing heavy, so lists are quick.
"""

from importlib import import_module

from vizkit.analysis.attribution.methods.record import Given, Method

__all__ = ["METHODS", "Given", "Method"]

ORDER = (
    "attention",
    "rollout",
    "gradient_rollout",
    "generic_relevance",
    "legrad",
    "grad_cam",
    "hires_cam",
    "input_times_gradient",
    "integrated_gradients",
    "smooth_grad",
    "gradient_shap",
    "occlusion",
    "patch_ablation",
)


def record_of(name: str) -> Method:
    """The record in the file of that name; ValueError says what to add where."""
    record = getattr(import_module(f"{__name__}.{name}"), "METHOD", None)
    if not isinstance(record, Method) or record.name != name:
        raise ValueError(
            f"vizkit/analysis/attribution/methods/{name}.py needs METHOD = Method(name={name!r}, …), its record."
        )
    return record


METHODS: dict[str, Method] = {name: record_of(name) for name in ORDER}
