"""What every view keeps to, as functions that give what breaks a rule. `test_contract.py` applies them to all views and
to toys that break them."""

import json
import re
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, wraps
from inspect import signature, unwrap
from itertools import chain, combinations

import numpy as np
import timm
import torch
from torch import nn

import vizkit
from tests.toys import Stranger
from tests.views import unusual
from vizkit.datasets import samples
from vizkit.datasets.builtin import BUILT_IN
from vizkit.from_json import ReportError, read
from vizkit.hosts.column import DRAWN
from vizkit.traces import NotApplicable
from vizkit.views.address import from_address, to_address
from vizkit.views.blocks import (
    Block,
    Canvas,
    Chart,
    Columns,
    Folded,
    Grid,
    Later,
    Line,
    Map,
    Numbers,
    Part,
    Said,
    Table,
    Tiles,
)
from vizkit.views.controls import checked, controls, options
from vizkit.views.subject import Subject, no_model
from vizkit.views.view import View

MODELS = {
    "digits_vit": "digit 3",
    "windows": "digit 3",
    "digits_cnn": "digit 3",
    "two_heads": "mayfly nymph",
    "stranger": "mayfly nymph",
}
"""One of each kind, and a picture for it."""
TRAINED = {"insects_deit": "mayfly nymph"}
"""Instead of `two_heads` where a view is about how models are trained."""
FITTING = {"coarser-tokens": "digits_dual"}
"""Of views that none of those has a meaning for, a model that has."""
NO_MODEL = {"a digit": "digit 3", "an insect": "mayfly nymph"}
"""What stands for a model where a view reads none: pages give it none either."""
PICTURES = (
    MODELS
    | TRAINED
    | NO_MODEL
    | {
        "digits_swin": "digit 3",
        "digits_dual": "digit 3",
        "digits_gradual": "digit 3",
        "tnt_s_patch16_224": "mayfly nymph",
    }
    | dict.fromkeys(unusual.UNUSUAL, "mayfly nymph")
)
ASKS = "click|press|hover|drag|tap|choose|point at|evaluate|untick|type"
CONTROL = re.compile(rf"(?:^|[.:;] )(?i:{ASKS}) |\b(?:slider|sidebar|button|cursor)\b")
PROGRAM = re.compile(r"\b(None|True|False|(?i:nan|inf))\b|\w:\w+=|tensor\(|array\(| at 0x|\{\w*\}|\*\*|__|dtype")
MOST_NAMED = 6
FEW = 6  # pictures
OWN = {name for name, each in signature(vizkit.show).parameters.items() if each.kind is not each.VAR_KEYWORD}


def few_pictures(patch, most=FEW):
    """Of sets that views ask models about: no rule depends on how many there are."""
    for module in BUILT_IN.values():
        patch.setattr(module, "open_split", _few(unwrap(module.open_split), most))


def _few(open_split, most):
    @wraps(open_split)
    def few(*given, images=None, **named):
        return open_split(*given, images=min(images or most, most), **named)

    return few


def two_heads():
    """A DeiT, for everything: a class and a distillation token, 6 × 6 patches."""
    sizes = {"img_size": 48, "patch_size": 8, "embed_dim": 48, "depth": 4, "num_heads": 3, "num_classes": 3}
    return timm.create_model("deit_tiny_distilled_patch16_224", pretrained=False, **sizes)


def windows():
    """A Swin, for everything: two stages of 6 × 6 and 3 × 3 places, in windows of 3 × 3 that shift."""
    sizes = {"img_size": 24, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 3), "window_size": 3, "num_classes": 3}
    return timm.create_model("swin_tiny_patch4_window7_224", pretrained=False, **sizes)


OWN_MODULES = {"stranger": Stranger, "two_heads": two_heads, "windows": windows}
BESIDE = {"windows": "two_heads", "digits_swin": "digits_vit"}
"""What a view of several models at once is given beside one of them."""


@cache
def model(name):
    if name in unusual.UNUSUAL:
        return unusual.opened(name)
    if name.startswith("tnt"):
        return vizkit.load(name, pretrained=False)
    if name not in OWN_MODULES:
        return vizkit.load(f"bundled:{name}")
    with torch.random.fork_rng():
        torch.manual_seed(4)
        module = OWN_MODULES[name]()
        for weights in module.parameters() if name != "stranger" else ():
            nn.init.normal_(weights, std=0.2)  # as large as trained ones: at timm's nothing depends on the picture
        size_hw = (24, 24) if name == "windows" else (48, 48)
        return vizkit.wrap(module, size_hw=size_hw, labels=["nymph", "larva", "beetle"])


def subject(name):
    """Fresh: nothing has been computed of it."""
    if name in NO_MODEL:
        return Subject(no_model, samples.picture(NO_MODEL[name]), image=NO_MODEL[name])
    loaded = model(name)
    return Subject(lambda: loaded, samples.picture(PICTURES[name]), image=PICTURES[name])


def subjects_of(entry):
    """The names of those that a view can tell apart by what it reads."""
    if entry.reads == "models" and not entry.needs:  # it marks them in what is recorded
        return ["digits_vit", "stranger"]
    if "models" in entry.reads:
        models = {**MODELS, **TRAINED} if entry.page == "distillation" else MODELS
        return [*models, *([FITTING[entry.name]] if entry.name in FITTING else [])]
    return [*NO_MODEL][: 2 if "picture" in entry.reads else 1]


def given(view, of):
    """What `show` takes: the subject, or several of its picture."""
    if not view.together:
        return of
    name = of.loaded.name.removeprefix("bundled:") if of.has_model else ""
    if name in BESIDE and not of.beside:
        other = subject(BESIDE[name])
        of.beside, other.beside = (other,), (of,)
    return [of, *of.beside]


# ---- settings --------------------------------------------------------------------------------------------------------
def values(control, of):
    """Each option, or the ends of what is allowed; of very many classes, which run the model again, a few."""
    if control.kind in ("number", "layer", "head"):
        low, high = control.ends(of)
        return [low, high] if low <= high else [low]
    if control.kind == "switch":
        return [False, True]
    if control.kind == "folder":
        return [""]
    if control.kind == "text":
        return ["", "a word"]
    known = options(control, of)
    if callable(control.options) and control.runs and len(known) > MOST_NAMED:  # as many as a model has classes
        known = [*known[:2], known[-1]]
    if control.kind == "several":
        return [(), (known[0],), tuple(known)]
    return [*known, (0, 0)] if control.kind == "query" else known or [None]  # None: these models leave no choice


def settings(cls, of, every=True):
    """(the field that is changed, "" for none; the view): one field at a time, where it is asked. `every`: of each all
    its values, else the last that is not the usual one."""
    usual = cls()
    yield "", usual
    for name, control in controls(cls).items():
        if control.kind == "folder":  # of those at hand; here there is none
            continue
        others = values(control, [of])
        for value in others if every else [each for each in others if each != getattr(usual, name)][-1:]:
            base = usual if control.when is None or control.when(usual) else _asking(cls, name, of)
            if base is not None:
                yield name, replace(base, **{name: value})


def _asking(cls, name, of):
    """A view of which this field is asked, with one other setting or two; None where this model leaves no choice that
    asks it."""
    asked = controls(cls)
    changes = [{other: value} for other, control in asked.items() if other != name for value in values(control, [of])]
    every = chain(changes, (one | two for one, two in combinations(changes, 2)))
    return next((view for change in every if asked[name].when(view := replace(cls(), **change))), None)


# ---- what is seen ----------------------------------------------------------------------------------------------------
@dataclass
class Seen:
    """What a view shows of one model as it is set; `of`: what it is given. `calls`: of layers of the model, for it."""

    changed: str
    view: View
    of: Subject
    blocks: Sequence
    arrays: Sequence[dict]
    refusal: Exception | None
    calls: int

    def __str__(self):
        return f"{self.view}"


@contextmanager
def counted(of):
    """A list that grows with every call of a layer of its model: recording does not call the network as a whole."""
    calls = []
    parts = of.loaded.model.modules() if of.has_model else ()
    handles = [part.register_forward_pre_hook(lambda *_: calls.append(1)) for part in parts]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def everything(blocks):
    """All blocks, also those inside of others and what is folded."""
    for block in blocks:
        yield block
        if isinstance(block, Columns):
            yield from (inner for part in block.parts for inner in everything(part))
        elif isinstance(block, Part | Folded):
            yield from everything(block.make())
        elif isinstance(block, Later):
            list(everything(block.show({})))  # as a page draws it before anything is there
            yield from everything(block.now())
        elif isinstance(block, Canvas):
            yield from everything(block.still)


def seen(cls, of, every=True):
    """As it is usual and with each setting changed, of one subject: a later one finds what the first has computed.
    `every`: to all that it can be, else to one other."""
    found = []
    with counted(of) as before:  # what can be chosen may depend on what the model does
        try:
            variants = list(settings(cls, of, every))
        except NotApplicable as sentence:
            return [Seen("", cls(), of, [], [], sentence, 0)]
    for changed, view in variants:
        blocks, arrays, refusal = [], [], None
        with counted(of) as calls:
            try:
                view = checked(view, [of])
                shown = given(view, of)
                blocks = list(everything(view.show(shown)))
                arrays = [block.arrays() for block in blocks if isinstance(block, Numbers)]
                view.title(shown)
            except Exception as error:  # which it is, is for a rule to say
                refusal = error
        ran = len(calls) + (0 if found else len(before))
        found.append(Seen(changed, view, of, blocks, arrays, refusal, ran))
    return found


def texts(block):
    """What people read of a block; of a formula nothing."""
    words = ("text", "title", "alt", "caption", "label", "quantity", "said", "button", "name", "note", "more")
    yield from (value for name in words if isinstance(value := getattr(block, name, None), str))
    if isinstance(block, Map):
        yield from (str(part) for bar in block.bars for part in bar)
    if isinstance(block, Tiles):
        yield from (text for tile in block.maps for text in texts(tile))
    if isinstance(block, Grid):
        yield from (text for tile in (*block.rows, *(each for each, _ in block.cells)) for text in texts(tile))
    if isinstance(block, Table):
        yield from (str(part) for row in block.rows for cell in row.items() for part in cell if part is not None)
    if isinstance(block, Later):
        yield from (job.words for job in block.jobs)
    if isinstance(block, Chart):
        layout = block.figure.layout
        yield from filter(None, (layout.title.text, layout.xaxis.title.text, layout.yaxis.title.text))


# ---- rules: each gives what breaks it --------------------------------------------------------------------------------
def not_blocks(found):
    """Only blocks, which hosts can draw."""
    known = {*DRAWN, Columns, Part, Later}
    return [
        f"{one}: {block!r}"
        for one in found
        for block in one.blocks
        if not isinstance(block, Block) or type(block) not in known
    ]


def not_whole(found):
    """A logarithmic axis says whole numbers: plotly by itself writes 5 beside 50."""
    charts = ((one, block.figure.layout) for one in found for block in one.blocks if isinstance(block, Chart))
    axes = ((one, axis) for one, layout in charts for axis in (layout.xaxis, layout.yaxis) if axis.type == "log")
    return [f"{one}: {axis.title.text}" for one, axis in axes if not (axis.tickvals or axis.tickformat or axis.dtick)]


def raw(view):
    """Markup in how a view is read, which a file would show as it is."""
    return re.findall(r"\$|`|\*\*|\\\\", " ".join((view.how.read, view.how.not_shown, view.how.source)))


def not_plain(found):
    """Texts are words, not what programs write."""
    every = ((one, text) for one in found for block in one.blocks for text in texts(block))
    return [f"{one}: {text}" for one, text in every if PROGRAM.search(text) or "\n" in text]


def of_controls(found):
    """What can be done on a page is a `Hint`: on paper nobody can press anything."""
    every = (
        (one, text) for one in found for block in one.blocks if isinstance(block, Line | Said) for text in texts(block)
    )
    return [f"{one}: {text}" for one, text in every if CONTROL.search(text)]


def of_another(found):
    """What is computed later, or drawn on an image, is of what the view is given: a page finds it there."""
    return [
        f"{one}: {type(block).__name__}"
        for one in found
        for block in one.blocks
        if isinstance(block, Later | Canvas) and block.of is not None and block.of is not one.of
    ]


def not_refused(found):
    """What has no meaning for a model is NotApplicable with one sentence; nothing else is raised."""
    sentence = re.compile(r"[^\n]*\w[^\n]*\.")
    return [
        f"{one}: {one.refusal!r}"
        for one in found
        if one.refusal is not None
        and not (
            type(one.refusal) is NotApplicable
            and sentence.fullmatch(str(one.refusal))
            and not re.search(r"[.!?] [A-Z]", str(one.refusal))
        )
    ]


def not_finite(found):
    return [
        f"{one}: {name}"
        for one in found
        for each in one.arrays
        for name, array in each.items()
        if np.asarray(array).dtype.kind in "fc" and not np.isfinite(array).all()
    ]


SUBJECTS = ("shows", "part", "as_it_is")
"""What says of a view what it is about: others have other numbers."""


def about(view):
    return tuple(getattr(view, name, None) for name in SUBJECTS)


def other_keys(found):
    """A setting changes no name of an array, but one of SUBJECTS, and no name is there twice."""
    first = {}
    drawn = [one for one in found if one.refusal is None]
    every = [[name for each in one.arrays for name in each] for one in drawn]
    return [
        f"{one}: {names}"
        for one, names in zip(drawn, every, strict=True)
        if set(names) != first.setdefault(about(one.view), set(names)) or len(names) != len(set(names))
    ]


def not_read_back(found):
    """The record is its JSON."""
    return [str(one) for one in found if one.refusal is None and not _same(one.view)]


def _same(view):
    try:
        return read(type(view), json.loads(json.dumps(asdict(view)))) == view
    except (ReportError, TypeError):
        return False


def not_its_address(found):
    """The settings are their address."""
    return [
        str(one)
        for one in found
        if one.refusal is None and from_address(type(one.view), to_address(one.view)) != one.view
    ]


def runs_the_model(found):
    """Another setting is answered by what has been computed, unless its field says that it runs the model."""
    first, *others = found
    free = {name for name, control in controls(first.view).items() if not control.runs}
    return [f"{one}: {one.calls} calls" for one in others if one.changed in free and one.calls]


def not_the_same_twice(first, of):
    """The numbers of another run, from the beginning, are equal to the last bit."""
    if first.refusal is not None:
        return []
    blocks = everything(type(first.view)().show(given(first.view, of)))
    again = [block.arrays() for block in blocks if isinstance(block, Numbers)]
    both = zip(first.arrays, again, strict=True)
    return [
        name
        for one, other in both
        for name in one
        if np.asarray(one[name]).tobytes() != np.asarray(other[name]).tobytes()
    ]


def taken_names(cls):
    """Of fields that `vizkit.show` has itself."""
    return {*controls(cls)} & OWN
