"""The shape of the house: which module may import which, who may import Streamlit and Plotly, what lies at the top."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Module or package of fastmode -> what it may import from fastmode. A package's own modules may import each other.
# A new module gets a row here first: that is where its place in the house is decided.
BASE = {"catalog", "i18n", "units"}
PARTS = BASE | {"scenario", "serving", "economics", "quality", "productivity"}
SPINE = PARTS | {"link", "option_table", "side", "evaluate", "uncertainty", "ranges"}
MACHINES = {"bus", "frontier", "first_token", "memory_tiers", "roofline", "series", "parts", "power", "two_ways"}
TIERS = {"comparison", "endpoint_map"}
VIEWS = SPINE | MACHINES | TIERS | {"sweep", "strategies", "mechanisms", "explain", "explain_text", "ab_test", "predict", "productivity_csv", "trade", "team", "flips", "quality_check"}
WORDS = {"format", "verdict", "cards", "slo", "feasible", "together", "picture"}
MODEL = VIEWS | WORDS | {"calibration", "validation", "validation_sram", "claims", "field_trials"}
ALLOWED = {
    "fastmode": set(),
    "i18n": set(),
    "units": set(),
    "catalog_schema": {"i18n"},
    "catalog_tables": {"catalog_schema"},
    "catalog_measured": {"catalog_schema"},
    "catalog_people": {"catalog_schema"},
    "catalog": {"i18n", "catalog_schema", "catalog_tables", "catalog_measured", "catalog_people"},
    "format": {"i18n"},
    "field": {"i18n", "format"},
    "scenario": BASE | {"field"},
    "link": BASE | {"scenario", "ranges"},
    "serving": BASE,
    "economics": BASE | {"serving"},
    "quality": BASE,
    "productivity": BASE,
    "csv_file": {"i18n"},
    "productivity_csv": BASE | {"productivity", "csv_file"},
    "predict": BASE | {"serving", "csv_file"},
    "option_table": BASE | {"scenario", "serving", "quality"},
    "side": PARTS | {"option_table"},
    "band": BASE | {"serving", "side"},
    "uncertainty": PARTS | {"option_table", "side", "band", "ranges", "field"},
    "configure": PARTS | {"option_table"},
    "ranges": BASE | {"scenario"},
    "evaluate": PARTS | {"option_table", "side", "band", "uncertainty", "configure"},
    "sweep": SPINE | {"together"},
    "trade": SPINE,
    "team": {"units", "productivity"},
    "flips": SPINE | {"trade", "format", "together"},
    "quality_check": BASE | {"quality", "serving"},
    "field_trials": SPINE | {"together"},
    "strategies": SPINE | {"format"},
    "mechanisms": SPINE | {"configure"},
    "explain": SPINE | {"format", "mechanisms", "two_ways"},
    "ab_test": set(),
    "explain_text": SPINE | {"format", "mechanisms", "explain", "ab_test"},
    "calibration": BASE | {"serving", "predict"},
    "validation": BASE | {"serving", "predict", "calibration"},
    **{name: SPINE | {"configure", "sweep", "together", "format", "band"} for name in MACHINES},
    "parts": SPINE | {"configure", "sweep", "together", "format", "band", "power"},
    "comparison": SPINE | {"together", "format"},
    "endpoint_map": SPINE | {"format"},
    "slo": SPINE | {"format"},
    "validation_sram": BASE | {"format"},
    "feasible": SPINE,
    "together": SPINE,
    "picture": SPINE | {"sweep", "together", "verdict", "trade", "flips"},
    "verdict": SPINE | {"format", "trade", "flips"},
    "cards": SPINE | {"format", "verdict"},
    "claims": VIEWS | WORDS | {"calibration", "validation"},
    "cli": MODEL,
    "__main__": {"cli"},
    "charts": MODEL,
    "ui": MODEL | {"charts"},
    "pages": MODEL | {"charts", "ui"},
    "app": MODEL | {"charts", "ui"},
}
MAY_IMPORT = {"streamlit": {"app", "pages", "ui"}, "plotly": {"charts", "ui"}}

REQUIRED_TOP = {"app.py", "fastmode", "data", "pages", "tests", "requirements.txt", "README.md"}
CONVENTIONAL_TOP = {"Makefile", "pyproject.toml", "Dockerfile", "static", "deploy"}


def sources() -> list[Path]:
    return [ROOT / "app.py", *sorted((ROOT / "pages").glob("**/*.py")), *sorted((ROOT / "fastmode").glob("**/*.py"))]


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def row(name: str) -> str:
    """Row of ALLOWED a dotted module name belongs to: "fastmode.serving.decode" -> "serving"."""
    parts = name.split(".")
    return parts[1] if parts[0] == "fastmode" and len(parts) > 1 else parts[0]


def imports(code: str, module: str, is_package: bool = False) -> set[str]:
    """Dotted names a module imports, wherever in it the import stands; ``from a import b`` gives "a.b"."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                kept = package[: len(package) - node.level + 1]
                base = ".".join([*kept, base] if base else kept)
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def wrong_imports(code: str, module: str, is_package: bool = False) -> list[str]:
    """What the table forbids, as "importer -> imported"."""
    here = row(module)
    if here not in ALLOWED:
        return [f"{module}: not in the table"]
    wrong = []
    for name in sorted(imports(code, module, is_package)):
        top = name.split(".")[0]
        if top in MAY_IMPORT and here not in MAY_IMPORT[top]:
            wrong.append(f"{module} -> {name}")
        elif top in ("fastmode", "pages", "app") and row(name) != here and row(name) not in ALLOWED[here]:
            wrong.append(f"{module} -> {name}")
    return wrong


def test_imports_follow_the_table():
    wrong = []
    for path in sources():
        if path.exists():
            wrong += wrong_imports(path.read_text(encoding="utf-8"), dotted(path), path.name == "__init__.py")
    assert wrong == []


def test_the_table_has_no_cycle():
    order = list(graphlib.TopologicalSorter(ALLOWED).static_order())
    chain = ["catalog", "serving", "economics", "evaluate", "charts", "ui", "pages"]
    assert sorted(chain, key=order.index) == chain


@pytest.mark.parametrize(
    ("module", "code", "wrong"),
    [
        ("fastmode.serving.decode", "from fastmode.evaluate import evaluate", ["fastmode.evaluate.evaluate"]),
        ("fastmode.serving.decode", "from ..evaluate import evaluate", ["fastmode.evaluate.evaluate"]),
        ("fastmode.serving.decode", "from .. import charts", ["fastmode.charts"]),
        ("fastmode.serving.decode", "from . import memory\nfrom .memory import fit\nimport numpy", []),
        ("fastmode.evaluate", "def f():\n    import streamlit.runtime", ["streamlit.runtime"]),
        ("fastmode.quality", "from fastmode import economics", ["fastmode.economics"]),
        ("fastmode.charts.bars", "from fastmode.ui import cards", ["fastmode.ui.cards"]),
        ("pages.cost", "import plotly.graph_objects as go\nimport streamlit as st", ["plotly.graph_objects"]),
    ],
)
def test_the_check_sees_a_wrong_import_and_lets_a_right_one_pass(module, code, wrong):
    assert wrong_imports(code, module) == [f"{module} -> {name}" for name in wrong]


def test_the_check_refuses_an_unknown_module():
    assert wrong_imports("", "fastmode.misc") == ["fastmode.misc: not in the table"]


IMPORT_ALL = """
import importlib, sys
blocked, names = sys.argv[1].split(","), sys.argv[2].split(",")

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Refuse())
for name in names:
    importlib.import_module(name)
print(len(names))
"""


@pytest.mark.parametrize("charts", [False, True])
def test_model_imports_where_streamlit_is_missing_and_all_but_charts_where_plotly_is_too(charts):
    names = [dotted(path) for path in sorted((ROOT / "fastmode").glob("**/*.py")) if path.name != "__main__.py"]
    names = [name for name in names if row(name) != "ui" and (row(name) == "charts") == charts]
    blocked = ["streamlit"] if charts else ["streamlit", "plotly"]
    command = [sys.executable, "-c", IMPORT_ALL, ",".join(blocked), ",".join(names)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, str(len(names))), done.stderr


def test_top_level_is_the_agreed_one():
    visible = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "__pycache__"))}
    assert REQUIRED_TOP - visible == set()
    assert visible - REQUIRED_TOP - CONVENTIONAL_TOP == set()
