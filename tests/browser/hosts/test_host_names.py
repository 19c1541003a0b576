"""By which names the server answers, at each of its addresses: a page of another host may make a name of its own mean
this machine."""

import http.client
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import serving
from vizkit.ui.session.allowed import OTHER_NAME

ADDRESSES = [
    ("GET", "/"),
    ("GET", "/explore?models=bundled:digits_vit"),
    ("GET", "/index.html"),
    ("GET", "/static/no.js"),
    ("GET", "/app/static/no.txt"),
    ("GET", "/media/0123.png"),
    ("GET", "/component/x/y.js"),
    ("GET", "/_stcore/bidi-components/x/y.js"),
    ("GET", "/_stcore/health"),
    ("HEAD", "/_stcore/health"),
    ("GET", "/healthz"),
    ("GET", "/_stcore/metrics"),
    ("GET", "/st-metrics"),
    ("GET", "/_stcore/host-config"),
    ("GET", "/_stcore/script-health-check"),
    ("OPTIONS", "/_stcore/upload_file/a/b"),
    ("PUT", "/_stcore/upload_file/a/b"),
    ("DELETE", "/_stcore/upload_file/a/b"),
    ("GET", "/_stcore/agent"),
    ("GET", "/auth/login"),
    ("GET", "//evil"),
    ("GET", "/_stcore/stream"),
]
UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "streamlit",
}
FOREIGN = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "localhost.evil.example",
    "evil.example:80@127.0.0.1",
    "127.0.0.1@evil.example",
    "127.0.0.2:{port}",
    "[::2]:{port}",
    "0.0.0.0:{port}",
    "localhost:x",
    "localhost/evil.example",
    "",
    "[",
]
OWN = ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "localhost.:{port}", "[::1]:{port}", "127.0.0.1"]


def status(server, method, path, *hosts, **headers):
    """Of what the server answers to these Host lines, none or several; where it says so, "another name"."""
    at = urlsplit(server)
    asked = http.client.HTTPConnection(at.hostname or "", at.port, timeout=20)
    asked.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for host in hosts:
        asked.putheader("Host", host.format(port=at.port))
    for name, value in headers.items():
        asked.putheader(name, value)
    asked.endheaders()
    try:
        answer = asked.getresponse()
        other_name = answer.status == 403 and answer.getheader("Content-Length") == str(len(OTHER_NAME))
        return "another name" if other_name else answer.status
    finally:
        asked.close()


@pytest.mark.parametrize("method, path", ADDRESSES)
def test_no_address_answers_by_a_foreign_name(server, method, path):
    assert status(server, method, path, "evil.example") == "another name"
    assert status(server, method, path, "127.0.0.1:{port}") != "another name"


@pytest.mark.parametrize("host", FOREIGN)
def test_no_foreign_name_is_answered(server, host):
    assert status(server, "GET", "/_stcore/health", host) in (400, "another name")
    assert status(server, "GET", "/_stcore/stream", host, Origin=f"http://{host}", **UPGRADE) in (400, 403)


def test_two_names_or_none_are_not_answered(server):
    assert status(server, "GET", "/_stcore/health", "localhost", "evil.example") in (400, "another name")
    assert status(server, "GET", "/_stcore/health") in (400, "another name")


@pytest.mark.parametrize("host", OWN)
def test_its_own_names_are_answered(server, host):
    port = urlsplit(server).port
    assert status(server, "GET", "/_stcore/health", host) == 200
    origin = f"http://{host.format(port=port)}"
    assert status(server, "GET", "/_stcore/stream", host, Origin=origin, **UPGRADE) == 101


def test_a_shared_one_answers_by_the_names_that_its_owner_gives(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path))
    names = [
        "--server.allowedHosts=class.example",
        "--server.allowedHosts=*.lab.example",
        "--server.allowedHosts=127.0.0.1",
    ]
    with serving(tmp_path, "--server.address=0.0.0.0", *names) as shared:
        for host, code in {
            "class.example": 200,
            "a.lab.example:{port}": 200,
            "localhost": "another name",
            "evil.example": "another name",
        }.items():
            assert status(shared, "GET", "/_stcore/health", host) == code
            told = status(shared, "GET", "/_stcore/stream", host, **UPGRADE)
            assert told == (101 if code == 200 else 403)
