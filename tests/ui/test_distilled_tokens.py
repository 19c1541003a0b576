"""The two tokens of a distilled model: what they say, how alike they are, and whom they agree with."""

import copy

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.conftest import random_model
from vizkit.__main__ import main
from vizkit.analysis.distillation.agreement import PUBLISHED, Row, share, standard_error, table
from vizkit.analysis.distillation.two_tokens import cosines, overlaps
from vizkit.datasets.opening import open_set
from vizkit.geometry import all_ids
from vizkit.models.probes.two_heads import has_two_tokens, learned_tokens, two_heads
from vizkit.traces import Attention, Check, NotApplicable, Tokens, Trace
from vizkit.training.experiments.answers import BOTH, CLASS, DIST, ask

DEIT, VIT, CNN = (f"bundled:insects_{kind}" for kind in ("deit", "vit", "cnn"))
TINY = "deit_tiny_distilled_patch16_224"
INSECTS = 6  # pictures


@pytest.fixture(scope="module")
def deit():
    """Two blocks of 64² pixels, random weights."""
    import timm

    from vizkit.models.sources.loaded import described

    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = timm.create_model(TINY, img_size=64, depth=2, embed_dim=32, num_heads=2, num_classes=7)
        torch.nn.init.normal_(model.head.weight)
        torch.nn.init.normal_(model.head_dist.weight)
    loaded = described("tiny", model.eval().requires_grad_(False), (64, 64), "test")
    return loaded


@pytest.fixture(scope="module")
def student():
    return vizkit.load(DEIT)


@pytest.fixture(scope="module")
def teacher():
    return vizkit.load(CNN)


@pytest.fixture(scope="module")
def pixels():
    return torch.randn(3, 3, 64, 64, generator=torch.Generator().manual_seed(1))


# ---- heads -----------------------------------------------------------------------------------------------------------
def test_the_heads_are_those_of_timms_own_training_mode(deit, pixels):
    found = two_heads(deit, pixels)
    other = copy.deepcopy(deit.model)
    other.set_distilled_training(True)
    cls, dist = other.train()(pixels)  # no dropout in it: only the flag differs
    assert_close(found.cls, cls)
    assert_close(found.dist, dist)
    assert float((cls - dist).abs().max()) > 0.1
    assert_close(found.averaged, deit.model(pixels))
    assert not deit.model.training  # nothing was switched on the shared model
    assert not deit.model.distilled_training


def test_pit_has_both_tokens_too():
    loaded = random_model("pit_ti_distilled_224")
    pixels = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(2))
    assert has_two_tokens(loaded.model)
    assert_close(two_heads(loaded, pixels).averaged, loaded.model(pixels))
    assert torch.equal(learned_tokens(loaded), loaded.model.cls_token[0])


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("test_vit", {}, "no distillation token"),
        ("test_resnet", {}, "no distillation token"),
        ("levit_128s", {}, "one pooled vector"),
    ],
)
def test_other_models_are_refused_in_a_sentence(name, options, words):
    with pytest.raises(NotApplicable, match=words):
        two_heads(random_model(name, **options), torch.zeros(1, 3, 224, 224))


def test_a_model_without_a_head_is_refused(deit):
    other = copy.copy(deit)
    other.model = copy.deepcopy(deit.model)
    other.model.reset_classifier(0)
    with pytest.raises(NotApplicable, match="no head for its distillation token"):
        learned_tokens(other)


# ---- likeness --------------------------------------------------------------------------------------------------------
def test_cosines_are_those_of_the_blocks(deit, pixels):
    picture = np.random.default_rng(3).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    found = cosines(vizkit.trace(deit, picture))
    from vizkit.models import pixels_of

    x = deit.model._pos_embed(deit.model.patch_embed(pixels_of(deit, picture)))
    for index, block in enumerate(deit.model.blocks):
        x = block(x)
        cls, dist = x[0, 0].double().numpy(), x[0, 1].double().numpy()
        expected = sum(a * b for a, b in zip(cls, dist, strict=True)) / np.sqrt((cls**2).sum() * (dist**2).sum())
        assert float(found[index]) == pytest.approx(expected, abs=1e-5)
    assert len(found) == 2


def test_insects_deit_is_as_in_the_paper(student):
    """The learned tokens are unlike, and grow alike with every layer."""
    first = torch.cosine_similarity(*learned_tokens(student), dim=0)
    found = cosines(vizkit.trace(student, open_set("insects", "test", images=1, size_px=112)[0][0]))
    assert abs(float(first)) < 0.2
    assert (found.diff() > 0).all()
    assert 0.8 < float(found[-1]) < 1


def even_layer(*rows):
    tokens = Tokens("patches", ("cls", "dist"), (1, 2))
    weights = torch.tensor(rows)[None, None]
    return Attention("toy", weights, tokens, tokens, all_ids(4), all_ids(4))


def test_overlap_by_hand():
    rest = [[0.25] * 4] * 2
    apart = even_layer([1.0, 0, 0, 0], [0, 1.0, 0, 0], *rest)
    half = even_layer([0.5, 0.1, 0.4, 0.0], [0.2, 0.2, 0.2, 0.4], *rest)
    same = even_layer([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], *rest)
    trace = Trace("toy", (16, 32), torch.zeros(2), (apart, half, same), (), Check(0.0, 3, 3, 0.0))
    assert overlaps(trace).tolist() == pytest.approx([0, 0.2 + 0.1 + 0.2, 1])


def test_a_model_with_one_token_has_nothing_to_compare(vit, cnn):
    picture = np.zeros((64, 64, 3), np.uint8)
    for loaded in (vit, cnn):
        trace = vizkit.trace(loaded, picture)
        with pytest.raises(NotApplicable):
            cosines(trace)
        with pytest.raises(NotApplicable):
            overlaps(trace)


# ---- agreement -------------------------------------------------------------------------------------------------------
def test_agreement_by_hand():
    labels, teacher = np.array([0, 1, 2, 2]), np.array([0, 1, 1, 2])
    answers = {"one": np.array([0, 1, 1, 0]), "two": np.array([0, 0, 2, 2])}
    assert table(answers, labels, teacher) == [Row("one", 0.5, 0.75), Row("two", 0.75, 0.5)]
    assert table(answers, None, teacher)[0].with_label is None
    assert standard_error(0.5, 100) == pytest.approx(0.05)
    with pytest.raises(ValueError, match="image by image"):
        share(labels, teacher[:3])


def test_published_agreement_is_one_minus_the_papers_disagreement():
    """Touvron et al. 2021, table 4: rows ground truth and RegNetY."""
    differs = {
        "DeiT without a teacher": (0.182, 0.133),
        "class token": (0.170, 0.112),
        "distillation token": (0.169, 0.100),
        "both averaged": (0.166, 0.102),
        "teacher, RegNetY-16GF": (0.171, 0.0),
    }
    assert {name: tuple(round(1 - value, 3) for value in pair) for name, pair in differs.items()} == PUBLISHED


def test_every_picture_is_asked_as_if_it_were_alone(student, teacher, monkeypatch):
    from vizkit.models import pixels_of
    from vizkit.training.experiments import answers

    monkeypatch.setattr(answers, "BATCH", 4)  # so that there are two batches
    pictures = open_set("insects:hard", "test", images=INSECTS, size_px=112)
    done = []
    found = ask(student, teacher, pictures, {"again": student}, tell=done.append)
    assert done == [4, 6]
    for row, (rgb, label) in enumerate(pictures):
        heads = two_heads(student, pixels_of(student, rgb))
        for name, logits in ((CLASS, heads.cls), (DIST, heads.dist), (BOTH, heads.averaged), ("again", heads.averaged)):
            assert found.answers[name][row] == int(logits.argmax()), name
        assert found.teacher[row] == int(teacher.model(pixels_of(teacher, rgb)).argmax())
        assert found.labels[row] == label
    assert len({tuple(rows) for rows in found.answers.values()} | {tuple(found.teacher)}) > 1  # a swap would show


def test_labels_are_matched_by_name_or_left_out(student, teacher):
    pictures = open_set("insects", "test", images=3, size_px=112)
    turned = copy.copy(student)
    turned.labels = student.labels[::-1]
    found = ask(turned, None, pictures)
    assert found.labels.tolist() == [11 - label for label in pictures.targets]
    assert found.teacher is None
    assert ask(student, teacher, [pictures[0][0]]).labels is None  # uploads
    assert ask(student, None, open_set("digits", "test", images=2)).labels is None
    with pytest.raises(NotApplicable, match="same classes"):
        ask(student, random_model("test_vit"), pictures)
    with pytest.raises(NotApplicable, match="no distillation token"):
        ask(teacher, student, pictures)


def test_the_command_writes_its_table(tmp_path, capsys):
    given = ["agreement", "--model", DEIT, "--teacher", CNN, "--beside", VIT, "--images", "4", "--device", "cpu"]
    assert main([*given, "-o", str(tmp_path / "table.md")]) == 0
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    for words in (
        "4 images of insects, test",
        "| class token | ",
        "| insects_vit | ",
        "| teacher, insects_cnn | ",
        f"python -m vizkit agreement --model {DEIT} --teacher {CNN} --beside {VIT} --images 4",
    ):
        assert words in text
    assert main([*given[:3], "--data", "nowhere"]) == 2
    assert main(["agreement", "--model", CNN, "--images", "2"]) == 2
    assert main([*given, "-o", str(tmp_path / "no" / "table.md")]) == 2
    told = capsys.readouterr().err
    assert all(words in told for words in ("'nowhere'", "insects_cnn has no distillation token", "cannot be written"))
