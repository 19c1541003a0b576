"""The licence of a model in words."""

import re


def licence_words(licence: str) -> str:
    """As it is written by its authors, from a model card's identifier: "MIT licence" from "mit"."""
    written = {"mit": "MIT", "apache-2.0": "Apache 2.0", "bsd-3-clause": "BSD 3-Clause"}
    name = written.get(licence.lower()) or re.sub(r"^cc-(.*)-(\d.*)$", lambda m: f"CC {m[1].upper()} {m[2]}", licence)
    return f"licence {name}" if name.startswith(("no", "unknown")) else f"{name} licence"
