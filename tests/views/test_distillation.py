"""Teachers and students by hand: golden logits, what losses are made of, who is compared, what is counted."""

from dataclasses import replace

import pytest

from tests.views.contract import everything, model
from vizkit.datasets import samples
from vizkit.traces import NotApplicable
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.views import content, reads
from vizkit.views.blocks import Bars, Chart, Columns, Heading, Line, Link, Numbers, Picture, Said, Table, Tiles
from vizkit.views.distillation import tokens
from vizkit.views.distillation.beside import ALONE, CLS, DIST, MEAN, TEACHER, answers_of
from vizkit.views.distillation.labelled import own_teacher, teacher_of, trained_alone
from vizkit.views.distillation.temperature import INSTEAD, STUDENT, TYPED, Temperature
from vizkit.views.settled import settled
from vizkit.views.subject import Subject, no_model, no_picture

NOBODY = Subject(no_model, no_picture())


@pytest.fixture(autouse=True)
def few_images(monkeypatch):
    """On which right answers are counted below every step, which takes far longer than the step."""
    monkeypatch.setattr(tokens, "IMAGES", 20)


def shown(view, of, kind=Bars):
    return [block for block in everything(view.show(of)) if isinstance(block, kind)]


def bars(view, of):
    return [block.bars for block in shown(view, of)]


def texts(view, of, kind=Line):
    return "\n".join(block.text for block in shown(view, of, kind))


def of(which, image="digit 3", **changes):
    loaded = replace(model(which), **changes)
    return Subject(lambda: loaded, samples.picture(image), image=image, model=which)


# ---- temperature -----------------------------------------------------------------------------------------------------
def test_typed_logits_are_the_golden_example():
    one, five, dark = bars(Temperature(source=TYPED, temperature=5.0), NOBODY)
    assert one.values == pytest.approx([0.997, 0.002, 0, 0, 0], abs=1e-3)
    assert five.values == pytest.approx([0.637, 0.192, 0.129, 0.021, 0.021], abs=1e-3)
    assert sum(dark.values) == pytest.approx(1)
    assert one.names == five.names == ("class 1", "class 3", "class 4", "class 2", "class 5")
    assert one.colours == five.colours
    with pytest.raises(NotApplicable, match="not a number"):
        bars(Temperature(source=TYPED, logits="cow = 4, dog = much"), NOBODY)


def test_what_is_typed_is_of_no_model_and_no_image():
    photograph = of("digits_vit", "china")
    photograph.model = "ViT · digits"  # as pages name it
    typed, own = (
        [each.text for each in content(view, photograph) if isinstance(each, Said)]
        for view in (Temperature(source=TYPED), Temperature())
    )
    assert "knows only 10 handwritten digits" in own[0]
    assert "knows only" not in typed[0]
    assert (reads(Temperature(source=TYPED)), reads(Temperature())) == ("nothing", "picture and models")


def test_a_model_without_classes_shows_no_logits_that_are_not_its_own():
    with pytest.raises(NotApplicable, match="choose a model with a softmax over classes, or type logits"):
        bars(Temperature(), of("photographs_vit", "china"))


def test_dark_knowledge_has_as_many_rows_as_the_answers_and_adds_up():
    few, every = (bars(Temperature(every=every), of("digits_vit"))[2] for every in (False, True))
    assert (len(few.names), few.names[-1], len(every.names)) == (5, "5 others", 9)
    assert sum(few.values) == pytest.approx(1)


def test_many_classes_show_the_first_and_the_rest():
    logits = ", ".join(f"c{at} = {at / 10}" for at in range(50))
    yours = bars(Temperature(source=TYPED, logits=logits), NOBODY)[1]
    assert (len(yours.names), yours.names[0], yours.names[-1]) == (11, "c49", "40 others")
    assert sum(yours.values) == pytest.approx(1)


# ---- teacher and student ---------------------------------------------------------------------------------------------
def losses(view, one):
    table, *_ = shown(view, one, Table)
    return [float(str(cell)) for cell in table.rows[0].values()]


def test_the_table_is_what_losses_are_made_of():
    view, one = Temperature(), of("insects_deit", "mayfly nymph")
    kl, scaled, label, choice, soft, hard = losses(view, one)
    assert scaled == pytest.approx(9 * kl, abs=0.006)
    assert soft == pytest.approx((label + scaled) / 2, abs=0.002)
    assert hard == pytest.approx((label + choice) / 2, abs=0.002)
    assert sum(bars(view, one)[4].values) == pytest.approx(kl, abs=6e-4)
    kl, scaled, _, choice, soft, hard = losses(replace(view, temperature=8.0, share=1.0), one)
    assert scaled == pytest.approx(64 * kl, abs=0.04)
    assert (soft, hard) == (scaled, choice)


def test_the_teacher_is_the_one_that_the_student_had(tmp_path, monkeypatch):
    one = of("insects_deit", "mayfly nymph")
    teacher = own_teacher(one)
    assert (teacher.loaded.name, teacher_of(one.loaded)) == ("bundled:insects_cnn",) * 2
    assert teacher_of(of("insects_deit", name="DeiT · insects").loaded) == "bundled:insects_cnn"  # as pages name it
    (found,) = [block.arrays() for block in shown(Temperature(), one, Numbers)]
    assert found["teacher"] == pytest.approx(teacher.seen.logits.numpy())
    for alone in ("digits_vit", "digits_cnn"):  # which learned from labels
        assert own_teacher(of(alone)) is None
        assert "had no teacher that is at hand" in texts(Temperature(), of(alone))
        (link,) = shown(Temperature(), of(alone), Link)
        assert (link.words, link.image, link.model) == ("DeiT · insects beside its teacher", INSTEAD, STUDENT)
        assert not shown(Temperature(), of(alone), Table)
    assert not shown(Temperature(source=TYPED), one, Table)
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path))
    run = RunFolder(tmp_path / "mine")
    run.create(Recipe(teacher="bundled:insects_cnn", distillation="hard"))
    mine = of("insects_deit", name="mine", source="run folder").loaded
    assert teacher_of(mine) == "bundled:insects_cnn"
    run.write_text("recipe.json", Recipe(teacher=str(tmp_path), distillation="hard").to_json())
    assert teacher_of(mine) == ""  # no path of this machine


def test_a_teacher_of_other_classes_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path))
    RunFolder(tmp_path / "mine").create(Recipe(teacher="bundled:insects_cnn", distillation="hard"))
    assert own_teacher(of("digits_vit", name="mine", source="run folder")) is None


def test_three_of_five_answers_stand_open_and_the_sentence_names_the_nearest():
    """Each is softened by the same T; KL is summed here by hand."""
    few, every = Temperature(), Temperature(every=True)
    one = of("insects_deit", "mayfly nymph")
    alone = trained_alone(one)
    assert alone.loaded.name == "bundled:insects_vit"  # the recipe of the student, without its teacher
    given = answers_of(one, one.loaded.labels)
    assert [*given] == [TEACHER, DIST, CLS, MEAN, ALONE]  # teacher and pupil beside one another
    assert (given[CLS].logits + given[DIST].logits) / 2 == pytest.approx(given[MEAN].logits, abs=1e-5)
    shares = {name: (each.logits.double() / 3).softmax(0) for name, each in given.items()}
    far = {name: float((shares[TEACHER] * (shares[TEACHER] / p).log()).sum()) for name, p in shares.items()}
    del far[TEACHER]
    own = [f"{100 * float(shares[name].max()):.0f} %" for name in (TEACHER, DIST, ALONE)]
    assert texts(few, one, Said).startswith(
        f"At T = 3 {DIST} ({own[1]}) is about as sure of “mayfly nymph” as {TEACHER} ({own[0]}), {ALONE} ({own[2]}) "
        "surer. All answer “mayfly nymph”, which is right."
    )
    assert f"{MEAN}: together {far[MEAN]:.3f} nats ({DIST} {far[DIST]:.3f} nats, {CLS} {far[CLS]:.3f} nats)" in texts(
        few, one
    )
    dark, *paid = bars(few, one)[3:6]
    assert [each.before for each in (dark, *paid)] == [None] * 3, "a tick is the teacher's answer and nothing else"
    for view, names in ((few, (TEACHER, DIST, ALONE)), (every, given)):
        for column, name in zip(bars(view, one), names, strict=False):
            assert max(column.values[:5]) == pytest.approx(float(shares[name].max()))
            ticks = None if name == TEACHER else pytest.approx(bars(view, one)[0].values)
            assert column.before == ticks, "the teacher's answer stands in all others"
            assert f"{far.get(name, 0):.3f} nats from the teacher" in texts(view, one) or name == TEACHER
    assert [each.text for each in shown(few, one, Heading)][3] == "Dark knowledge of the teacher"
    assert "0.000 nats" not in texts(replace(few, temperature=0.05), one)


def test_of_two_tokens_without_a_teacher_at_hand_three_answers_are_seen():
    one = of("two_heads", "mayfly nymph")
    assert [block.text for block in shown(Temperature(), one, Heading)][:4] == [
        "Distillation token",
        "Class token",
        "Mean of both",
        "Dark knowledge",
    ]
    assert "nats from" not in texts(Temperature(), one)


def test_where_a_student_knows_nothing_a_drawn_insect_is_asked_in_its_place():
    """What it answers to a photograph is neither shown nor saved."""
    photograph, digit = of("insects_deit", "china"), of("digits_vit", "china")
    photograph.model, digit.model = "DeiT · insects", "ViT · digits"  # as pages name them
    insect = of("insects_deit", "mayfly nymph")
    there, here = [shown(Temperature(), one, Numbers)[0].arrays()["logits"] for one in (photograph, insect)]
    assert there == pytest.approx(here)
    instead = "This page asks DeiT · insects about “mayfly nymph”, for of “china” it knows nothing."
    (beside,) = [each for each in shown(Temperature(), photograph, Columns) if isinstance(each.parts[0][0], Picture)]
    assert (beside.parts[0][0].alt, type(beside.parts[1][0])) == ("mayfly nymph", Said)
    assert beside.parts[1][1].text == instead
    assert [each.image for each in shown(Temperature(), photograph, Link)] == ["mayfly nymph"], "the sidebar follows"
    assert not shown(Temperature(), insect, Picture)  # it stands at the side
    for view, one in ((Temperature(), insect), (Temperature(source=TYPED), photograph), (Temperature(), digit)):
        assert "This page asks" not in texts(view, one)


def test_only_what_is_compared_stands_open_in_the_order_of_the_teacher():
    one = of("insects_deit", "mayfly nymph")
    open_ = settled(Temperature().show(one))
    bare = [bars.bars for each in open_ if isinstance(each, Columns) for part in each.parts for bars in part[1:2]]
    assert len(bare) == 4
    assert list(bare[0].values[:5]) == sorted(bare[0].values[:5], reverse=True)
    assert [(len(each.names), each.names[-1]) for each in bare] == [(6, "7 others")] * 3 + [(5, "7 others")]
    assert all(sum(each.values) == pytest.approx(1) for each in bare)
    whole = bars(Temperature(every=True), one)[0]
    assert (len(whole.names), whole.names[:5]) == (12, bare[0].names[:5])
    staged = bars(Temperature(staged=True), one)[0]
    assert len(staged.names) == 12, "a lesson asks about any of them"
    assert staged.before is not None
    assert not [each for each in open_ if isinstance(each, Chart | Table | Tiles)]


# ---- two tokens ------------------------------------------------------------------------------------------------------
@pytest.mark.rest
def test_counting_asks_the_teacher_and_the_models_beside(monkeypatch):
    monkeypatch.setattr(tokens, "IMAGES", 50)
    one, same = of("insects_deit", "mayfly nymph"), of("insects_deit", "mayfly nymph")
    same.model = "another"
    one.beside = (same, of("digits_cnn"))  # the digits know other classes
    counted, published = shown(Temperature(), one, Table)[1:]
    names = [row[""] for row in counted.rows]
    assert names == ["class token", "distillation token", "both averaged", "another", "teacher, CNN · insects"]
    assert counted.rows[2]["with the label"] == counted.rows[3]["with the label"]  # the same model
    assert "50 images" in counted.caption
    assert len(published.rows) == 5
