"""Shared by all tests: the project's root, a fixed Hypothesis profile, Streamlit's page mode for AppTest."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# The same examples on every run and no time limit on one: a red test is a finding, not a slow machine.
settings.register_profile("fastmode", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fastmode"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return ROOT


@pytest.fixture(autouse=True)
def navigation_mode(request, monkeypatch):
    """Under tests/app, keep AppTest out of the automatic pages mode.

    A folder ``pages/`` beside app.py switches that mode on at each AppTest run, and the widgets of app.py vanish on the
    second one. A real server leaves it with the first session.
    """
    if ROOT / "tests" / "app" not in request.path.parents:
        return
    from streamlit.runtime.pages_manager import PagesManager

    original = PagesManager.__init__

    def patched(self, *args, **kwargs):
        original(self, *args, **kwargs)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", patched)
