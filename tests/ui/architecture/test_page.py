"""The Architecture page without a browser: every view with a ViT, a Swin, a CNN and the models it is made for."""

import re
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

DUAL, GRADUAL, TNT = "run:dual", "run:gradual", "random:tnt_s_patch16_224"
VIEWS = [view for view in EVERY.values() if view.page == "architecture"]
SPECIAL = {view.title: NEEDS[view.needs] for view in VIEWS if view.needs not in ("", "model", "transformer")}
FITTING = {"Dual-scale": DUAL, "Gradual reduction": GRADUAL, "TNT": TNT, "From parts": VIT}


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
    assert f"This view needs {SPECIAL[name].what}: " in texts(test)
    assert "What it does not show" in texts(test)


@pytest.mark.product
@pytest.mark.parametrize("name", SPECIAL)
def test_without_a_fitting_model_another_is_shown_and_buttons_add_one(name: str):
    test = opened("architecture", models=[SWIN, CNN], image="digit 3", architecture_view=name)
    fine(test)
    what, offers = SPECIAL[name].what, SPECIAL[name].models
    digits = next((offer for offer in offers if "digits" in offer), offers[0])
    shown = model_names.title(digits).removeprefix("random:")
    assert f"None of your models is {what}; shown: {shown}" in texts(test)
    assert ("(untrained)" in texts(test)) is digits.startswith("random:")
    assert "What it does not show" in texts(test)
    added = [button for button in test.main.button if str(button.key).startswith("add_")]
    assert added
    assert all(str(button.key).removeprefix("add_") in offers for button in added)


def test_the_button_adds_the_model():
    test = opened("architecture", models=[SWIN], image="digit 3", architecture_view="From parts")
    test.button(key=f"add_{VIT}").click().run()
    fine(test)
    assert test.session_state["models"] == [SWIN, VIT]
    assert not test.info


@pytest.mark.product(first=0)
@pytest.mark.parametrize(
    ("name", "models", "said"), [("Flow", [], "Choose a model"), ("nonsense", [VIT], "In block 6 attention adds")]
)
def test_no_model_or_a_broken_link(name: str, models: list[str], said: str):
    test = opened(
        "architecture",
        models=models,
        image="digit 3",
        architecture_view=name,
        parts_block="99",
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


# ---- flow ------------------------------------------------------------------------------------------------------------
@pytest.mark.product(first=0)
def test_flows_are_measured_not_typed():
    models = [VIT, SWIN, CNN, DUAL]
    test = opened("architecture", models=models, image="digit 3", architecture_view="Flow")
    fine(test)
    drawn = sent_to(test, "vizkit_flow")
    assert len(drawn) == 4
    vit = [row for row in drawn[0]["rows"] if "kind" in row]
    assert [(row["kind"], row["times"], row["tokens"]) for row in vit] == [
        ("PatchEmbed", "", "64 tokens"),
        ("Block", "× 6", "65 tokens"),
        ("LayerNorm", "", "65 tokens"),
        ("Linear", "", ""),
    ]
    assert [row["arrow"] for row in drawn[0]["rows"] if "arrow" in row] == [
        "image 3 × 32 × 32",
        "64 × 96 becomes 65 × 96",
        "65 × 96",
        "65 × 96 becomes 96",
        "10 logits",
    ]
    steps = [flow(opened_models.model(source)) for source in models]
    costs = [sum(step.multiply_adds for step in each) for each in steps]
    shares = [sum(row.get("share", 0) for row in each["rows"]) for each in drawn]
    assert shares == pytest.approx([cost / max(costs) for cost in costs])  # one scale for all
    # 12·N·D² + 2·N²·D for each of six blocks
    assert dict(vit[1]["facts"])["multiply–adds each"] == f"{12 * 65 * 96**2 + 2 * 65**2 * 96:,}"
    dual = [row for row in drawn[3]["rows"] if "kind" in row]
    assert [row["streams"] for row in dual if row["kind"] == "Block"] == ["runs 2 times", ""]
    assert "MergingBlock" in [row["kind"] for row in dual]
    swin = [row["tokens"] for row in drawn[1]["rows"] if row.get("kind") == "PatchMerging"]
    assert swin == ["256 → 64 places"]


def test_every_block_by_itself():
    test = opened("architecture", models=[VIT], image="digit 3", architecture_view="Flow", flow_every="true")
    fine(test)
    rows = [row for row in sent_to(test, "vizkit_flow")[0]["rows"] if row.get("kind") == "Block"]
    assert [row["path"] for row in rows] == [f"blocks.{i}" for i in range(6)]
    assert not any(row["times"] or row["blocks"] for row in rows)


# ---- a block, and its code -------------------------------------------------------------------------------------------
def test_the_page_opens_on_a_drawn_block():
    test = opened("architecture", models=VIT, image="digit 3")
    fine(test)
    (drawn,) = sent_to(test, "vizkit_block")
    shapes = {node["name"]: node["shape"] for node in drawn["nodes"] if node["name"]}
    assert (shapes["tokens"], shapes["query"], shapes["weights"]) == ("65 × 96", "each 65 × 24", "65 × 65")
    assert (shapes["hidden"], shapes["leaving"]) == ("65 × 384", "65 × 96")
    assert len(drawn["diagrams"][0]["boxes"]) == len(drawn["nodes"]) == len(shapes) + 2  # and two sums
    assert drawn["part"] == "weights"
    test = opened("architecture", models=VIT, image="digit 3", block_part="hidden")
    assert sent_to(test, "vizkit_block")[0]["part"] == "hidden"


def test_each_line_of_code_is_linked_to_the_tensors_that_it_makes():
    def part(name, **more):
        query = {
            "models": VIT,
            "image": "digit 3",
            "architecture_view": "From parts",
            "parts_block": "4",
            "parts": name,
        }
        test = opened("architecture", **query, **more)
        fine(test)
        (sent,) = sent_to(test, "vizkit_code")
        lines = sent["code"].splitlines()
        made = [(lines[each["line"] - 1].strip(), each["name"], each["shape"]) for each in sent["made"]]
        return texts(test), lines[0], made, lines[sent["line"] - 1].strip()

    said, first, made, marked = part("3 · attention")
    assert first == "class MultiHeadSelfAttention(nn.Module):"
    assert marked == "weights = scores.softmax(-1)  # every row sums to 1"
    assert [each for each in made if each[0] == marked] == [(marked, "weights", "4 × 65 × 65")]
    assert [each[1:] for each in made if each[0].startswith("query, key, value =")] == [
        (name, "4 × 65 × 24") for name in ("query", "key", "value")
    ]
    assert part("3 · attention", parts_line="13")[3].startswith("query, key, value =")  # the link names the line
    assert part("3 · attention", parts_line="2")[3] == marked  # which makes nothing
    said, first, made, _ = part("1 · patches")
    assert ("def forward(self, pixels: Pixels) -> Stream:", "pixels", "3 × 32 × 32") in made
    assert made[-1][1:] == ("return", "64 × 96")
    assert "In block 4 the MLP adds" in part("4 · MLP")[0]
    said, first, made, _ = part("5 · block")
    assert "EncoderBlock 4" in said
    assert ("x = x + self.attn(self.norm1(x))", "x", "65 × 96") in made
    assert re.search(r"logits (are the same to within \de|of this image exactly)", said)
    assert ("return x + self.pos_embed", "self.pos_embed", "65 × 96") in part("2 · positions")[2]
    assert part("6 · whole model")[2][-1][1:] == ("return", "10")


def test_a_vit_with_other_parts_is_refused():
    test = opened("architecture", models="bundled:insects_deit", image="mayfly nymph", architecture_view="From parts")
    fine(test)
    assert "other parts than a plain ViT" in texts(test)
