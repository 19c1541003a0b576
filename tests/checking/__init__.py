"""Every function of vizkit checks its annotations while the tests run, shapes of arrays included.

jaxtyping's own import hook binds the arguments of every call, checks them twice where a result is annotated, and
generates two checkers for each function: measured, a third of the suite. Here beartype checks a call once, and the
axes of arrays are bound in a context of jaxtyping's only where annotations name arrays.
"""

import ast
import functools
import importlib.util
import inspect
import marshal
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import ForwardRef, Literal, get_args, get_origin

from beartype import beartype
from jaxtyping import AbstractArray, jaxtyped

__all__ = ["checked", "install"]

_DECORATOR = "__checked__"


def install(package):
    """Instrument all modules of a package that are imported from now on."""
    if package in sys.modules:
        raise RuntimeError(f"{package} is imported already, so that its functions would not be checked.")
    sys.meta_path.insert(0, _Finder(package))


def checked(thing):
    """A function that checks its annotations at every call; of a dataclass, its `__init__` does."""
    if isinstance(thing, type):
        if "__dataclass_fields__" in vars(thing) and "__init__" in vars(thing):
            thing.__init__ = checked(thing.__init__)
        return thing
    parts = [part for annotation in thing.__annotations__.values() for part in _parts(annotation)]
    arrays = [part for part in parts if isinstance(part, type) and issubclass(part, AbstractArray)]
    if _left_to_jaxtyping(thing, parts, arrays):
        return jaxtyped(thing, typechecker=beartype)
    return _at_first_call(thing, bool(arrays))


def _at_first_call(function, arrays):
    """Checked from its first call on: most functions are never called in one process, and to write the checks of all
    took half of its start."""
    checking = None

    @functools.wraps(function)
    def called(*args, **kwargs):
        __tracebackhide__ = True
        nonlocal checking
        if checking is None:
            checking = _with_axes(beartype(function)) if arrays else beartype(function)
        return checking(*args, **kwargs)

    return called


def _parts(annotation):
    """An annotation and the types inside its brackets."""
    yield annotation
    inside = annotation if isinstance(annotation, list) else get_args(annotation)
    for inner in () if get_origin(annotation) is Literal else inside:
        yield from _parts(inner)


def _left_to_jaxtyping(function, parts, arrays):
    """Where names are not known yet, items are checked as they come, or axes are computed from arguments."""
    unknown = any(isinstance(part, str | ForwardRef) for part in parts)
    return unknown or inspect.isgeneratorfunction(function) or any("{" in array.dim_str for array in arrays)


def _with_axes(function):
    """The same function, each call of which binds its own axes."""

    @functools.wraps(function)
    def in_context(*args, **kwargs):
        __tracebackhide__ = True
        with jaxtyped("context"):
            return function(*args, **kwargs)

    return in_context


class _Finder:
    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None) -> ModuleSpec | None:
        if name.partition(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Compiles with decorators, and keeps what it compiled beside Python's own, by the content of the source."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        source = self.get_data(path)
        digest = importlib.util.source_hash(source + Path(__file__).read_bytes())
        kept = Path(importlib.util.cache_from_source(path, optimization="checked"))
        if kept.is_file() and (data := kept.read_bytes())[: len(digest)] == digest:
            return marshal.loads(data[len(digest) :])
        code = self.source_to_code(source, path)
        self.set_data(str(kept), digest + marshal.dumps(code))
        return code

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = _Decorating().visit(ast.parse(data, path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True, optimize=_optimize)

    def exec_module(self, module):
        vars(module)[_DECORATOR] = checked
        super().exec_module(module)


class _Decorating(ast.NodeTransformer):
    """Functions are checked inside their other decorators, classes outside: `@dataclass` writes `__init__` first."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.decorator_list.append(_decorator(node))
        return node

    def visit_ClassDef(self, node):
        self.generic_visit(node)
        node.decorator_list.insert(0, _decorator(node))
        return node


def _decorator(node):
    return ast.copy_location(ast.Name(_DECORATOR, ast.Load()), node)
