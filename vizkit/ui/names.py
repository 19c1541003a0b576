"""Names for the model picker, without importing torch or timm."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

BUNDLED = Path(__file__).parents[1] / "bundled"
_ENTRY = re.compile(r"^@register_model\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)


@cache
def bundled() -> list[str]:
    """The shipped models: the plain ViT first, networks without attention last."""
    names = sorted(folder.parent.name for folder in BUNDLED.glob("*/config.json"))
    names.sort(key=lambda name: (name.endswith("cnn"), not name.endswith("vit")))
    return [f"bundled:{name}" for name in names]


@cache
def timm_names() -> list[str]:
    """Every architecture of the installed timm, read from its source: importing it takes seconds."""
    spec = find_spec("timm")
    if spec is None or spec.origin is None:
        return []
    files = sorted((Path(spec.origin).parent / "models").glob("*.py"))
    return sorted({name for file in files for name in _ENTRY.findall(file.read_text(encoding="utf-8"))})
