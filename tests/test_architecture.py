"""The house's rules, as far as a test can see them: arrows, sizes, where SQL stands, how many broad catches there are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.code_lines import PACKAGES, ROOT, is_generated

PRODUCT = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if not is_generated(path) and "data" not in path.relative_to(ROOT).parts
)
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# Where a broad catch is right: a source's failure becomes a report, a failed call becomes a status (gRPC would send the error's
# text to the caller), a long-lived task is restarted, a job's failure becomes its outcome, a receipt that cannot be made costs no
# other, an item that cannot be fitted falls by itself.
BROAD_CATCHES = {
    "compiler/job/compilation.py": 1,
    "compiler/job/worker.py": 1,
    "sidecar/context/fan_out.py": 1,
    "sidecar/context/receipt_writer.py": 1,
    "sidecar/rpc/transport/status.py": 1,
    "sidecar/runtime/supervisor.py": 1,
    "sidecar/turn/usable.py": 1,
}


# Modules in a folder: a stranger reads the list of a room at one glance.
MAX_MODULES = 15

# Packages that are heavy or optional, and our modules that load one: they may be imported where they are used.
HEAVY = {"boto3", "botocore", "httpx", "mcp", "onnxruntime", "resource", "rich", "tiktoken", "uvloop"}
HEAVY_MODULES = {
    "compiler.state.substrates",
    "models.embedding.minilm",
    "models.embedding.multilingual",
    "models.embedding.openai_embedding",
    "models.embedding.titan",
    "models.language.bedrock",
    "models.language.openai_compatible",
    "sidecar.runtime.openai_server",
    "sidecar.backends.aws",
    "sidecar.backends.mcp_servers.mcp_tools",
    "sidecar.ingest.documents.pdf",
    "sidecar.runtime.bedrock",
    "sidecar.services.forgetting.agentcore_forgetting",
    "sidecar.services.forgetting.hindsight_forgetting",
    "sidecar.sources.backend_sources",
    "sidecar.sources.tools",
    "sidecar.worker.agentcore_feed",
    "sidecar.worker.hindsight_feed",
}

# Tests that need programs of other people's, run by hand; and the two helpers that may sleep: the one that waits for a condition,
# and a clock that jumps, on which a sleep takes no time.
OUTSIDE = {"browser", "interop", "llm", "servers"}
MAY_SLEEP = {"tests/support/models/remote_calls.py", "tests/support/waiting.py"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """Return the file's syntax tree, parsed once for all rules."""
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of the file's tree that the rules are about, walked once for all rules."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ExceptHandler | ast.Constant | ast.Import | ast.ImportFrom
    return tuple(node for node in ast.walk(tree(path)) if isinstance(node, kinds))


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """Drop the trees with the last test of this module."""
    yield
    tree.cache_clear()
    nodes.cache_clear()


def test_the_arrows_point_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_files_and_functions_stay_short() -> None:
    assert not [name(path) for path in PRODUCT if path.read_text().count("\n") > MAX_FILE_LINES]
    long = [
        f"{name(path)}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in PRODUCT
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert not long


def test_broad_catches_stand_only_where_the_house_has_them() -> None:
    found = {name(path): count for path in PRODUCT if (count := sum(1 for _ in _broad_catches(path)))}
    assert found == BROAD_CATCHES


def _broad_catches(path: Path) -> Iterator[ast.ExceptHandler]:
    for node in nodes(path):
        if isinstance(node, ast.ExceptHandler) and (
            node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"}
        ):
            yield node


def test_sql_stands_in_sql_files() -> None:
    statement = re.compile(r"\b(SELECT\b.+\bFROM|INSERT INTO|UPDATE\b.+\bSET|DELETE FROM)\b", re.DOTALL)
    assert not [(name(path), text) for path in PRODUCT for text in _texts(path) if statement.search(text)]


def _texts(path: Path) -> Iterator[str]:
    """Yield the file's string literals of one line; prose in docstrings may name statements."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value.strip():
            yield node.value


def test_every_store_module_with_queries_has_its_twin() -> None:
    for path in (ROOT / "store").rglob("*.py"):
        if "queries.load(__file__)" in path.read_text():
            assert path.with_suffix(".sql").exists(), name(path)


def test_every_test_file_has_a_name_of_its_own() -> None:
    """Two of one name are one module to pytest: the second would not be collected."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_tests_are_in_folders_named_as_the_products() -> None:
    folders = {folder for path in PRODUCT for folder in path.relative_to(ROOT).parents} | {Path("project")}
    rooms = folders | {folder.relative_to("sidecar") for folder in folders if folder.is_relative_to("sidecar")}
    for kind in ("unit", "properties", "contract", "integration", "acceptance"):
        for path in (ROOT / "tests" / kind).rglob("*.py"):
            inner = path.relative_to(ROOT / "tests" / kind)
            is_test_in_room = path.name.startswith("test_") and inner.parts[:-1] and inner.parent in rooms
            assert is_test_in_room or path.name == "conftest.py", (
                f"{name(path)}: tests stand in rooms of the product, helpers in tests/support"
            )


def test_generated_input_is_where_its_examples_are_counted() -> None:
    """Only these folders set how many examples a property gets; elsewhere it would be a hundred, other ones in each run."""
    counted = {"acceptance", "properties", "support"}
    for path in (ROOT / "tests").rglob("*.py"):
        if re.search(r"^(from|import) hypothesis", path.read_text(), re.MULTILINE):
            assert path.relative_to(ROOT / "tests").parts[0] in counted, f"{name(path)}: move it to tests/properties"


def test_imports_of_test_modules_name_a_file() -> None:
    for folder in ("tests", "bench"):
        for path in (ROOT / folder).rglob("*.py"):
            for module in re.findall(r"^\s*from (tests[.\w]*) import", path.read_text(), re.MULTILINE):
                stem = ROOT / module.replace(".", "/")
                assert stem.with_suffix(".py").is_file() or stem.is_dir(), f"{name(path)} imports {module}"


def test_no_file_names_a_package_index_or_this_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for line in listed:
        path = ROOT / line
        if path.suffix in {".pyc", ".binpb"} or not path.is_file():
            continue
        text = path.read_text(errors="replace")
        assert not re.search(r"--(extra-)?index-url|\"resolved\": ?\"http", text) or line == name(Path(__file__)), line


def test_folders_hold_few_modules() -> None:
    others = [path for folder in ("bench", "tests") for path in (ROOT / folder).rglob("*.py")]
    folders = Counter(name(path.parent) for path in (*PRODUCT, *others) if path.name != "__init__.py")
    assert not {folder for folder, count in folders.items() if count > MAX_MODULES}


def test_public_classes_bear_a_name_of_their_own() -> None:
    """The client's values bear the contract's names, which is what its users look for."""
    names = Counter(
        node.name
        for path in PRODUCT
        if path.relative_to(ROOT).parts[:2] != ("sidecar", "client")
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not {one for one, count in names.items() if count > 1}


def test_only_heavy_packages_are_imported_late() -> None:
    late = {one for path in PRODUCT for one in _late_imports(path)}
    assert {one for one in late if one.partition(".")[0] not in HEAVY} == HEAVY_MODULES


def _late_imports(path: Path) -> Iterator[str]:
    """Yield the modules that functions of the file import."""
    functions = [one for one in nodes(path) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in nodes(path):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if not any(one.lineno <= node.lineno <= (one.end_lineno or 0) for one in functions):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (one if _is_module(one) else node.module for one in inner)


def _is_module(dotted: str) -> bool:
    return (ROOT / dotted.replace(".", "/")).with_suffix(".py").exists()


def test_rpc_and_http_open_no_transaction_and_import_no_query() -> None:
    """The rpc and http rooms may import values, constants and errors of the store, never a module of queries or a pool."""
    files = [path for path in PRODUCT if path.relative_to(ROOT).parts[:2] in {("sidecar", "rpc"), ("sidecar", "http")}]
    assert not {name(path) for path in files if any(_queries(path))}


def _queries(path: Path) -> Iterator[str]:
    """Yield the store's modules, and the names of its pools, that the file imports."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "store":
            for alias in node.names:
                imported = f"{node.module}.{alias.name}"
                if node.module == "store.db.postgres" or (imported != "store.errors" and _is_module(imported)):
                    yield imported


def test_sources_import_no_other_source() -> None:
    """Only the modules that combine sources may import them; `composite` is a helper of all."""
    combining = {"backend_sources.py", "registry.py"}
    sibling = re.compile(r"^\s*(?:from|import) ((?:sidecar\.sources|\.).*)", re.MULTILINE)
    for path in (ROOT / "sidecar" / "sources").glob("*.py"):
        if path.name not in combining:
            imports = sibling.findall(path.read_text())
            assert all(one.startswith("sidecar.sources.composite import") for one in imports), name(path)


def test_tests_wait_by_condition_and_patch_none_of_our_modules() -> None:
    """A sleep guesses how long something takes; a patched module is not the product."""
    sleeps = re.compile(r"\b(asyncio|time)\.sleep\(|from (asyncio|time) import .*\bsleep\b")
    patches = re.compile(r"\bmock\b|\bsetattr\(\s*(\"(\w+)|(\w+))")
    for path in (ROOT / "tests").rglob("*.py"):
        if path == Path(__file__) or path.relative_to(ROOT).parts[1] in OUTSIDE:
            continue
        text = path.read_text()
        assert name(path) in MAY_SLEEP or not sleeps.search(text), f"{name(path)}: use tests/support/waiting.py"
        for found in patches.finditer(text):
            patched = found[2] or found[3] or "mock"
            assert patched not in _ours(text) | {"mock"}, f"{name(path)} patches {patched}: give it an argument"


def _ours(text: str) -> set[str]:
    """Return the names that a file imports from our packages, and the packages themselves."""
    return set(PACKAGES) | {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in PACKAGES
        for alias in node.names
    }
