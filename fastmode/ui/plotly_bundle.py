"""The Plotly script that charts load from the app's own static folder.

The script is part of the installed plotly package; a copy is put where Streamlit serves files, so that a page needs no
other host. `python -m fastmode.ui.plotly_bundle` makes the copy ahead of the start (for read-only installations).
"""

import filecmp
import logging
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

STATIC_DIR = Path(__file__).resolve().parents[2] / "static"
FILE_NAME = "plotly.min.js"

_LOG = logging.getLogger(__name__)


def installed_bundle() -> Path:
    """Path of the script inside the installed plotly package.

    Raises FileNotFoundError if plotly is not installed or came without its script.
    """
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the plotly package is not installed")
    path = Path(spec.origin).parent / "package_data" / FILE_NAME
    if not path.is_file():
        raise FileNotFoundError(path)
    return path


def ensure_bundle(static_dir: Path = STATIC_DIR) -> bool:
    """Copy the script to `static_dir` unless a copy of the installed version is there; True if one is there now.

    A folder that cannot be written is logged and gives False: the page then shows a message in place of its charts.
    """
    try:
        source = installed_bundle()
        target = static_dir / FILE_NAME
        # By content: after an upgrade of plotly another file may have the same size, or an older time stamp.
        if target.is_file() and filecmp.cmp(source, target, shallow=False):
            return True
        static_dir.mkdir(parents=True, exist_ok=True)
        # A complete file takes the place of the old one, so that a server running meanwhile never sends half of it.
        handle, name = tempfile.mkstemp(dir=static_dir, prefix=".plotly-", suffix=".tmp")
        os.close(handle)
        try:
            shutil.copyfile(source, name)
            os.chmod(name, 0o644)
            os.replace(name, target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning("charts cannot be drawn, %s could not be prepared: %s", FILE_NAME, error)
        return False
    return True


if __name__ == "__main__":
    raise SystemExit(0 if ensure_bundle() else 1)
