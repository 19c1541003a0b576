"""A drawn page as lines: its controls, buttons, texts, canvases, charts and files, in the order of the page.

Whole numbers stay; others are rounded to two digits, and times, versions, digests and errors of rounding are `#`.
"""

import io
import json
import re
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.testing.v1.element_tree import Block

from tests.ui.session.test_links import KINDS
from vizkit import __version__
from vizkit.from_json import ReportError
from vizkit.traces import NotApplicable, TraceError
from vizkit.ui.plain import JOINER
from vizkit.ui.widgets.save import WIDTH

TEXTS = ("markdown", "caption", "latex", "title", "header", "subheader", "heading", "text", "code", "html", "toast")
TEXTS += ("info", "warning", "error", "success", "exception", "page_link", "link_button", "progress", "metric")
WORDS = ("body", "label", "text", "message", "delta", "page", "url")  # of the protos of texts
NOISE = (
    (re.escape(__version__), "#"),
    (r"/\S*pytest-\S*/runs", "runs"),  # a folder of this very test
    (r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{10,64}\b", "#"),  # a digest
    (r"(within|about|of|up to) \d\S*e-\d+|\bexactly\b|\bexact\b", "as good as exact"),
    (r"\b\d[\d.,]*(?: [\d.,]+)*\s?(ms|µs|s|min|seconds?|minutes?|hours?|h)\b", r"# \1"),
    (r"\d+(?:\.\d+)?e[-−+]?\d+", "#"),
)
MOST = 40  # items of a list that are written out
MANY = 600  # characters of a text that a canvas is sent


def steady(text):
    """A text without what changes from run to run and from machine to machine."""
    text = str(text).replace(JOINER, "").replace("\n", " ⏎ ").rstrip()
    for pattern, instead in NOISE:
        text = re.sub(pattern, instead, text)
    return re.sub(r"[-−]?\d+\.\d+", _rounded, text)


def _rounded(found):
    number = float(found[0].replace("−", "-"))
    return "0" if abs(number) < 5e-4 else f"{float(f'{number:.2g}'):g}"


@contextmanager
def sent_files():
    """What the pages drawn meanwhile keep for the browser, by its address."""
    files = {}
    add, later = MediaFileManager.add, MediaFileManager.add_deferred

    def kept(self, data, kind, where, file_name=None, *rest, **more):
        address = add(self, data, kind, where, file_name, *rest, **more)
        files[address] = data, file_name or "", kind
        return address

    def promised(self, make, kind, where, file_name=None, **more):
        address = later(self, make, kind, where, file_name, **more)
        files[address] = make, file_name or "", kind
        return address

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vizkit.hosts.slides.png", lambda plate: b"")  # of an archive the names of its files count
        patch.setattr(MediaFileManager, "add", kept)
        patch.setattr(MediaFileManager, "add_deferred", promised)
        yield files


def facts(test, files, contents=False):
    """The page as lines. `contents`: what is in the files that it offers too, which takes long to make."""
    lines = [
        f"address: {name}={test.query_params[name]}" for name in sorted(test.query_params) if not name.endswith("_view")
    ]
    for node in test.main:
        lines += _of_block(node) if isinstance(node, Block) else _of(test, node, files, contents)
    return [steady(line) for line in lines]


def _of_block(block):
    kind = getattr(block, "type", "")
    proto = getattr(block.proto, kind, None) if hasattr(block.proto, "WhichOneof") else block.proto
    if label := getattr(proto, "label", "") or getattr(proto, "title", ""):
        yield f"{kind}: {label}"


def _of(test, node, files, contents):
    kind, proto = node.type, node.proto
    if str(node.key).startswith(WIDTH):  # every Save has it
        return
    if kind in KINDS:
        yield from _control(test, node)
    elif kind == "button":
        yield f"button: {proto.label}{' (disabled)' if proto.disabled else ''} key={node.key}"
    elif kind == "download_button":
        data, name, type_ = files.get(proto.deferred_file_id or proto.url, (b"", "nothing", ""))
        yield f"download: {proto.label} → {name} ({type_})"
        if contents and not name.endswith(".html"):
            yield from (f"  in {proto.label}: {line}" for line in _contents(data, name.rpartition(".")[2]))
    elif kind == "bidi_component":
        yield f"canvas {proto.component_name} key={node.key}"
        data = json.loads(proto.json or "null")
        yield from (f"  {proto.component_name}{line}" for line in _shape(data))
    elif kind == "plotly_chart":
        yield from _chart(node.key, proto)
    elif kind == "imgs":
        for image in proto.imgs:
            yield f"image {_size(files.get(image.url, ('', '', ''))[0])} {image.caption} {getattr(image, 'alt', '')}"
    elif kind in ("dataframe", "table"):
        table = node.value
        shown = json.loads(getattr(proto, "columns", "") or "{}")
        labels = [f"{name}: {about.get('label')}" for name, about in sorted(shown.items()) if about.get("label")]
        yield f"{kind} {len(table)} rows: {' | '.join(map(str, table.columns))}{labels or ''}"
    elif kind in TEXTS:
        words = (node.value, *(getattr(proto, name, "") for name in WORDS))
        text = " · ".join(dict.fromkeys(word for word in map(str, words) if word))
        if kind == "html":
            text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
            text = re.sub(r"(\s*<[^>]*>\s*)+", " · ", text)[:MANY]
        yield from (f"{kind}: {line}" for line in text.split("\n") if line.strip())
    elif kind not in ("empty", "divider", "space"):
        yield f"{kind}: {getattr(proto, 'label', '')}"
    if text := getattr(proto, "help", ""):
        yield f"  help: {text}"


def _control(test, widget):
    """Its facts, and in a line of its own its value."""
    proto = widget.proto
    options = [getattr(each, "content", each) for each in getattr(proto, "options", [])]
    more = [f"options={_listed(options)}"] if options else []
    if hasattr(proto, "min") and not options:
        more = [f"from {proto.min:g} to {proto.max:g} step {proto.step:g} {proto.format}"]
    hidden = " (disabled)" if widget.disabled else ""
    yield f"{widget.type}: {proto.label}{hidden} key={widget.key} query={proto.query_param_key} {' '.join(more)}"
    metadata = test._session_state._state.get_widget_metadata(widget.id)
    yield f"  value of {widget.key}: {metadata.serializer(widget.value) if metadata else widget.value}"


def _listed(items):
    more = f" … {len(items)}" if len(items) > MOST else ""
    return f"{' | '.join(map(str, items[:MOST]))}{more}"


def _shape(data, path=""):
    """What a canvas is sent: words as they are, of numbers how many."""
    if isinstance(data, dict):
        names = [name for name in sorted(data) if name not in ("heard", "epoch")]
        alone = [name for name in names if isinstance(data[name], int | float) and not isinstance(data[name], bool)]
        if alone:
            yield f"{path} numbers: {' '.join(alone)}"
        for name in names:
            if name not in alone:
                yield from _shape(data[name], f"{path}.{name}")
    elif isinstance(data, list) and data and all(isinstance(each, str) for each in data):
        yield f"{path}: [{len(data)}] {_listed([_words(each) for each in data])}"
    elif isinstance(data, list) and data and all(isinstance(each, dict) for each in data):
        yield f"{path}: [{len(data)}] of"
        yield from dict.fromkeys(line for each in data[:MOST] for line in _shape(each, f"{path}[]"))
    elif isinstance(data, list):
        yield f"{path}: {_lengths(data)}"
    elif isinstance(data, str) and path.endswith(".book"):
        book = json.loads(data)
        last = [block for column in book.pop("frames")[-1] for block in column]
        yield from _shape({**book, "pool": None, "last step": last}, path)
    elif isinstance(data, str):
        yield f"{path}: {_words(data)}"
    else:
        yield f"{path}: {data if data is None or isinstance(data, bool) else 'number'}"


PACKED = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9+/])[A-Za-z0-9+/]{20,}={0,2}")


def _words(text):
    if text.startswith("data:"):
        return text.partition(",")[0]
    if len(text) > 80 and " " not in text[:80]:
        return f"{len(text)} characters"
    if PACKED.fullmatch(text):  # float32, of which the last digits are those of the processor
        return "packed numbers"
    return text if len(text) <= MANY else f"{text[:MANY]} …"


def _lengths(data):
    if not isinstance(data, list):
        return "words" if isinstance(data, str) else "keys" if isinstance(data, dict) else "numbers"
    inner = list(dict.fromkeys(map(_lengths, data)))
    return f"[{len(data)}] {inner[0] if len(inner) == 1 else '…' if inner else ''}".strip()


def _chart(key, proto):
    spec = json.loads(proto.spec)
    yield f"chart key={key} alt={proto.alt}"
    for trace in spec["data"]:
        yield f"  trace {trace.get('type')}: {trace.get('name', '')}"
    layout = spec.get("layout", {})
    for name, about in sorted(layout.items()):
        if name == "title" or re.fullmatch(r"[xyz]axis\d*", name):
            title = about.get("title") if name != "title" else about
            yield f"  {name}: {title.get('text', '') if isinstance(title, dict) else title or ''}"
    yield from (f"  note: {note.get('text', '')}" for note in layout.get("annotations", []))


# ---- files -----------------------------------------------------------------------------------------------------------
def _contents(data, suffix):
    """What is in a file that is offered: keys and shapes of arrays, heads of tables, words of drawings."""
    try:
        content = data() if callable(data) else data
    except (NotApplicable, TraceError, ReportError) as sentence:
        yield f"none: {sentence}"
        return
    content = content.read() if hasattr(content, "read") else content
    content = content.encode() if isinstance(content, str) else content
    yield from READERS.get(suffix, lambda content: [f"{len(content)} bytes"])(content)


def _npz(content):
    with np.load(io.BytesIO(content)) as arrays:
        for name in arrays:
            array = arrays[name]
            if name == "meta":
                record = json.loads(str(array))
                inner = record["shows"] if isinstance(record.get("shows"), dict) else {}
                yield f"meta {record.get('kind')}: {', '.join(sorted(record))}; {', '.join(sorted(inner))}"
            else:
                yield f"{name} {'×'.join(map(str, array.shape))} {re.sub(r'U[0-9]+', 'U', array.dtype.str)}"


def _csv(content):
    first, *rest = content.decode("utf-8-sig").splitlines()
    yield f"{len(rest)} rows: {first}"


def _svg(content):
    yield from (f"words: {words}" for words in re.findall(r"<text[^>]*>([^<]+)", content.decode()))


def _zip(content):
    yield from zipfile.ZipFile(io.BytesIO(content)).namelist()


def _size(content):
    try:
        return "×".join(map(str, Image.open(io.BytesIO(content)).size))
    except (OSError, TypeError):
        return "?"


READERS = {
    "npz": _npz,
    "csv": _csv,
    "svg": _svg,
    "zip": _zip,
    "png": lambda content: [f"size {_size(content)}"],
}
__all__ = ["facts", "sent_files", "steady"]
