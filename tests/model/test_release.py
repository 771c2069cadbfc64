"""What must hold of the files we hand over: commands in the README, pinned versions, short modules, no stray traces."""

import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PAGE_LINES = 80
MODULE_LINES = 500
SKIPPED_FOLDERS = {".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", "artifacts", "static"}

# Put together from pieces, so that this file does not contain them. A path inside a web address is no machine path.
FOLDERS = "|".join(("wo" "rk", "tm" "p", "ro" "ot", "op" "t", "mn" "t", "Use" "rs", "ho" "me"))
MACHINE_PATH = re.compile(rf"(?<![\w.:/~<)\]}}*-])/(?:{FOLDERS})/")
HOSTS = ("pyp" "i.org", "python" "hosted.org", "npm" "js.org", "npm" "js.com", "ghc" "r.io", "qua" "y.io")
REGISTRY = re.compile("|".join(re.escape(host) for host in HOSTS) + r"|\b(?:docker|cran)\.(?:" "io)\\b", re.IGNORECASE)
TRACES = re.compile("co-authored" "-by|generated (?:with|by) (?:a )?(?:ai|llm|claude|chatgpt|copilot)", re.IGNORECASE)


def project_files() -> list[Path]:
    """Files that belong to the project: what git tracks or would add; without git, all but known leftovers."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        listed = subprocess.CompletedProcess(command, 1, "")
    if listed.returncode == 0 and listed.stdout:
        return [path for name in sorted(listed.stdout.split("\0")) if name and (path := ROOT / name).is_file()]
    found = (path for path in ROOT.rglob("*") if not SKIPPED_FOLDERS & set(path.relative_to(ROOT).parts[:-1]))
    return sorted(path for path in found if path.is_file())


def test_readme_tells_how_to_run_and_how_to_test():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("make run", "make test", "streamlit run app.py"):
        assert re.search(rf"(?<![\w-]){re.escape(command)}\b", readme), command


def traces(text: str) -> list[str]:
    """Machine paths, registry hosts and authorship traces in a text."""
    return [match.group() for pattern in (MACHINE_PATH, REGISTRY, TRACES) for match in pattern.finditer(text)]


def test_no_machine_path_registry_host_or_trace_in_any_file():
    found = []
    for path in project_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found += [f"{path.relative_to(ROOT)}:{number}: {trace}" for trace in traces(line)]
    assert found == []


def test_the_search_finds_paths_and_hosts_but_not_addresses():
    folder, host = "/wo" "rk/", "pyp" "i.org"
    assert traces(f'open("{folder}main/x.csv")') == [folder]
    assert traces(f"see {folder}x, then https://{host}/simple") == [folder, host]
    assert traces(f"https://example.com{folder}paper.pdf and example.com{folder}x, data{folder}x") == []


def test_server_settings_stand_in_the_file_that_every_start_reads():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    server = {"headless": True, "address": "localhost", "fileWatcherType": "none", "enableStaticServing": True}
    assert server.items() <= settings["server"].items()
    assert settings["runner"]["postScriptGC"] is False
    assert settings["browser"]["gatherUsageStats"] is False
    assert (settings["client"]["showErrorDetails"], settings["client"]["toolbarMode"]) == ("none", "viewer")
    assert all(settings["server"].get(name, True) for name in ("enableCORS", "enableXsrfProtection"))
    assert settings["theme"]["light"].keys() == settings["theme"]["dark"].keys()


REQUIREMENT_FILES = ("requirements.txt", "tests/requirements.txt")


def requirements(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    stripped = (line.split("#")[0].strip() for line in lines)
    return [Requirement(line) for line in stripped if line and not line.startswith("-r ")]


def test_runtime_needs_exactly_five_packages():
    names = {requirement.name for requirement in requirements("requirements.txt")}
    assert names == {"streamlit", "plotly", "pandas", "numpy", "tqdm"}


@pytest.mark.parametrize("name", REQUIREMENT_FILES)
def test_requirements_have_a_lower_and_an_upper_bound_and_are_what_is_installed(name):
    for requirement in requirements(name):
        assert sorted(part.operator for part in requirement.specifier) == ["<", ">="], requirement
        assert importlib.metadata.version(requirement.name) in requirement.specifier, requirement


def test_runtime_is_pinned_to_one_minor_version():
    for requirement in requirements("requirements.txt"):
        bounds = {part.operator: part.version.split(".") for part in requirement.specifier}
        major, minor = bounds[">="][:2]
        assert bounds["<"] == [major, str(int(minor) + 1)], requirement


def too_long(paths, limit: int) -> dict[str, int]:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    return {name: length for name, length in lengths.items() if length > limit}


def test_page_scripts_are_short():
    assert too_long(sorted((ROOT / "pages").glob("**/*.py")), PAGE_LINES) == {}


def test_modules_are_of_readable_length():
    assert too_long([*ROOT.glob("app.py"), *sorted((ROOT / "fastmode").glob("**/*.py"))], MODULE_LINES) == {}
