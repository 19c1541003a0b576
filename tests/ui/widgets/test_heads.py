"""Models whose outputs are no softmax over classes, on the pages: each answers in its own unit, a guess is said."""

import re

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

import vizkit
from tests.test_heads import folder
from tests.ui.conftest import ROOT, VIT, choose, click, sent, sent_to, texts
from tests.ui.test_evaluate_page import home, sound  # noqa: F401  (a fixture)
from vizkit.datasets import samples
from vizkit.heads import DIRECTION_IN_WORDS, HEADS
from vizkit.percent import in_percent
from vizkit.ui.session.chosen import Opened
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets.processes import evaluation as data
from vizkit.views.compare.answers import Answers
from vizkit.views.subject import Subject

LABELS = {"sigmoid": ["wet", "legs", "shell"], "regression": ["age"], "embedding": []}
PICTURE = "digit 3"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Source → folder of a random model of each kind; "guessed" says nothing of its one output."""
    root = tmp_path_factory.mktemp("models")
    made = {head: folder(root / head, len(names) or 4, head=head, label_names=names) for head, names in LABELS.items()}
    made["guessed"] = folder(root / "guessed", 1)
    return {f"checkpoint:{head}": str(path) for head, path in made.items()}


def opened(models, page, *sources, **query):
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    test.session_state["_checkpoints"] = {source: Opened(path) for source, path in models.items()}
    test.query_params["models"], test.query_params["image"] = list(sources), PICTURE
    for name, value in query.items():
        test.query_params[name] = value
    test = (test if page == "explore" else test.switch_page(f"pages/{page}.py")).run()
    return test


def every(models):
    return [f"checkpoint:{head}" for head in LABELS]


# ---- Explore ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("head", LABELS)
def test_a_card_lists_the_answers_in_their_own_unit(models, head):
    source = f"checkpoint:{head}"
    test = opened(models, "explore", source)
    loaded = vizkit.load(models[source])
    expected = vizkit.trace(loaded, inputs.sample(PICTURE).rgb)
    classes = sent(test, "explore0")["classes"]
    assert [name for name, _ in classes] == [name for name, _ in expected.labels]
    assert sorted(name for name, _ in classes) == sorted(LABELS[head])
    for (_, bar), (_, value) in zip(classes, expected.labels, strict=True):
        assert isinstance(bar, str) is (head != "sigmoid")  # a text has no bar, and is written as it is
        assert float(bar) == pytest.approx(value, rel=1e-3)
    assert HEADS[head].title in texts(test)


@pytest.mark.rest
def test_a_guess_is_said_on_every_page_with_answers(models):
    for page in ("explore", "relevance", "compare"):
        assert "regression is a guess: give head=" in texts(opened(models, page, "checkpoint:guessed")), page
        assert "is a guess" not in texts(opened(models, page, VIT)), page


# ---- Relevance -------------------------------------------------------------------------------------------------------


def test_a_class_that_a_label_does_not_exclude_is_no_rival(models):
    test = opened(models, "relevance", VIT, "checkpoint:sigmoid", class_a="legs", class_b="wet")
    assert "has no class “legs”" in texts(test)
    assert "several may be right, so nothing is explained against another" in texts(test)


def test_no_label_is_likely_enough(models):
    test = opened(models, "relevance", "checkpoint:sigmoid", class_a="wet")
    logits = vizkit.trace(vizkit.load(models["checkpoint:sigmoid"]), inputs.sample(PICTURE).rgb).logits
    assert ("it predicts" in texts(test)) is bool(logits[0] < 0)


@pytest.mark.product
@pytest.mark.parametrize("head", ["regression", "embedding"])
def test_maps_of_values_are_not_scored_by_probabilities(models, head):
    test = opened(models, "relevance", f"checkpoint:{head}", relevance_view="Trust")
    stands_in = "None of your models gives classes or an embedding; shown: ViT · digits." in texts(test)
    assert stands_in is (head == "regression")
    assert (f"for {DIRECTION_IN_WORDS}: " in texts(test)) is (head == "embedding")


# ---- Compare ---------------------------------------------------------------------------------------------------------
def predicted(models, *sources, images=(PICTURE,)):
    return opened(models, "compare", *sources, images=list(images))


def test_heads_stand_beside_each_other_and_only_classes_are_compared(models):
    test = predicted(models, VIT, *every(models))
    data = sent(test, "compare-maps")
    softmax, sigmoid, regression, embedding = (each["answers"] for each in data["maps"][:4])
    assert sum(share for _, share, *_ in softmax) <= 1.0 + 1e-6
    assert {name for name, *_ in sigmoid} == set(LABELS["sigmoid"])
    assert all(0 <= share <= 1 for _, share, *_ in sigmoid)
    ((name, share, _, value, right),) = regression
    assert (name, share, right) == ("age", 0, None)  # no bar
    assert "%" not in value
    assert not embedding
    assert "features, not classes" in data["maps"][3]["note"]
    assert data["matrix"]["rows"][0][1] == "", "nobody agrees or differs"
    for head in LABELS:
        assert f"checkpoint:{head} gives {HEADS[head].gives}: shown beside the others, not compared." in texts(test)
    assert "no classes in common" not in texts(test)


def subject(models, source):
    loaded = vizkit.load(models[source])
    return Subject(lambda: loaded, inputs.sample(PICTURE).rgb, image=PICTURE, model=source)


def test_the_csv_keeps_values_apart_from_probabilities(models):
    rows = list(Answers([[subject(models, source) for source in every(models)]]).listed())
    assert all("probability" in row and "value" not in row for row in rows if row["model"] == "checkpoint:sigmoid")
    (value,) = [row for row in rows if row["model"] == "checkpoint:regression"]
    assert value["class"] == "age"
    assert "probability" not in value
    own = subject(models, "checkpoint:regression").seen.logits[0]
    assert value["value"] == pytest.approx(float(own), rel=1e-3)


# ---- other pages -----------------------------------------------------------------------------------------------------
def test_shuffled_patches_change_answers_in_their_own_unit(models):
    test = opened(models, "positions", *every(models), positions_view="Shuffle")
    words = texts(test)
    ages = [str(age) for frame in test.dataframe if "age" in frame.value for age in frame.value["age"]]
    assert len(ages) == 4  # in order and shuffled, with positions and without
    assert all(re.fullmatch(r"-?[\d.e-]+", age) for age in ages), ages
    bars = [element.proto.body for element in test.main.get("html") if "class-bars" in element.proto.body]
    found = [[float(share) for share in re.findall(r'class="row" title="[^"]*: ([\d.e-]+)"', each)] for each in bars]
    assert len(bars) == 4  # labels have probabilities, an embedding a likeness: with positions and without
    assert all(found)
    lowest = [min(shares) for shares in found]
    assert sorted(lowest)[2] >= 0  # a likeness is a cosine
    assert sorted(lowest)[0] >= -1
    assert max(map(max, found)) <= 1
    assert [words.count(f"largest change of a {number} ") for number in ("logit", "value", "feature")] == [0, 2, 0]


def test_the_parts_of_a_model_end_in_its_own_head(models):
    test = opened(models, "architecture", "checkpoint:sigmoid")
    (drawn,) = sent_to(test, "vizkit_flow")
    shares = [answer["value"] for answer in drawn["answers"]]
    logits = Subject(lambda: vizkit.load(models["checkpoint:sigmoid"]), samples.picture(PICTURE)).seen.logits
    assert shares == [in_percent(share) for share in sorted(logits.sigmoid().tolist(), reverse=True)]


def test_a_temperature_is_for_a_softmax(models):
    test = opened(models, "distillation", "checkpoint:sigmoid", distillation_view="Teacher and student")
    assert f"gives {HEADS['sigmoid'].gives}; choose a model with a softmax over classes, or type logits" in texts(test)


# ---- Evaluate --------------------------------------------------------------------------------------------------------
@pytest.fixture
def pictures(home):  # noqa: F811
    for label in ("wet", "shell"):
        (home / "pictures" / label).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (32, 32), (40 * number, 90, 10)).save(home / "pictures" / label / f"{number}.png")
    return f"{home.name}/pictures"


@pytest.mark.rest
@pytest.mark.parametrize("stated", [None, "softmax"])
def test_evaluate_says_a_guess_unless_the_head_was_stated(models, pictures, tmp_path, stated):
    path = str(folder(tmp_path / "silent", 2, label_names=["wet", "shell"]))
    test = opened({}, "evaluate", VIT, eval_data=data.FOLDER)
    test.session_state["_checkpoints"] = {"checkpoint:silent": Opened(path, head=stated)}
    test.multiselect(key="models").set_value(["checkpoint:silent"])
    sound(choose(test, eval_folder=pictures))
    assert ("--head=softmax" in test.code[0].value) is (stated is not None)
    test = sound(click(test, "eval_start"))
    assert test.dataframe[0].value["Model"].tolist() == ["silent"]
    assert ("what kind of head silent has; softmax is a guess" in texts(test)) is (stated is None)


def test_a_checkpoint_stated_to_have_no_exclusive_classes_is_left_out_at_once(models, pictures):
    test = opened({}, "evaluate", VIT, eval_data=data.FOLDER)
    test.session_state["_checkpoints"] = {"checkpoint:mine": Opened(models["checkpoint:guessed"], head="sigmoid")}
    test.multiselect(key="models").set_value(["checkpoint:mine", VIT])
    sound(choose(test, eval_folder=pictures))
    assert f"checkpoint:mine gives {HEADS['sigmoid'].gives}: {HEADS['sigmoid'].unjudged}; it is left out." in texts(
        test
    )
    assert models["checkpoint:guessed"] not in test.code[0].value


def evaluated(models, pictures, *sources):
    test = opened(models, "evaluate", *sources, eval_data=data.FOLDER)
    return sound(choose(test, eval_folder=pictures)).button(key="eval_start").click().run()


@pytest.mark.product
@pytest.mark.parametrize("head", LABELS)
def test_a_model_without_exclusive_classes_is_not_judged_by_folders(models, pictures, head):
    test = evaluated(models, pictures, f"checkpoint:{head}")
    assert f"{head} gives {HEADS[head].gives}: {HEADS[head].unjudged}; it is left out." in texts(test)
    assert not [table for table in test.dataframe if head in str(table.value)]
