"""Single small changes to a module's source, as code that can be put into the functions of a running process.

Comparisons, arithmetic, `and` and `or`, negations, conditions, constants, arguments left out, ends of slices left out,
min for max and the like, statements left out. Annotations, docstrings, f-strings, `__all__` and what errors say stay.
"""

import ast
import copy
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType

SWAPPED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Mult,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
NAMES = {"max": "min", "min": "max", "any": "all", "all": "any", "argmax": "argmin", "sum": "mean", "mean": "sum"}
HEADS = {
    ast.If: ("if", "test"),
    ast.While: ("while", "test"),
    ast.For: ("for in", "iter"),
    ast.FunctionDef: ("def", "args"),
}


@dataclass(frozen=True)
class Mutant:
    """`statement`: what a statement of `function`, or of the module where that is empty, has become."""

    function: str
    line: int
    statement: str
    code: CodeType
    defaults: tuple | None = None  # of the function's arguments

    def __str__(self) -> str:
        return f"{self.function or 'module'}: {self.statement}"

    def install(self, module: ModuleType, functions: list[FunctionType]) -> None:
        """Change the living functions, whatever wraps them; a constant only where its own module reads it."""
        if not self.function:
            exec(self.code, vars(module))
            return
        code = next(each for each in inside(self.code) if each.co_qualname == self.function)
        for each in functions:
            if each.__code__.co_qualname == self.function:
                each.__code__ = code
                each.__defaults__, each.__kwdefaults__ = self.defaults or (each.__defaults__, each.__kwdefaults__)


def living(path: str) -> list[FunctionType]:
    """The functions of a file that are loaded."""
    functions = (each for each in gc.get_objects() if type(each) is FunctionType)  # no proxy that warns
    return [each for each in functions if each.__code__.co_filename == path]


def inside(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from inside(each)


def mutants(source: str) -> Iterator[Mutant]:
    tree = ast.parse(source)
    for part in tree.body:
        constant = isinstance(part, ast.Assign) and not isinstance(part.value, ast.Subscript)  # no name of a type
        if constant and ast.unparse(part.targets[0]) != "__all__":
            for line, statement in changed(part, part):
                yield Mutant("", line, statement, compile(ast.Module([part], []), "mutant", "exec"))
        for function in part.body if isinstance(part, ast.ClassDef) else [part]:
            if isinstance(function, ast.FunctionDef):
                name = f"{part.name}.{function.name}" if function is not part else function.name
                for line, statement in changed(function, function):
                    yield Mutant(name, line, statement, compile(tree, "mutant", "exec"), defaults(function))


def defaults(function: ast.FunctionDef) -> tuple | None:
    """(by place, by keyword), where all of them are constants."""
    given = function.args
    named = {arg.arg: value for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
    try:
        return tuple(map(ast.literal_eval, given.defaults)), {k: ast.literal_eval(v) for k, v in named.items()}
    except ValueError:
        return None


def changed(node: ast.AST, statement: ast.AST) -> Iterator[tuple[int, str]]:
    """Change what lies below a node, one thing at a time and back again; gives the statement as it then reads."""
    if isinstance(node, ast.stmt):
        statement = node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "format_spec"):
            continue
        for place in range(len(value)) if isinstance(value, list) else (None,):
            child = value if place is None else value[place]
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.JoinedStr) or is_strict(child):
                continue
            for other in others(child, node):
                put(node, field, place, other)
                gone = isinstance(other, ast.Pass)
                yield (
                    child.lineno if isinstance(child, ast.stmt) else statement.lineno,
                    (f"without {head(child)}" if gone else head(other if isinstance(child, ast.stmt) else statement)),
                )
                put(node, field, place, child)
            yield from changed(child, statement)


def is_strict(node: ast.AST) -> bool:
    """zip's assertion, which a right program never meets."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def put(node: ast.AST, field: str, place: int | None, value: ast.AST) -> None:
    if place is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[place] = value
    ast.fix_missing_locations(node)


def head(node: ast.AST) -> str:
    if isinstance(node, ast.With):
        return f"with {', '.join(map(ast.unparse, node.items))}"
    word, field = HEADS.get(type(node), ("", ""))
    return f"{word} {ast.unparse(getattr(node, field))}" if word else ast.unparse(node)


def others(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of a node."""

    def but(**fields: object) -> ast.AST:
        other = copy.copy(node)
        vars(other).update(fields)
        return other

    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield but(ops=[*ops[:i], SWAPPED[type(op)](), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            yield but(op=SWAPPED[type(op)]())
        case ast.UnaryOp(operand=operand) if not isinstance(operand, ast.Constant):  # −1 becomes −2 below
            yield operand
        case ast.BoolOp(op=op, values=values):
            yield but(op=SWAPPED[type(op)]())
            for i in range(len(values)):
                rest = values[:i] + values[i + 1 :]
                yield but(values=rest) if len(rest) > 1 else rest[0]
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Constant(value=bool(value)):
            yield but(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield but(value=value + 1)
        case ast.Constant(value=str(value)) if not isinstance(parent, ast.Expr):
            yield but(value=f"XX{value}")
        case ast.Call(args=args, keywords=keywords):
            if len(args) > 1:
                yield but(args=args[:-1])
            for i, keyword in enumerate(keywords):
                if not is_strict(keyword):
                    yield but(keywords=keywords[:i] + keywords[i + 1 :])
        case ast.Name(id=name) if name in NAMES:
            yield but(id=NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield but(attr=NAMES[name])
        case ast.comprehension(ifs=ifs):
            for i in range(len(ifs)):
                yield but(ifs=ifs[:i] + ifs[i + 1 :])
        case ast.Slice(lower=lower, upper=upper):
            yield from ([but(lower=None)] if lower else []) + ([but(upper=None)] if upper else [])
        case ast.Break() | ast.Continue():
            yield SWAPPED[type(node)]()
    if (
        isinstance(parent, ast.If | ast.While)
        and node is parent.test
        and not isinstance(node, ast.Compare | ast.UnaryOp)
    ):
        yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(value)):
                yield ast.Pass()  # without the change of what is there already
