"""The browser that the tests of the page use: an installed one, or one that Playwright or the system's packages bring.

    python tests/browser.py        looks for one, fetches one if there is none, and says how it went; never fails
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FETCH_SECONDS_MAX = 600


def find():
    """The path of a Chromium that is there, or None. TABELLION_CHROMIUM names one."""
    named = os.environ.get("TABELLION_CHROMIUM")
    if named:
        return named
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    return installed or fetched()


def fetched():
    """The one that Playwright fetched, if it did."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def fetch():
    """Tries what needs no rights first, then the packages of a Debian system; returns how each try went."""
    tries = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        tries += [["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]]
    told = []
    for command in tries:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
            told.append(f"{' '.join(command[-3:])}: exit {done.returncode}")
        except (OSError, subprocess.TimeoutExpired) as error:
            told.append(f"{' '.join(command[-3:])}: {error}")
        if find():
            break
    return told


NOTICE = """
****************************************************************************
* There is NO browser: the tests of the page /console were NOT run.        *
* `apt-get install chromium` or `playwright install chromium` brings one,  *
* TABELLION_CHROMIUM names one.                                            *
****************************************************************************
"""

if __name__ == "__main__":
    told = [] if find() else fetch()
    path = find()
    print("\n".join(told + [f"browser: {path}" if path else NOTICE]))
