"""The records of the methods: whole, quick to list, with their own code; and that a new one is one more of them."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from tests.analysis.conftest import image, made, traced
from tests.toys import linear, picture
from vizkit.analysis.attribution import explaining, methods
from vizkit.analysis.attribution.explaining import METHODS, applicable, explain, why_not
from vizkit.analysis.attribution.methods import Method, record
from vizkit.analysis.attribution.subject import Stopped, Subject
from vizkit.analysis.trust.scores import Case, score_case
from vizkit.commands.explaining.maps import chosen
from vizkit.scoring import Question
from vizkit.traces import NotApplicable
from vizkit.ui.session.columns import attempt
from vizkit.ui.sidebar import inputs

FOLDER = Path(methods.__file__).parent
ROOT = FOLDER.parents[2]


def whole(**changed):
    parts = {
        "name": "brightness",
        "title": "Brightness",
        "needs": "model",
        "asks": "How bright is each pixel?",
        "caveat": "It knows no model.",
        "source": "nobody",
        "run": lambda given: given.subject.pixels[0].mean(0),
    }
    return Method(**(parts | changed))


@pytest.fixture
def brightness(monkeypatch):
    monkeypatch.setitem(METHODS, "brightness", whole())
    return METHODS["brightness"]


# Records --------------------------------------------------------------------------------------------------------------


def test_all_methods_are_listed_with_their_code():
    """Nothing is imported before it is called, so a name that is wrong there is found here."""
    assert METHODS is explaining.METHODS
    assert all(each.name == name for name, each in METHODS.items())
    for place in re.findall(r'"(\w+:\w+)"', Path(methods.__file__).read_text("utf-8")):
        assert callable(record._function(place))


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"run": None}, "give `run`, a function from `Given` to its map"),
        ({"title": ""}, "give `title`"),
        ({"needs": "trace"}, "give `applies`, a function of a trace"),
        ({"needs": "target"}, "give `applies`, a function of a trace"),
        ({"needs": "trace", "applies": print, "signed_run": print}, "`signed_run` is for methods that need a target"),
        ({"needs": "target", "applies": print, "slow": True}, "`slow` is for methods that need the model"),
        ({"asks": "How bright."}, "ends in a question mark"),
        ({"asks": ""}, "ends in a question mark"),
        ({"caveat": ""}, "`caveat` is a sentence on what its map cannot tell"),
        ({"differs": "much"}, "`differs` is a sentence"),
        ({"source": ""}, "give `source`, the paper"),
    ],
)
def test_a_record_with_a_part_missing_says_what_to_add_where(changed, words):
    with pytest.raises(
        ValueError, match=r"brightness in vizkit/analysis/attribution/methods/__init__\.py is not whole"
    ) as caught:
        whole(**changed)
    assert words in str(caught.value)


def test_a_record_without_code_cannot_be_made():
    with pytest.raises(ValueError, match="give `run`"):
        Method(name="x", needs="model", title="X", asks="?", caveat=".", source="x")


def test_code_is_given_what_its_parameters_are_named_after(monkeypatch):
    given = record.Given("the trace", 3, "blur", "the model", None)
    monkeypatch.setattr(record, "_function", {"a:b": lambda subject, fill, steps=7: [subject, fill, steps]}.get)
    assert record.code("a:b")(given) == ["the model", "blur", 7]
    monkeypatch.setattr(record, "_function", {"a:b": lambda query: query, "c:d": lambda trace: f"of {trace}"}.get)
    assert record.code("a:b", note="c:d")(given) == (3, "of the trace")


def test_nothing_else_goes_by_the_name_of_a_method():
    """Names that are also pages, settings or words of other things are left aside."""
    names = set(METHODS) - {"attention", "rollout", "occlusion"}
    found = []
    for path in (*ROOT.glob("**/*.py"), *ROOT.parent.glob("pages/*.py")):
        if path.parent == FOLDER:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        tree.body = [node for node in tree.body if "__all__" not in ast.unparse(node)[:7]]  # functions of that name
        constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
        found += [f"{path.name}: {node.value}" for node in constants if node.value in names]
    assert found == []


# A method that was not there before -----------------------------------------------------------------------------------


def test_a_new_method_is_its_own_map_everywhere(brightness):
    loaded, pixels = made("test_vit", depth=2), image(1)
    trace, subject = traced(loaded, pixels), Subject(lambda x: x.mean((2, 3)), pixels, 0)
    found = explain("brightness", trace, subject=subject)
    assert_close(found.heat, pixels[0].mean(0))
    assert (found.method, found.signed, found.notes, found.target) == ("brightness", False, (), 0)
    assert applicable(trace)[-1] == "brightness"
    assert "brightness" not in applicable(trace, model=False)
    assert chosen(["fast"])[-1] == "brightness"  # one pass, though it needs the model
    with pytest.raises(NotApplicable, match="Brightness runs the model again"):
        explain("brightness", trace)


def test_a_new_method_is_scored_as_itself(brightness):
    toy = linear(picture(1)[0], picture(2))
    trace = traced(made("test_vit", depth=2), image(1))
    (found,) = score_case(Case(trace, toy), ["brightness"], steps=2)
    assert found.method == "brightness"
    assert found.figures().keys() == {"deletion", "insertion"}


def test_the_page_shows_a_new_method_among_those_that_are_quick(brightness):
    of = attempt("bundled:digits_vit", inputs.sample("digit 3"))
    assert not isinstance(of, tuple)
    assert_close(of.explanation("brightness", 3, None).heat, of.pixels[0].mean(0).cpu())


def test_a_question_explains_by_a_new_method(brightness, digits, photo):
    question = Question.of(digits, photo, 3)
    found = question.explain("brightness")
    assert_close(found.heat, question.subject.pixels[0].mean(0).cpu())


def test_a_record_says_something_about_its_map(monkeypatch):
    monkeypatch.setitem(METHODS, "brightness", whole(run=lambda given: (given.subject.pixels[0, 0], "Only red.")))
    subject = Subject(lambda x: x.mean((2, 3)), image(1), 0)
    assert explain("brightness", traced(made("test_vit", depth=2), image(1)), subject=subject).notes == ("Only red.",)


def test_a_difference_is_the_records_own_or_that_of_two_maps(monkeypatch):
    loaded, pixels = made("test_vit", depth=2), image(1)
    one, two = traced(loaded, pixels, 3), traced(loaded, pixels, 1)
    parts = {
        "needs": "target",
        "applies": lambda trace: None,
        "run": lambda given: given.trace.logits.view(1, 5) * given.trace.target,
    }
    monkeypatch.setitem(METHODS, "brightness", whole(**parts))
    found = explain("brightness", one, against=two)
    assert_close(found.heat, one.logits.view(1, 5) * (3 - 1))
    assert found.signed
    own = {"signed_run": lambda trace, against: torch.tensor([[float(trace.target), -float(against.target)]])}
    monkeypatch.setitem(METHODS, "brightness", whole(**parts, **own))
    assert explain("brightness", one, against=two).heat.tolist() == [[3.0, -1.0]]


def test_what_a_record_refuses_is_foretold(monkeypatch):
    def refuses(trace):
        raise NotApplicable("Not on a Sunday.")

    monkeypatch.setitem(METHODS, "brightness", whole(applies=refuses))
    assert why_not(traced(made("test_vit", depth=2), image(1)))["brightness"] == "Not on a Sunday."


def test_progress_and_fill_reach_the_record(monkeypatch):
    seen = []

    def run(given):
        seen.append((given.fill, given.query))
        given.progress(1, 2)
        return given.subject.pixels[0, 0]

    def stop(done, total):
        raise Stopped

    monkeypatch.setitem(METHODS, "brightness", whole(run=run))
    trace, subject = traced(made("test_vit", depth=2), image(1)), Subject(lambda x: x.mean((2, 3)), image(1), 0)
    with pytest.raises(Stopped):
        explain("brightness", trace, subject=subject, query="mean", fill="blur", progress=stop)
    assert seen == [("blur", "mean")]


# Words ----------------------------------------------------------------------------------------------------------------


def test_words_name_what_departs_from_the_authors_code():
    assert "below zero, then comes the mean over heads" in METHODS["gradient_rollout"].words()
    assert "vit-explain takes the mean first" in METHODS["gradient_rollout"].words()
    assert "the last two layers by default, each by the mean of all its tokens" in METHODS["legrad"].words()
    assert replace(METHODS["rollout"], differs="").words() == f"{METHODS['rollout'].asks} {METHODS['rollout'].caveat}"
