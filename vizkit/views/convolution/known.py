"""Which data a model knows: the samples and the bundled models beside it are of the same."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Literal

import torch

from vizkit.analysis.remarks.remark import joined
from vizkit.datasets import samples
from vizkit.models import Loaded, family_of, load
from vizkit.views.bundled import title as titled
from vizkit.views.subject import Subject

Data = Literal["digits", "insects"]


def data_of(loaded: Loaded) -> Data:
    """Digits, where its classes are digits; else insects."""
    return "digits" if loaded.labels and all(label.isdigit() for label in loaded.labels) else "insects"


def samples_for(loaded: Loaded) -> list[str]:
    """Digits for a model of digits, for all others insects and photographs."""
    digits = data_of(loaded) == "digits"
    return [name for name in samples.names() if (samples.kind_of(name) == "digits") == digits]


def of_kind(of: Sequence[Subject], kind: str) -> list[Subject]:
    """Those of this kind of network; without any the bundled one that knows the same data."""
    own = [each for each in of if family_of(each.loaded.model) == kind]
    return own or [bundled(of[0], f"bundled:{data_of(of[0].loaded)}_{kind}")]


def bundled(beside: Subject, source: str) -> Subject:
    """On the same image."""
    return beside.kept(("beside", source, beside.point), partial(opened, beside, source))


def opened(beside: Subject, source: str) -> Subject:
    return Subject(
        partial(loaded_once, source, beside.loaded.device),
        beside.rgb,
        image=beside.image,
        model=titled(source),
        point=beside.point,
    )


@lru_cache(maxsize=6)
def loaded_once(source: str, device: torch.device) -> Loaded:
    return load(source, device=device)


def standing(others: Sequence[Subject]) -> str:
    """That these are beside the models that were chosen."""
    are = "is not one of your models and stands" if len(others) == 1 else "are not your models and stand"
    return f"{joined([each.name for each in others])} {are} beside them on the same image"
