"""The house rules that a linter does not know: short modules, private names that stay private, one step a model.

Which package may import which is the contract of import-linter in `pyproject.toml`, which `make lint` checks.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.config.settings import PROJECT_DIR

LONGEST_MODULE = 400
LONGEST_MODEL = 150
MODULES = sorted(
    file for folder in ("pipelines", "expectations", "tests") for file in (PROJECT_DIR / folder).rglob("*.py")
)
SHIPPED = [file for file in MODULES if "tests" not in file.relative_to(PROJECT_DIR).parts]
MODELS = sorted((PROJECT_DIR / "dbt_project" / "models").rglob("*.sql"))


def name(file: Path) -> str:
    return str(file.relative_to(PROJECT_DIR))


@pytest.mark.parametrize("file", SHIPPED, ids=name)
def test_a_long_module_says_why(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    assert len(text.splitlines()) <= LONGEST_MODULE or "It is long because" in docstring


@pytest.mark.parametrize("file", MODELS, ids=name)
def test_a_model_is_one_step(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODEL


def private_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("pipelines", "expectations"):
            yield from (alias.name for alias in node.names if alias.name.startswith("_"))


@pytest.mark.parametrize("file", MODULES, ids=name)
def test_private_names_are_not_imported(file: Path) -> None:
    assert list(private_imports(ast.parse(file.read_text(encoding="utf-8")))) == []


def test_an_import_of_a_private_name_is_found() -> None:
    assert list(private_imports(ast.parse("from pipelines.formats.records import _jsonl, parse"))) == ["_jsonl"]


@pytest.mark.parametrize("package", [file.parent for file in SHIPPED if file.name == "__init__.py"], ids=name)
def test_a_package_says_what_belongs_in_it(package: Path) -> None:
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
