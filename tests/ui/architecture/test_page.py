"""The Architecture page without a browser: every view with a ViT, a Swin, a CNN and the models it is made for."""

from pathlib import Path

import pytest

from tests.ui.conftest import CNN, SWIN, VIT, fine, opened, sent_to, texts
from vizkit.models.probes.flow import flow
from vizkit.training.architectures import build
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.training.runs.saving import save_best
from vizkit.ui.session import model_names
from vizkit.ui.session import models as opened_models
from vizkit.ui.session.needs import NEEDS
from vizkit.views import VIEWS as EVERY

DUAL, GRADUAL = "run:dual", "run:gradual"
VIEWS = [view for view in EVERY.values() if view.page == "architecture"]
SPECIAL = {view.title: NEEDS[view.needs] for view in VIEWS if view.needs not in ("", "model", "transformer")}
BESIDE = {view.title: view.beside for view in VIEWS}
FITTING = {"Coarser tokens": DUAL}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small models with random weights, as the engine saves them: nothing on this page has to be trained."""
    root = tmp_path_factory.mktemp("runs")
    for name in ("dual", "gradual"):
        recipe, run = Recipe(model=f"digits_{name}", data="digits"), RunFolder(root / name)
        run.create(recipe)
        labels = tuple("0123456789")
        save_best(run, build(recipe, labels), labels)
    return root


@pytest.fixture(autouse=True)
def own_runs(runs: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(runs))


# ---- every view, every model -----------------------------------------------------------------------------------------
@pytest.mark.product
@pytest.mark.parametrize("name", SPECIAL)
def test_a_view_draws_its_family_and_says_how_to_read_it(name: str):
    test = opened("architecture", models=[CNN, FITTING[name]], image="digit 3", architecture_view=name)
    fine(test)
    assert not test.info
    assert "What it does not show" in texts(test)


@pytest.mark.product
@pytest.mark.parametrize("name", SPECIAL)
def test_without_a_fitting_model_another_is_shown_and_buttons_add_one(name: str):
    test = opened("architecture", models=[SWIN, CNN], image="digit 3", architecture_view=name)
    fine(test)
    needs = [SPECIAL[name], NEEDS[BESIDE[name]]]
    shown = [next(offer for offer in need.models if "digits" in offer) for need in needs]
    what, named = " or ".join(need.what for need in needs), " and ".join(map(model_names.title, shown))
    assert f"None of your models is {what}; shown: {named}." in texts(test)
    offers = SPECIAL[name].models
    assert "What it does not show" in texts(test)
    added = [button for button in test.main.button if str(button.key).startswith("add_")]
    assert added
    offers = (*offers, *NEEDS[BESIDE[name]].models)
    assert all(str(button.key).removeprefix("add_") in offers for button in added)


def test_the_button_adds_the_model():
    test = opened("architecture", models=[SWIN], image="digit 3", architecture_view="Coarser tokens")
    test.button(key="add_bundled:digits_dual").click().run()
    fine(test)
    assert test.session_state["models"] == [SWIN, "bundled:digits_dual"]
    assert not test.info


@pytest.mark.rest
@pytest.mark.parametrize(
    ("name", "models", "said"),
    [("Network", [], "Choose a model"), ("nonsense", [VIT], "the most attended patch receives")],
)
def test_no_model_or_a_broken_link(name: str, models: list[str], said: str):
    test = opened(
        "architecture",
        models=models,
        image="digit 3",
        architecture_view=name,
        network_block="99",
        net="7",
        block_head="x",
        dual_alpha="x",
    )
    fine(test)
    if models:
        assert said in texts(test)
        assert test.segmented_control(key="architecture_view").value == VIEWS[0].title
    else:
        test.multiselect(key="models").set_value([]).run()
        assert said in texts(test)


def test_a_chosen_model_is_the_first_that_is_shown():
    test = opened("architecture", models=[GRADUAL], image="digit 3", architecture_view="Gradual reduction")
    fine(test)
    assert "64 tokens become 8: " in texts(test)
    assert not [slider for slider in test.main.select_slider if slider.label == "α"]


# ---- the network -----------------------------------------------------------------------------------------------------
@pytest.mark.rest
def test_networks_of_all_kinds_stand_below_one_another():
    models = [VIT, SWIN, CNN, DUAL]
    test = opened("architecture", models=models, image="digit 3")
    fine(test)
    vit, swin, cnn, dual = sent_to(test, "vizkit_flow")
    titles = [box["title"] for box in vit["boxes"]]
    assert titles == ["patches", *(f"block {number}" for number in range(1, 7))]
    assert [drawn["chosen"] for drawn in (vit, swin, cnn, dual)] == [6, None, None, None]
    costs = [max(step.multiply_adds for step in flow(opened_models.model(source))) for source in models]
    shares = [max(box["share"] for box in drawn["boxes"]) for drawn in (vit, swin, cnn, dual)]
    assert shares == pytest.approx([cost / max(costs) for cost in costs])  # one scale for all
    assert "runs 2 times" in next(box["facts"] for box in dual["boxes"] if box["title"] == "block 1")
    assert [box["words"] for box in swin["boxes"] if box["title"] == "merging"] == ["8 × 8, 4 into 1"]
    ways = ["attention received", "attention received", "strength", "attention received"]
    assert [drawn["bar"][0].partition(",")[0] for drawn in (vit, swin, cnn, dual)] == ways
    for drawn in (vit, swin, dual):  # one kind of map, and patches are the image cut into them
        assert ["values" in box for box in drawn["boxes"]] == [
            box["title"].startswith("block") for box in drawn["boxes"]
        ]
    assert (
        "From the first block to the last ViT · digits keeps 8 × 8, Swin · digits goes from 16 × 16 to 8 × 8"
        in texts(test)
    )


def test_the_page_opens_the_last_block_and_a_click_another_one():
    test = opened("architecture", models=VIT, image="digit 3")
    fine(test)
    (drawn,) = sent_to(test, "vizkit_block")
    shapes = {node["name"]: node["shape"] for node in drawn["nodes"] if node["name"]}
    assert (shapes["tokens"], shapes["query"], shapes["weights"]) == ("65 × 96", "each 65 × 24", "65 × 65")
    assert (shapes["hidden"], shapes["leaving"]) == ("65 × 384", "65 × 96")
    assert len(drawn["diagrams"][0]["boxes"]) == len(drawn["nodes"]) == len(shapes) + 2  # and two sums
    assert drawn["part"] == "weights"
    test = opened("architecture", models=[VIT, SWIN], image="digit 3", net="2", network_block="2", block_part="hidden")
    fine(test)
    assert sent_to(test, "vizkit_block")[0]["part"] == "hidden"
    assert "Block 1 of Swin · digits" in texts(test)
    assert any(each.label.startswith("Its code: ") for each in test.main.expander)


def test_an_address_of_the_former_block_opens_its_part():
    test = opened("architecture", models=VIT, image="digit 3", architecture_view="Block", block_part="scores")
    fine(test)
    assert test.segmented_control(key="architecture_view").value == "Network"
    assert sent_to(test, "vizkit_block")[0]["part"] == "scores"
