"""What an owner sets, and what makes no sense."""

from pathlib import Path

import pytest

from vizkit.settings import GIB, settings


def test_nothing_is_allowed_by_default(monkeypatch):
    for name in (
        "MODEL_GIB",
        "CACHE_GIB",
        "DATA_ROOTS",
        "ALLOW_DELETING",
        "ALLOW_JOBS",
        "UPLOADS_KEPT_HOURS",
        "KEEP_PICTURES",
    ):
        monkeypatch.delenv(f"VIZKIT_{name}", raising=False)
    default = settings()
    assert default.data_roots == ()
    assert default.allow_deleting is None
    assert default.allow_jobs is None
    assert default.uploads_kept_hours == 24
    assert not default.keep_pictures
    assert default.cache_bytes > default.model_bytes > 0  # else every look at a large model would load it again


def test_an_owner_sets_budgets_and_roots(monkeypatch, tmp_path):
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "1.5")
    monkeypatch.setenv("VIZKIT_CACHE_GIB", "0.5")
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", f"{tmp_path}:/srv/../srv/photos")
    monkeypatch.setenv("VIZKIT_ALLOW_DELETING", "no")
    monkeypatch.setenv("VIZKIT_ALLOW_JOBS", "Yes")
    monkeypatch.setenv("VIZKIT_UPLOADS_GIB", "3")
    monkeypatch.setenv("VIZKIT_KEEP_PICTURES", "yes")
    chosen = settings()
    assert chosen.model_bytes == 1.5 * GIB
    assert chosen.cache_bytes == 0.5 * GIB
    assert chosen.allow_deleting is False
    assert chosen.allow_jobs is True
    assert chosen.uploads_bytes == 3 * GIB
    assert chosen.keep_pictures
    assert chosen.data_roots == (tmp_path.resolve(), Path("/srv/photos").resolve())


@pytest.mark.parametrize("value", ["-1", "0", "much", "nan", "inf"])
def test_a_budget_that_makes_no_sense_is_named(monkeypatch, value):
    monkeypatch.setenv("VIZKIT_MODEL_GIB", value)
    with pytest.raises(ValueError, match="VIZKIT_MODEL_GIB"):
        settings()


@pytest.mark.parametrize("name", ["VIZKIT_LESSONS", "VIZKIT_DATA_ROOTS"])
def test_the_home_of_nobody_is_said_in_a_sentence(monkeypatch, name):
    monkeypatch.setenv(name, "~no-such-user-here/x")
    with pytest.raises(ValueError, match=f"{name} names a folder that cannot be found"):
        settings()
