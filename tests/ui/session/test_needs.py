"""Which models a view is given: the chosen ones that have what it needs, else one that knows what the picture is of."""

from functools import cache

import pytest

from tests.ui import test_views
from tests.ui.conftest import click, fine, opened
from vizkit.models.families import FAMILIES
from vizkit.ui.session import model_names, models
from vizkit.ui.session.needs import NEEDS
from vizkit.views.bundled import usual

STUDENT = "bundled:insects_deit"
PICTURES = {"mayfly nymph": "insects", "digit 3": "digits"}
ONE_OF_EACH = {view.needs: (stem, view) for stem, view in test_views.ALL.values() if view.needs not in ("", "model")}


@cache
def fits(source, need):
    return NEEDS[need].has(models.model(source))


def test_every_need_is_that_of_a_view():
    beside = {view.beside for _, view in test_views.ALL.values()} - {""}
    assert {*ONE_OF_EACH, "model"} | beside == set(NEEDS)


def test_a_family_that_expects_no_attention_is_no_transformer(monkeypatch):
    loaded = models.model("bundled:digits_vit")
    assert NEEDS["transformer"].has(loaded)
    monkeypatch.setattr(FAMILIES["vit"], "expected", lambda model: 0)
    assert not NEEDS["transformer"].has(loaded)
    assert not NEEDS["transformer"].has(models.model("bundled:digits_cnn"))
    assert not NEEDS["transformer"].has(models.model("bundled:digits_mlp"))


@pytest.mark.product
@pytest.mark.parametrize("data", ["insects", "digits"])
@pytest.mark.parametrize("kind", ["vit", "swin", "cnn"])
@pytest.mark.parametrize("need", ONE_OF_EACH)
def test_a_model_that_nobody_chose_knows_what_the_picture_is_of(need, kind, data, monkeypatch):
    """Wherever one that comes with vizkit has what is needed and knows it."""
    (stem, view), chosen = ONE_OF_EACH[need], f"bundled:{data}_{kind}"
    for picture, pictured in PICTURES.items():
        shows = pictured if "picture" in view.reads else data  # of a picture that is not shown nothing follows
        given = []
        monkeypatch.setattr(
            "vizkit.ui.views.function_of", lambda *_, into=given: lambda page: into.extend(page.sources)
        )
        test = test_views.opened(stem, view.title, [chosen], picture)
        if fits(chosen, need):
            assert given == [chosen]
            continue
        source, *rest = given
        assert len(rest) == bool(view.beside)
        able = [name for name in model_names.bundled() if name.startswith(f"bundled:{shows}") and fits(name, need)]
        assert source in able or not able
        (said,) = (each.value for each in test.caption if "None of your models" in each.value)
        assert "\n" not in said
        assert said.startswith(f":material/info: None of your models {NEEDS[need].words}")
        assert f"; shown: {model_names.title(source).removeprefix('random:')}" in said


@pytest.mark.parametrize(
    "picture, chosen, opens_on",
    [
        ("mayfly nymph", [], STUDENT),
        ("china", [], STUDENT),  # of the photographs' model no class is known
        ("digit 3", [], "bundled:digits_vit"),  # which the DeiT does not know
        ("mayfly nymph", ["bundled:insects_cnn", "bundled:insects_vit"], "bundled:insects_cnn"),
    ],
)
def test_distillation_opens_on_a_student_and_its_teacher_where_nobody_has_chosen(picture, chosen, opens_on):
    test = test_views.opened("distillation", "Teacher and student", chosen or usual(picture), picture)
    first = next((each for each in test.segmented_control if each.key == "focus"), None)
    if picture == "china":  # whose usual model has no classes: it would only be refused
        assert first is None
    else:
        assert first.options[0] == model_names.title(opens_on)
        assert first.value == opens_on
    shown = [each.value for each in test.caption if "Shown first" in each.value]
    assert shown == ([":material/info: Shown first: DeiT · insects."] if opens_on == STUDENT else [])
    assert any(each.key == f"add_{STUDENT}" for each in test.button) == bool(shown)


def test_the_button_adds_the_model():
    test = opened("architecture", models="bundled:digits_swin", image="digit 3", architecture_view="Coarser tokens")
    click(test, "add_bundled:digits_dual")
    fine(test)
    assert test.session_state["models"] == ["bundled:digits_swin", "bundled:digits_dual"]
    assert not test.info
