"""Find a Chromium that starts; with ``--install`` get one when there is none.

    python tests/browser/chromium.py [--install]

Prints the path. The environment variable CHROMIUM names one explicitly.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DOWNLOADED_NAMES = ("chrome", "chrome-headless-shell", "headless_shell")
# Downloads go into the virtual environment: the home folder may be empty or read-only.
DOWNLOADS = Path(__file__).resolve().parents[2] / ".venv" / "browsers"


def _starts(path: str) -> bool:
    # Some distributions ship a stub of that name which only tells how to install the browser.
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find_chromium() -> str | None:
    """Path of a working Chromium or Chrome, or None."""
    candidates = [os.environ.get("CHROMIUM", "")]
    candidates += [shutil.which(name) or "" for name in NAMES]
    caches = [Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or DOWNLOADS), DOWNLOADS]
    caches.append(Path(os.environ.get("HOME", "")) / ".cache" / "ms-playwright")
    for cache in caches:
        downloaded = sorted(cache.glob("chromium*/chrome-*/*"))
        candidates += [str(path) for path in downloaded if path.stem in DOWNLOADED_NAMES]
    return next((path for path in candidates if path and _starts(path)), None)


def _run(*command: str, **environment: str) -> bool:
    print(" ".join(command), file=sys.stderr)
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except OSError as error:
        print(error, file=sys.stderr)
        return False
    if done.returncode:
        print(done.stdout[-2000:], file=sys.stderr)
    return done.returncode == 0


def install_chromium() -> str | None:
    """Install one: the distribution's package when we may, else Playwright's build. Path, or None."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root and shutil.which("apt-get"):
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-y", "-qq", "chromium", DEBIAN_FRONTEND="noninteractive")
        if path := find_chromium():
            return path
    libraries = ["--with-deps"] if root else []
    _run(sys.executable, "-m", "playwright", "install", *libraries, "chromium", PLAYWRIGHT_BROWSERS_PATH=str(DOWNLOADS))
    return find_chromium()


def main(arguments: list[str]) -> int:
    """Print the path; 1 when there is none."""
    path = find_chromium() or (install_chromium() if "--install" in arguments else None)
    if path is None:
        print("No working Chromium. Install one, or set CHROMIUM to its path.", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
