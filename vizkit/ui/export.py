"""Numbers as files, and what files are called."""

import io
from typing import Any

import numpy as np

from vizkit.writing import csv_of, name_of_file

__all__ = ["csv_of", "name_of_file", "npz_of"]


def npz_of(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()
