"""What the outputs of a model are: the records whole, their numbers by hand, and where each source says its head."""

import json
import re
from typing import get_args, get_type_hints

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.models._hub import save_config_for_hf

import vizkit
from tests.models.test_wrap import PICTURE, SIZE_HW, TenLines, by_hand
from tests.toys import linear, picture
from vizkit import heads
from vizkit.__main__ import main
from vizkit.analysis.attribution.subject import Subject
from vizkit.analysis.trust.scores import undecided
from vizkit.commands.options import Opening
from vizkit.heads import (
    EMBEDDING,
    HEADS,
    ITSELF,
    LIKENESS,
    LIKENESS_IN_WORDS,
    REGRESSION,
    SIGMOID,
    SOFTMAX,
    Head,
    scorer,
)
from vizkit.models import ModelError, pixels_of
from vizkit.models.probes.model_functions import embedding_of, logits_of_batch
from vizkit.models.sources.loaded import likened, parts_along, with_head
from vizkit.scoring import Question, scorable, subject_of
from vizkit.traces import NotApplicable

LN3 = float(np.log(3))


# Records --------------------------------------------------------------------------------------------------------------


def whole(**changed):
    parts = {
        "name": "ordinal",
        "title": "ordered classes",
        "output": "rank",
        "gives": "a rank",
        "unjudged": "none is right",
        "values": lambda logits: logits,
        "listed": lambda logits, count: [0],
        "answers": lambda logits: (0,),
        "target": lambda logits: 0,
    }
    return Head(**(parts | changed))


def test_a_whole_record_is_made():
    assert whole().text(0.5) == "0.5"


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"title": ""}, "give `title`"),
        ({"output": ""}, "give `output`"),
        ({"gives": ""}, "give `gives`"),
        ({"values": None}, "give `values`"),
        ({"listed": None}, "give `listed`"),
        ({"answers": None}, "give `answers`"),
        ({"target": None}, "give `target`"),
        ({"exclusive": True, "unjudged": ""}, "`exclusive` is for probabilities"),
        ({"unjudged": ""}, "give `unjudged`"),
        ({"exclusive": True, "probable": True}, "give `unjudged`"),
    ],
)
def test_a_record_with_a_part_missing_says_what_to_add_where(changed, words):
    with pytest.raises(ValueError, match=r"head 'ordinal' in vizkit/heads\.py is not whole") as caught:
        whole(**changed)
    assert words in str(caught.value)


def test_every_record_is_listed_by_its_name():
    records = {name: value for name, value in vars(heads).items() if isinstance(value, Head)}
    assert {head.name: head for head in records.values()} == HEADS | {"likeness": LIKENESS}
    assert [name.lower() for name in records] == [*HEADS, "likeness"]


@pytest.mark.parametrize("head", HEADS.values(), ids=list(HEADS))
def test_every_head_answers_in_the_outputs_that_there_are(head):
    logits = torch.tensor([0.3, -1.2, 2.0, 0.1])
    assert head.values(logits).shape == (4,)
    assert head.values(logits[None]).shape == (1, 4)
    assert set(head.answers(logits)) <= set(range(4))
    assert head.target(logits) in {ITSELF, 0, 1, 2, 3}
    assert len(head.top(logits, 2)) <= 2
    assert isinstance(head.bar(0.25), float) is head.probable
    assert all(("%" in text) is head.probable for _, text in head.lines(logits, str))


# By hand --------------------------------------------------------------------------------------------------------------


def test_softmax_by_hand():
    logits = torch.tensor([0.0, LN3])  # 1 : 3
    torch.testing.assert_close(SOFTMAX.values(logits), torch.tensor([0.25, 0.75]))
    assert SOFTMAX.answers(logits) == (1,)
    assert SOFTMAX.target(logits) == 1
    assert SOFTMAX.top(logits) == [(1, pytest.approx(0.75)), (0, pytest.approx(0.25))]
    assert SOFTMAX.lines(logits, lambda i: "ab"[i]) == [("b", "75 %"), ("a", "25 %")]
    assert [index for index, _ in SOFTMAX.top(torch.arange(9.0), 3)] == [8, 7, 6]
    assert [index for index, _ in SOFTMAX.top(torch.tensor([0.0, 2.0, 1.0]))] == [1, 2, 0]


def test_sigmoid_by_hand():
    logits = torch.tensor([-LN3, 0.0, LN3])  # odds of 1 : 3, 1 : 1, 3 : 1
    torch.testing.assert_close(SIGMOID.values(logits), torch.tensor([0.25, 0.5, 0.75]))
    assert SIGMOID.answers(logits) == (1, 2)  # several may be right
    assert SIGMOID.answers(logits - 2) == ()
    assert SIGMOID.target(logits) == 2
    assert [text for _, text in SIGMOID.lines(logits, str)] == ["75 %", "50 %", "25 %"]


def test_regression_by_hand():
    logits = torch.tensor([-2.0, 37.25])
    assert REGRESSION.lines(logits, str) == [("0", "-2"), ("1", "37.25")]  # not sorted: units differ
    assert REGRESSION.target(logits) == 0
    assert REGRESSION.answers(logits) == (0, 1)


def test_embedding_by_hand():
    own = torch.tensor([3.0, 4.0])
    assert EMBEDDING.lines(own, str) == []
    assert EMBEDDING.target(own) == ITSELF
    score = scorer(own, ITSELF)
    assert score(own) == pytest.approx(5.0)  # its length
    assert score(torch.tensor([[6.0, 8.0], [4.0, -3.0]])).tolist() == pytest.approx([10.0, 0.0])
    at = own.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(scorer(at, ITSELF)(at), at)
    torch.testing.assert_close(gradient, torch.tensor([0.6, 0.8]))  # of the length
    assert scorer(own, 1)(own) == 4.0
    assert scorer(torch.zeros(2), ITSELF)(torch.zeros(2)) == 0.0  # not NaN


def test_the_share_of_a_label_is_its_own_probability():
    weights, pixels = picture(1)[0], picture(2)
    score = float((pixels * weights).sum())
    alone = Subject(linear(weights, pixels).logits, pixels, 0, head=SIGMOID)
    assert float(alone.share(pixels)[0]) == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-6)
    assert float(linear(weights, pixels).share(pixels)[0]) == pytest.approx(
        np.exp(score) / (np.exp(score) + 1), abs=1e-6
    )
    for head in (REGRESSION, EMBEDDING):
        with pytest.raises(NotApplicable, match="no probability to follow"):
            Subject(alone.logits, pixels, 0, head=head).share(pixels)


@pytest.mark.parametrize("head", [SIGMOID, REGRESSION, EMBEDDING], ids=lambda head: head.name)
def test_only_classes_that_exclude_one_another_have_rivals(head):
    toy = linear(picture(1)[0], picture(2))
    with pytest.raises(NotApplicable, match="nothing is explained against another"):
        Subject(toy.logits, toy.pixels, 0, 1, head=head)


def test_an_embedding_is_scored_along_its_own_direction():
    matrix = torch.randn(3 * 4 * 8, 5, generator=torch.Generator().manual_seed(4))
    own, changed = picture(1), picture(2)
    subject = Subject(lambda x: x.flatten(1) @ matrix, own, ITSELF, head=EMBEDDING)
    first, then = own.flatten() @ matrix, changed.flatten() @ matrix
    assert float(subject.score(own)[0]) == pytest.approx(float(first.norm()), rel=1e-5)
    assert float(subject.score(changed)[0]) == pytest.approx(float(first @ then / first.norm()), rel=1e-4)


def test_a_likeness_is_the_cosine_and_its_gradient_that_of_the_length_along():
    own = torch.tensor([3.0, 4.0])
    outputs = torch.tensor([[3.0, 4.0], [6.0, 8.0], [4.0, -3.0], [0.0, 5.0], [0.0, 0.0]])
    parts = parts_along(outputs, own[None])
    torch.testing.assert_close(parts, torch.tensor([[5.0, 0.0], [10.0, 0.0], [0.0, 5.0], [4.0, 3.0], [0.0, 0.0]]))
    torch.testing.assert_close(LIKENESS.values(parts)[:, 0], torch.tensor([1.0, 1.0, 0.0, 0.8, 0.0]))
    at = own.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(parts_along(at, own[None])[LIKENESS.target(parts[0])], at)
    torch.testing.assert_close(gradient, torch.tensor([0.6, 0.8]))
    assert LIKENESS.lines(parts[3], str) == [("0", "0.800")]
    assert not torch.isnan(parts_along(own, torch.zeros(1, 2))).any()


def test_a_model_without_classes_answers_by_likeness_where_it_is_known_to_what():
    loaded = vizkit.wrap(Several(7), size_hw=SIZE_HW, head="embedding")
    own = embedding_of(loaded, pixels_of(loaded, PICTURE))
    answering = likened(loaded, own)
    assert (loaded.head, answering.head, answering.label(0)) == (EMBEDDING, LIKENESS, LIKENESS_IN_WORDS)
    assert LIKENESS.lines(vizkit.trace(answering, PICTURE).logits, answering.label) == [(LIKENESS_IN_WORDS, "1.000")]
    other = 255 - PICTURE
    cosine = torch.cosine_similarity(own, embedding_of(answering, pixels_of(answering, other)), dim=0)
    assert float(LIKENESS.values(vizkit.trace(answering, other).logits)[0]) == pytest.approx(float(cosine), abs=1e-5)
    with pytest.raises(ModelError, match="cannot have the head 'likeness'"):
        with_head(loaded, "likeness")


def test_beside_other_images_a_model_without_classes_answers_with_the_nearest_too():
    own, cat, cup = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 2.0]])
    answering = likened(vizkit.wrap(Several(7), size_hw=SIZE_HW, head="embedding"), own, {"cat": cat, "cup": cup})
    parts = answering.logits_of(torch.tensor([[0.6, 0.8], [0.6, -0.8]]), 2)
    torch.testing.assert_close(LIKENESS.values(parts)[:, :3], torch.tensor([[0.6, 0.96, 0.8], [0.6, 0.0, -0.8]]))
    assert LIKENESS.lines(parts[0], answering.label, 2) == [(LIKENESS_IN_WORDS, "0.600"), ("cat", "0.960")]
    assert LIKENESS.target(parts[0]) == 0, "what is explained stays the image itself"
    assert answering.outputs == 1


def test_an_embedding_that_a_blur_leaves_alike_is_undecided():
    pixels = torch.ones(1, 3, 4, 8)
    pixels[..., 0] = 5.0

    def subject(changes):
        def embedding(x):
            return torch.stack([torch.ones(len(x)), changes * x.flatten(1).std(1)], 1)

        return Subject(lambda x: parts_along(embedding(x), embedding(pixels)), pixels, 0, head=LIKENESS)

    assert "hardly changes when the whole image has one colour" in undecided(subject(0.01), "mean")
    assert undecided(subject(2.0), "mean") == ""


def test_a_label_is_decided_where_its_probability_is_half_or_more():
    """Two labels of which both are right, though only one has the largest logit."""
    pixels = torch.ones(1, 3, 4, 8)
    pixels[..., 0] = 5.0

    def logits(x):
        lively = x.flatten(1).std(1) * 10 - 1
        return torch.stack([lively, 2 * lively], 1)

    assert undecided(Subject(logits, pixels, 0, head=SIGMOID), "mean") == ""
    assert "not the model's answer" in undecided(Subject(logits, pixels, 0), "mean")


# Models ---------------------------------------------------------------------------------------------------------------


class Several(TenLines):
    def __init__(self, outputs):
        super().__init__()
        self.head = torch.nn.Linear(24, outputs)


@pytest.fixture(autouse=True)
def same_weights():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize(
    "outputs, given, head, guessed",
    [
        (7, {}, SOFTMAX, True),
        (1, {}, REGRESSION, True),
        (1000, {}, SOFTMAX, True),
        (7, {"labels": list("abcdefg")}, SOFTMAX, True),
        (7, {"head": "sigmoid"}, SIGMOID, False),
        (1, {"head": "sigmoid"}, SIGMOID, False),
        (7, {"head": "embedding"}, EMBEDDING, False),
        (2, {"head": "regression", "labels": ["age", "weight"]}, REGRESSION, False),
    ],
)
def test_a_module_has_the_head_that_is_given_else_a_guess_that_is_said(outputs, given, head, guessed):
    loaded = vizkit.wrap(Several(outputs), size_hw=SIZE_HW, **given)
    assert (loaded.head, loaded.head_guessed, loaded.outputs) == (head, guessed, outputs)
    notes = [note for note in vizkit.trace(loaded, PICTURE).notes if "head" in note]
    assert len(notes) == guessed
    assert all(f"{head.name} is a guess: give head=" in note for note in notes)


@pytest.mark.parametrize(
    "outputs, head, labels, words",
    [
        (3, "softmax", (), ["class 0", "class 2"]),
        (3, "sigmoid", (), ["label 0", "label 2"]),
        (3, "regression", (), ["value 0", "value 2"]),
        (1, "regression", (), ["value"]),
        (1, "regression", ("age",), ["age"]),
        (3, "embedding", ("a", "b", "c"), ["feature 0", "feature 2"]),
        (3, "sigmoid", ("a", "b", "c"), ["a", "c"]),
    ],
)
def test_outputs_are_called_by_what_they_are(outputs, head, labels, words):
    loaded = vizkit.wrap(Several(outputs), size_hw=SIZE_HW, head=head, labels=labels)
    assert [loaded.label(0), *([loaded.label(2)] if outputs > 1 else [])] == words
    assert loaded.label(ITSELF) == "this image's own embedding"


@pytest.mark.parametrize(
    "outputs, head, words",
    [
        (3, "logistic", "cannot have the head 'logistic'"),
        (3, "", "cannot have the head ''"),
        (1, "softmax", "always 1"),
    ],
)
def test_a_head_that_cannot_be_is_refused(outputs, head, words):
    with pytest.raises(ModelError, match=words):
        vizkit.wrap(Several(outputs), size_hw=SIZE_HW, head=head)


ENDS = {  # what the module makes of its logits → head, whether that is a guess
    "softmax": (lambda x: x.softmax(-1), SOFTMAX, False),
    "log_softmax": (lambda x: x.log_softmax(-1), SOFTMAX, False),
    "sigmoid": (torch.sigmoid, SIGMOID, False),
    "sigmoid by hand": (lambda x: 1 / (1 + (-x).exp()), SIGMOID, True),
    "nothing": (lambda x: x, SOFTMAX, True),
    "relu": (torch.relu, SOFTMAX, True),
}


class Ending(Several):
    def __init__(self, outputs, end):
        super().__init__(outputs)
        self.end = end

    def forward(self, x):
        return self.end(super().forward(x))


@pytest.mark.parametrize("stated", [None, "softmax", "sigmoid", "regression"])
@pytest.mark.parametrize("end", ENDS)
def test_probabilities_that_a_module_gives_are_shown_as_they_are(end, stated):
    function, head, guessed = ENDS[end]
    model = Ending(4, function)
    loaded = vizkit.wrap(model, size_hw=SIZE_HW, head=stated)
    trace = vizkit.trace(loaded, PICTURE, target=0)
    assert trace.check.passed
    with torch.no_grad():
        own = model(pixels_of(loaded, PICTURE))[0]
    shown = dict(trace.labels)
    if stated is None:
        assert (loaded.head, loaded.head_guessed) == (head, guessed)
    elif stated == "regression":
        assert [*shown.values()] == pytest.approx(own.tolist(), abs=1e-6)
        return
    kind = loaded.head.name if stated is None else stated
    done = own.exp() if end == "log_softmax" else own
    if end in ("nothing", "relu") or (end, kind) == ("log_softmax", "sigmoid"):
        done = own.softmax(-1) if kind == "softmax" else own.sigmoid()
    elif kind == "softmax":
        done = done / done.sum()
    assert shown == pytest.approx({loaded.label(i): float(share) for i, share in enumerate(done)}, abs=1e-5)


@pytest.mark.parametrize("end", [lambda x: x.flatten(), lambda x: x.squeeze(), lambda x: x.sigmoid().squeeze(-1)])
def test_a_head_without_an_axis_of_outputs_has_one(end):
    model = Ending(1, end)
    loaded = vizkit.wrap(model, size_hw=SIZE_HW)
    two = torch.cat([pixels_of(loaded, PICTURE), pixels_of(loaded, PICTURE[::-1].copy())])
    with torch.no_grad():
        values = loaded.head.values(logits_of_batch(loaded)(two))
        own = model(two)
    assert values.shape == (2, 1)
    torch.testing.assert_close(values[:, 0], own, rtol=0, atol=1e-6)
    trace = vizkit.trace(loaded, PICTURE, target=0)
    assert trace.check.passed
    assert [share for _, share in trace.labels] == pytest.approx([float(own[0])], abs=1e-5)


def test_a_module_that_runs_nowhere_is_wrapped_all_the_same():
    loaded = vizkit.wrap(torch.nn.Linear(3, 3), size_hw=SIZE_HW)
    assert (loaded.head, loaded.head_guessed, loaded.outputs) == (SOFTMAX, True, None)


def test_timms_own_heads_are_no_guess_but_others_are():
    def head_of(**options):
        loaded = vizkit.load("test_vit", pretrained=False, **options)
        return loaded.head, loaded.head_guessed

    assert head_of() == (SOFTMAX, False)
    assert head_of(model_args={"num_classes": 0}) == (EMBEDDING, False)
    assert head_of(model_args={"num_classes": 1}) == (REGRESSION, True)
    assert head_of(model_args={"num_classes": 1}, head="sigmoid") == (SIGMOID, False)
    assert head_of(model_args={"num_classes": 5}) == (SOFTMAX, True)
    assert vizkit.load("bundled:digits_vit").notes == ()


def folder(path, classes, **more):
    model = timm.create_model("test_vit", num_classes=classes, img_size=48)
    path.mkdir(exist_ok=True)
    save_file(model.state_dict(), path / "model.safetensors", {"format": "pt"})
    save_config_for_hf(model, str(path / "config.json"), {**more, "pretrained_cfg": {"input_size": (3, 48, 48)}})
    return path


@pytest.mark.parametrize(
    "classes, more, head, guessed",
    [
        (3, {"head": "sigmoid", "label_names": ["a", "b", "c"]}, SIGMOID, False),
        (1, {"head": "regression"}, REGRESSION, False),
        (1, {}, REGRESSION, True),
        (3, {}, SOFTMAX, True),
        (3, {"head": "softmax"}, SOFTMAX, False),
        (0, {}, EMBEDDING, False),
    ],
)
def test_a_folder_says_its_head_in_its_configuration(tmp_path, classes, more, head, guessed):
    loaded = vizkit.load(folder(tmp_path / "own", classes, **more))
    assert (loaded.head, loaded.head_guessed) == (head, guessed)
    assert loaded.labels == tuple(more.get("label_names", ()))


def test_a_configuration_with_another_word_is_refused(tmp_path):
    with pytest.raises(ModelError, match="own cannot have the head 'heads'"):
        vizkit.load(folder(tmp_path / "own", 3, head="heads"))


def test_of_several_models_those_that_say_their_own_head_keep_it(tmp_path):
    silent, says = folder(tmp_path / "silent", 3), folder(tmp_path / "says", 3, head="sigmoid")
    opening = Opening(head="regression")
    assert [opening.load(str(name), several=True).head for name in (silent, says)] == [REGRESSION, SIGMOID]
    assert set(get_args(get_args(get_type_hints(Opening)["head"])[0])) == set(HEADS)


def test_a_run_of_our_training_is_no_guess(tmp_path):
    path = folder(tmp_path / "own", 3)
    (path / "recipe.json").write_text("{}")
    assert not vizkit.load(path).head_guessed


@pytest.mark.parametrize(
    "labels, problem, head, guessed",
    [
        (5, "multi_label_classification", SIGMOID, False),
        (5, "single_label_classification", SOFTMAX, False),
        (2, "regression", REGRESSION, False),
        (1, None, REGRESSION, True),
        (5, None, SOFTMAX, False),
    ],
)
def test_transformers_says_it_by_its_problem_type(tmp_path, photo, labels, problem, head, guessed):
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
        num_labels=labels,
        problem_type=problem,
    )
    model = transformers.ViTForImageClassification(config).eval()
    model.save_pretrained(tmp_path / "folder")
    loaded = vizkit.load(tmp_path / "folder")
    assert (loaded.head, loaded.head_guessed) == (head, guessed)
    with torch.no_grad():
        logits = model(pixel_values=pixels_of(loaded, photo)).logits[0]
    answers = vizkit.trace(loaded, photo).labels
    own = {SIGMOID: logits.sigmoid(), SOFTMAX: logits.softmax(0), REGRESSION: logits}[head]
    assert dict(answers) == pytest.approx({loaded.label(i): float(v) for i, v in enumerate(own)}, abs=1e-5)


# Explaining -----------------------------------------------------------------------------------------------------------


def test_the_gradients_of_an_embedding_are_those_of_its_length():
    model = Several(6)
    loaded = vizkit.wrap(model, size_hw=SIZE_HW, head="embedding")
    trace = vizkit.trace(loaded, PICTURE, target=ITSELF)
    _, gradients = by_hand(model, pixels_of(loaded, PICTURE), torch.Tensor.norm)
    assert trace.target == ITSELF
    for layer, gradient in zip(trace.attention, gradients, strict=True):
        torch.testing.assert_close(layer.gradient[0], gradient, rtol=0, atol=1e-6)


@pytest.mark.parametrize("head", HEADS)
def test_every_fast_map_and_occlusion_have_a_target_that_means_something(head):
    loaded = vizkit.wrap(timm.create_model("test_vit", num_classes=4, img_size=48), size_hw=(48, 48), head=head)
    picture = np.random.default_rng(1).integers(0, 256, (48, 48, 3), dtype=np.uint8)
    question = Question.of(loaded, picture)
    assert question.subject.target == loaded.head.target(question.trace.logits)
    for method in ("rollout", "generic_relevance", "legrad", "grad_cam", "occlusion"):
        assert torch.isfinite(question.explain(method).heat).all()
    if head == "embedding":
        length = question.trace.logits.norm()
        torch.testing.assert_close(question.subject.score(question.subject.pixels)[0], length, rtol=1e-4, atol=1e-4)
        assert question.explain("generic_relevance").target == ITSELF


def test_maps_are_scored_for_probabilities_and_embeddings_only(digits):
    scorable(with_head(digits, "embedding"))
    with pytest.raises(NotApplicable, match="no probability to score maps by"):
        scorable(with_head(digits, "regression"))


NAMES = ("2", "crane", "tabby, tabby cat", "Egyptian cat", "crane", "tiger", "7")


@pytest.mark.parametrize(
    "target, number",
    [
        (None, None),
        (2, 2),
        ("2", 0),
        (" 7", 6),
        ("3", 3),
        ("class 2", 2),
        ("tiger", 5),
        ("TABBY", 2),
        ("crane (class 4)", 4),
        ("99", 99),
        ("crane", "2 classes of Several have 'crane' in their name: crane (class 1), crane (class 4); give a number"),
        ("cat", r"2 classes of Several have 'cat' in their name: tabby, tabby cat (class 2), Egyptian cat (class 3)"),
        ("owl", "Several has no class 'owl'; it has 2 (class 0), crane (class 1)"),
        ("", "has no class ''"),
    ],
)
def test_a_target_is_a_number_or_a_name_and_digits_are_a_name_where_there_is_one(target, number):
    loaded = vizkit.wrap(Several(7), size_hw=SIZE_HW, labels=NAMES, head="softmax")
    if isinstance(number, str):
        with pytest.raises(ValueError, match=re.escape(number)):
            loaded.number_of(target)
    else:
        assert loaded.number_of(target) == number
    nameless = vizkit.wrap(Several(7), size_hw=SIZE_HW, head="softmax")
    assert [nameless.number_of(text) for text in ("2", "class 2")] == [2, 2]


def test_every_door_knows_names():
    """Class "2" is the first one; the page of a view, and a link to it, go through the same `setting`."""
    loaded = vizkit.wrap(Several(7), size_hw=SIZE_HW, labels=NAMES, head="softmax")
    for target, number in (("2", 0), (2, 2), ("tiger", 5)):
        assert vizkit.trace(loaded, PICTURE, target=target).target == number
        assert vizkit.explain(loaded, PICTURE, "generic_relevance", target=target).target == number
        shown = vizkit.show("relevance", loaded, PICTURE, target=target)
        assert int(shown.numbers["target"]) == number
    with pytest.raises(ValueError, match="give a number"):
        vizkit.show("relevance", loaded, PICTURE, target="crane")


def test_no_output_is_explained_that_does_not_exist(digits, photo):
    with pytest.raises(ValueError, match="Class -1 does not exist"):
        vizkit.trace(digits, photo, target=ITSELF)
    with pytest.raises(ValueError, match="Class 10 does not exist"):
        Question.of(with_head(digits, "sigmoid"), photo, 10)
    with pytest.raises(NotApplicable, match="several may be right, so nothing is explained against"):
        subject_of(with_head(digits, "sigmoid"), photo, 3, 5)


# Commands -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes, head, line",
    [
        (3, "sigmoid", r"^ +[\d.]+ %  label \d$"),
        (1, "regression", r"^ +-?[\d.]+  value$"),
        (3, "embedding", r"^ +[\d.]+  is the length of its embedding, 3 features$"),
        (3, "softmax", r"^ +[\d.]+ %  class \d$"),
    ],
)
def test_the_command_writes_each_answer_in_its_own_unit(tmp_path, capsys, classes, head, line):
    model = str(folder(tmp_path / "own", classes))
    picture = str(tmp_path / "picture.png")
    from PIL import Image

    Image.fromarray(PICTURE).save(picture)
    assert main(["trace", picture, "--model", model, "--head", head, "-o", str(tmp_path / "out.npz")]) == 0
    printed = capsys.readouterr().out
    assert re.search(line, printed, re.MULTILINE)
    assert ("%" in printed) is HEADS[head].probable
    with np.load(tmp_path / "out.npz") as file:
        assert json.loads(str(file["meta"]))["head"] == head
    assert main(["explain", picture, "--model", model, "--head", head, "-o", str(tmp_path / "out.png")]) == 0
    said = capsys.readouterr().out.splitlines()[1]
    assert ("%" in said) is HEADS[head].probable
    assert ("this image's own embedding" in said) is (head == "embedding")


def test_the_command_says_that_a_head_is_a_guess(tmp_path, capsys):
    from PIL import Image

    Image.fromarray(PICTURE).save(tmp_path / "picture.png")
    model = str(folder(tmp_path / "own", 1))
    main(["trace", str(tmp_path / "picture.png"), "--model", model, "-o", str(tmp_path / "out.npz")])
    assert "regression is a guess" in capsys.readouterr().out
