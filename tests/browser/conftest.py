"""One real server on a free port and one real Chromium for all journeys, which go to one worker (tests/conftest.py).

`VIZKIT_REQUIRE_BROWSER=1` makes a missing browser a failure.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error

from tests.browser.steps import LONG_MS, PHONE_PX

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@contextmanager
def serving(folder, *options):
    """The app's address. Ends the server, and fails when it logged a traceback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    command += ["--server.address=127.0.0.1", "--server.headless=true", "--server.fileWatcherType=none", *options]
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)
    assert "Traceback" not in log.read_text(), log.read_text()[-4000:]


def wait_for(address, server, log):
    for _ in range(3000):
        if server.poll() is not None:
            pytest.fail(log.read_text())
        try:
            with urllib.request.urlopen(address, timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the server did not start within 5 minutes")


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The folder of the server of all journeys: runs/ is empty but for what a journey puts there."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "runs").mkdir()
    return folder


@pytest.fixture(scope="session")
def server(home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIZKIT_RUNS", str(home / "runs"))
        patch.setenv("VIZKIT_CACHE", str(home / "cache"))
        with serving(home) as address:
            yield address


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=LONG_MS)

    executable = shutil.which("chromium") or shutil.which("chromium-browser") or os.environ.get("CHROMIUM")
    if not executable:
        if os.environ.get("VIZKIT_REQUIRE_BROWSER"):
            pytest.fail("Chromium is not installed.")
        pytest.skip("Chromium is not installed.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def watched(tab):
    """A tab that fails its test when the page raises an error."""
    errors = []

    def note(error):
        errors.append(str(error))

    tab.on("pageerror", note)
    tab.set_default_timeout(LONG_MS)
    yield tab
    tab.remove_listener("pageerror", note)
    assert not errors, errors


DESKTOP = {"width": 1440, "height": 1000}
BEEN_HERE = """if (location.protocol.startsWith('http') && !sessionStorage.getItem('been here')) {
  for (const shown of ['vizkit-first-steps', 'vizkit-toured']) localStorage.setItem(shown, 'seen')
  sessionStorage.setItem('been here', 'yes')
}"""  # the visitor of most journeys; the others begin with an empty storage


# One tab for all journeys: a new one compiles Streamlit's and Plotly's scripts again, half of what a visit costs.
@pytest.fixture(scope="session")
def desktop(chromium):
    context = chromium.new_context(viewport=DESKTOP, reduced_motion="reduce")
    context.add_init_script(BEEN_HERE)
    return context.new_page()


@pytest.fixture(scope="session")
def telephone(chromium):
    size = {"width": PHONE_PX, "height": 844}
    context = chromium.new_context(viewport=size, color_scheme="dark", reduced_motion="reduce")
    context.add_init_script(BEEN_HERE)
    return context.new_page()


@pytest.fixture
def page(desktop):
    """A desktop window, as large as it was before a test that made it a small one."""
    if desktop.viewport_size != DESKTOP:
        desktop.set_viewport_size(DESKTOP)
    with watched(desktop) as tab:
        yield tab
    forget(tab)


@pytest.fixture
def phone(telephone):
    """A telephone, dark."""
    telephone.emulate_media(color_scheme="dark")
    with watched(telephone) as tab:
        yield tab
    forget(tab)


def forget(tab):
    """What the next test must not find: a sidebar that was left open, a lesson that was begun."""
    with suppress(Error):  # of a tab that shows no address
        tab.evaluate("localStorage.clear(); sessionStorage.clear()")
