"""A Trace as one .npz file and back: plain arrays and a JSON text, nothing that could run code when opened.

    with np.load("trace.npz") as file:
        meta = json.loads(file["meta"].item())
        weights = file["layer000_weights"]      # (group, head, query, key), see `vizkit.traces.Attention`

`meta["layers"]` has for every layer its name and the tokens of its rows and columns; `layer000_query_ids` and
`layer000_key_ids` say which token each row and column is.
"""

import io
import json
import os
import platform
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.writing import open_file, write

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.traces import Trace


FORMAT = 1
FEATURES = ("features", "cam_features", "layer_features")


def npz_bytes(trace: "Trace", facts: Mapping[str, Any] | None = None) -> bytes:
    """The file's bytes. `facts`: more for its `meta`, such as source and licence of the model."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **_arrays(trace, facts))
    return buffer.getvalue()


def save_npz(trace: "Trace", path: str | os.PathLike, facts: Mapping[str, Any] | None = None) -> None:
    """Write the file whole or not at all. Raises OSError where it cannot be written."""

    def content(unfinished: Path) -> None:
        with unfinished.open("wb") as file:  # numpy would add .npz to a name
            np.savez(file, allow_pickle=False, **_arrays(trace, facts))

    write(path, content)


def open_npz(path: str | os.PathLike) -> "tuple[Trace, dict[str, Any]]":
    """The Trace in a file and its `meta`. Raises TraceError on any other file."""
    from vizkit.traces import TraceError

    try:
        # Opened here, because numpy leaves a file open that it refuses.
        with open_file(path) as opened, np.load(opened, allow_pickle=False) as file:
            meta = json.loads(file["meta"].item())
            return _trace_in(file, meta), meta
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, TraceError | FileNotFoundError):
            raise
        raise TraceError("This is no trace that vizkit wrote; choose another .npz file.") from error


def _arrays(trace: "Trace", facts: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    stored = {"meta": np.array(json.dumps(_meta_of(trace) | dict(facts or {}), ensure_ascii=False))}
    stored["logits"] = _array(trace.logits)
    for i, layer in enumerate(trace.attention):
        stored[f"layer{i:03}_weights"] = _array(layer.weights)
        stored[f"layer{i:03}_query_ids"] = _array(layer.query_ids)
        stored[f"layer{i:03}_key_ids"] = _array(layer.key_ids)
        if layer.gradient is not None:
            stored[f"layer{i:03}_gradient"] = _array(layer.gradient)
        if layer.score_gradient is not None:
            stored[f"layer{i:03}_score_gradient"] = _array(layer.score_gradient)
    for kind in FEATURES:
        for i, features in enumerate(getattr(trace, kind)):
            stored[f"{kind}{i:03}"] = _array(features.values)
            if features.gradient is not None:
                stored[f"{kind}{i:03}_gradient"] = _array(features.gradient)
    return stored


def _meta_of(trace: "Trace") -> dict[str, Any]:
    layers = [
        {"name": a.name, "query": asdict(a.query), "key": asdict(a.key), "learned": a.learned, "heads": a.heads}
        for a in trace.attention
    ]
    return {
        "format": FORMAT,
        "model": trace.model,
        "image_size": trace.image_size,
        "target": trace.target,
        "layers": layers,
        **{kind: [{"name": f.name, "tokens": asdict(f.tokens)} for f in getattr(trace, kind)] for kind in FEATURES},
        "check": asdict(trace.check),
        "notes": trace.notes,
        "linear": trace.linear,
        "versions": {"python": platform.python_version(), **{name: installed(name) for name in ("torch", "timm")}},
    }


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _array(tensor: "Tensor") -> np.ndarray:
    """numpy has no bfloat16; everything else stays as it was stored."""
    import torch

    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _trace_in(file: Mapping[str, np.ndarray], meta: dict[str, Any]) -> "Trace":
    import torch

    from vizkit.check import FULL, Precision
    from vizkit.traces import Attention, Check, Features, Tokens, Trace

    def tokens(fields: dict[str, Any]) -> Tokens:
        grid, boxes = fields["grid"], tuple(map(tuple, fields.get("boxes_cxcywh", ())))  # older files have no boxes
        known = {"special": tuple(fields["special"]), "grid": None if grid is None else tuple(grid)}
        return Tokens(**{**fields, **known, "boxes_cxcywh": boxes})

    def tensor(name: str) -> torch.Tensor:
        return torch.from_numpy(file[name])

    def optional(name: str) -> torch.Tensor | None:
        return tensor(name) if name in file else None

    def features(kind: str) -> tuple[Features, ...]:
        return tuple(
            Features(f["name"], tensor(f"{kind}{i:03}"), tokens(f["tokens"]), optional(f"{kind}{i:03}_gradient"))
            for i, f in enumerate(meta.get(kind, ()))  # older files lack some kinds
        )

    attention = tuple(
        Attention(
            layer["name"],
            tensor(f"layer{i:03}_weights"),
            tokens(layer["query"]),
            tokens(layer["key"]),
            tensor(f"layer{i:03}_query_ids"),
            tensor(f"layer{i:03}_key_ids"),
            learned=layer["learned"],
            gradient=optional(f"layer{i:03}_gradient"),
            heads=layer["heads"],
            score_gradient=optional(f"layer{i:03}_score_gradient"),
        )
        for i, layer in enumerate(meta["layers"])
    )
    size, notes = tuple(meta["image_size"]), tuple(meta["notes"])
    precision = Precision(*meta["check"].get("precision", FULL))  # older files know none
    check = Check(**meta["check"] | {"precision": precision})
    rest = features("features"), check, meta["target"], notes, features("cam_features"), meta.get("linear", 0)
    return Trace(meta["model"], size, tensor("logits"), attention, *rest, features("layer_features"))
