"""Nothing of CKAN, ckanext-harvest or a library is replaced while it runs; nothing private is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent

MEANT_TO_BE_SET = (
    *("tk.g.", "parser.EntityDeclHandler", "parser.StartElementHandler"),
    "rdflib.NORMALIZE_LITERALS",
)
"""Attributes by which Flask keeps values of a request, expat calls handlers, and rdflib is configured."""


def offences(path: str, source: str) -> Iterator[str]:
    """Return where a file replaces something of others, or imports something private of them.

    Types are not known here. Therefore a function may only be stored in an attribute of ``self``. Ruff finds
    private attributes (SLF001).
    """
    tree = ast.parse(source)
    imported, functions = set(_imported(tree)), set(_functions(tree))
    for node in ast.walk(tree):
        for target, value in _assignments(node):
            owner = _root(target)
            replaces = isinstance(value, ast.Lambda) or (
                isinstance(value, ast.Name) and value.id in functions
            )
            name = ast.unparse(target)
            is_ours = owner == "self" or name.startswith(MEANT_TO_BE_SET)
            if (owner in imported or replaces) and not is_ours:
                yield f"{path}:{target.lineno} replaces {name}"
        if isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                private = [*(node.module or "").split("."), alias.name]
                if any(map(_is_private, private)) and alias.name != "_Hash":
                    yield f"{path}:{node.lineno} imports the private {'.'.join(private)}"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name.strip("_") != ""


def _root(node: ast.expr) -> str | None:
    """Return the name at the beginning of a dotted one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _imported(tree: ast.Module) -> Iterator[str]:
    """Return the names of modules and of other things that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0]


def _functions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def _assignments(node: ast.AST) -> Iterator[tuple[ast.Attribute, ast.expr | None]]:
    """Return the attributes that a statement sets or deletes, each with its value."""
    if isinstance(node, ast.Assign | ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                yield target, getattr(node, "value", None)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Attribute):
        yield node.target, node.value
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
        attribute = ast.Attribute(node.args[0], ast.unparse(node.args[1]), ast.Store())
        ast.copy_location(attribute, node)
        yield attribute, node.args[2] if len(node.args) > 2 else None


def test_nothing_of_others_is_replaced() -> None:
    files = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if not {"tests", "migration"} & set(path.relative_to(PACKAGE).parts)
    ]
    found = [
        offence
        for path in files
        for offence in offences(str(path.relative_to(PACKAGE)), path.read_text(encoding="utf-8"))
    ]
    assert found == []
