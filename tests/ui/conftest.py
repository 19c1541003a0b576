"""What all tests of pages share: the app as Streamlit runs it, without a browser, opened at a page; its words, and what
it sends to the canvases."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from vizkit.ui import shell
from vizkit.ui.plain import JOINER

ROOT = Path(__file__).parents[2]
VIT, SWIN, CNN = "bundled:digits_vit", "bundled:digits_swin", "bundled:digits_cnn"


@pytest.fixture(scope="session", autouse=True)
def installed_components() -> Iterator[None]:
    """An AppTest looks for components in all installed packages, which takes longer than most pages: once will do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True)
def fresh_session_caches() -> Iterator[None]:
    """Models may stay: they do not depend on a session. What a session puts in must not leak into the next test."""
    yield
    st.cache_data.clear()


def opened(page: str = shell.FIRST, **query: str | list[str]) -> AppTest:
    """As a visitor who follows a link: this page alone is drawn."""
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in query.items():
        test.query_params[name] = value
    return (test if page == shell.FIRST else test.switch_page(f"pages/{page}.py")).run()


def texts(test: AppTest) -> str:
    """As they are read: the marks that keep names from being Markdown are not seen."""
    kinds = (test.markdown, test.caption, test.warning, test.error, test.info, test.title, test.subheader)
    return "\n".join(
        re.sub(r"\\(?=[^\w\s])", "", element.value).replace(JOINER, "") for kind in kinds for element in kind
    )


def fine(test: AppTest) -> None:
    assert not test.exception, [each.value for each in test.exception]
    assert not test.error
    assert not test.warning


def components(test: AppTest) -> list:
    """All but the button that every page has."""
    return [component for component in test.main.get("bidi_component") if component.key != "copy_link"]


def sent(test: AppTest, key: str) -> dict:
    """What the canvas whose key begins so was given."""
    protos = [component.proto for component in test.main.get("bidi_component")]
    return next(json.loads(proto.json) for proto in protos if f"-{key}" in proto.id)


def sent_to(test: AppTest, component: str) -> list[dict]:
    """What all canvases of one kind were given."""
    protos = [component.proto for component in test.main.get("bidi_component")]
    return [json.loads(proto.json) for proto in protos if proto.component_name == component]
