"""Teachers and students by hand: golden logits, what losses are made of, who is compared, what is counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.views.contract import everything, model, subject
from vizkit.datasets import samples
from vizkit.traces import NotApplicable
from vizkit.views.address import from_address, to_address
from vizkit.views.blocks import Bars, Columns, Heading, Line, Numbers, Table
from vizkit.views.distillation.augmentation import Augmentation
from vizkit.views.distillation.labelled import teachers
from vizkit.views.distillation.pair import MANY, TeacherStudent
from vizkit.views.distillation.temperature import TYPED, Temperature
from vizkit.views.distillation.tokens import TwoTokens
from vizkit.views.subject import Subject, no_model, no_picture

NOBODY = Subject(no_model, no_picture())


def shown(view, of, kind: Any = Bars) -> list[Any]:
    return [block for block in everything(view.show(of)) if isinstance(block, kind)]


def bars(view, of):
    return [block.bars for block in shown(view, of)]


def texts(view, of, kind: Any = Line) -> str:
    return "\n".join(block.text for block in shown(view, of, kind))


def of(name: str, image: str = "digit 3") -> Subject:
    loaded = model(name)
    return Subject(lambda: loaded, samples.picture(image), image=image, model=name)


# ---- temperature -----------------------------------------------------------------------------------------------------
def test_typed_logits_are_the_golden_example():
    one, _, five, ten, dark = bars(Temperature(source=TYPED), NOBODY)
    assert one.values == pytest.approx([0.997, 0.002, 0, 0, 0], abs=1e-3)
    assert five.values == pytest.approx([0.637, 0.192, 0.129, 0.021, 0.021], abs=1e-3)
    assert sum(ten.values) == pytest.approx(1)
    assert sum(dark.values) == pytest.approx(1)
    assert one.names == ten.names == ("class 1", "class 3", "class 4", "class 2", "class 5")
    assert one.colours == ten.colours
    with pytest.raises(NotApplicable, match="not a number"):
        bars(Temperature(source=TYPED, logits="cow = 4, dog = much"), NOBODY)


def test_many_classes_show_the_first_and_the_rest():
    logits = ", ".join(f"c{at} = {at / 10}" for at in range(50))
    yours = bars(Temperature(source=TYPED, logits=logits), NOBODY)[3]
    assert (len(yours.names), yours.names[0], yours.names[-1]) == (11, "c49", "40 others")
    assert sum(yours.values) == pytest.approx(1)


# ---- teacher and student ---------------------------------------------------------------------------------------------
def losses(view, subjects) -> dict[str, list[float]]:
    table = shown(view, subjects, Table)[0]
    return {row[""]: [float(str(cell).rstrip("%")) for name, cell in row.items() if name] for row in table.rows}


def test_the_table_is_what_losses_are_made_of():
    view, pair = TeacherStudent(), [of("digits_vit"), of("digits_swin")]
    found = losses(view, pair)
    assert list(found) == ["digits_vit", "digits_swin"]
    for kl, scaled, label, choice, soft, hard in found.values():
        assert scaled == pytest.approx(9 * kl, abs=0.006)
        assert soft == pytest.approx((label + scaled) / 2, abs=0.002)
        assert hard == pytest.approx((label + choice) / 2, abs=0.002)
    assert sum(bars(view, pair)[3].values) == pytest.approx(found["digits_vit"][0], abs=6e-4)
    assert "Teacher: CNN · digits" in texts(view, pair, Heading)
    kl, scaled, _, choice, soft, hard = losses(replace(view, temperature=8.0, share=1.0), pair)["digits_vit"]
    assert scaled == pytest.approx(64 * kl, abs=0.04)
    assert (soft, hard) == (scaled, choice)
    wrong = losses(replace(view, label="8"), pair)["digits_vit"]
    assert wrong[2] > found["digits_vit"][2] + 1


def test_one_model_has_a_teacher_and_a_teacher_a_student():
    assert list(losses(TeacherStudent(), [of("digits_vit")])) == ["digits_vit"]
    assert list(losses(TeacherStudent(teacher="digits_cnn"), [of("digits_cnn")])) == ["ViT · digits"]
    with pytest.raises(NotApplicable, match="alone"):
        shown(TeacherStudent(), [subject("stranger")])


def test_other_classes_are_refused_in_a_sentence():
    pair = [of("digits_vit"), of("insects_deit")]
    assert list(losses(TeacherStudent(), pair)) == ["digits_vit"]  # the other student is shown
    said = texts(TeacherStudent(), pair)
    assert "CNN · digits knows 10 classes (0, 1, …) and insects_deit 12 classes" in said


def test_many_pictures_and_a_folder(tmp_path):
    one = of("digits_vit")
    many = TeacherStudent(over=MANY, images="50")
    found = losses(many, [one])["digits_vit"]
    assert min(found[-2:]) > 90  # right, and as the teacher, in percent
    hot = losses(replace(many, temperature=8.0), [one])["digits_vit"]
    assert hot[0] != found[0]
    assert hot[2] == found[2]  # the label knows no T
    with pytest.raises(NotApplicable, match="insects shows mayfly nymph and other classes"):
        losses(replace(many, data="insects"), [one])
    draw = np.random.default_rng(0)
    for folder in ("train/3", "train/8", "test/3", "test/8"):
        (tmp_path / folder).mkdir(parents=True)
        for index in range(3):
            pixels = draw.integers(0, 255, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / folder / f"{index}.png")
    one.folders, mine = {"birds": str(tmp_path)}, replace(many, data="a folder", folder="birds")
    assert str(tmp_path) not in str(to_address(mine))  # a link names a folder as the page offers it
    assert from_address(TeacherStudent, to_address(mine)) == mine
    assert "mean over 6 pictures" in texts(mine, [one], Heading)
    (tmp_path / "test" / "3" / "0.png").write_bytes(b"\x89PNG")
    with pytest.raises(NotApplicable, match="can be read"):
        losses(replace(mine, images="100"), [one])


# ---- two tokens ------------------------------------------------------------------------------------------------------
@pytest.mark.product(first=0)
def test_counting_asks_the_teacher_and_the_models_beside():
    one, same = of("insects_deit", "mayfly nymph"), of("insects_deit", "mayfly nymph")
    same.model = "another"
    one.beside = (same, of("digits_cnn"))  # the digits know other classes
    assert teachers([one])[0] == "CNN · insects"  # named by the recipe of the bundled run
    counted, published = shown(TwoTokens(images="50"), one, Table)
    names = [row[""] for row in counted.rows]
    assert names == ["class token", "distillation token", "both averaged", "another", "teacher, CNN · insects"]
    assert counted.rows[2]["with the label"] == counted.rows[3]["with the label"]  # the same model
    assert "50 pictures" in counted.caption
    assert len(published.rows) == 5


# ---- augmentation ----------------------------------------------------------------------------------------------------
def test_the_mixed_label_is_of_the_classes_of_both_pictures():
    one = of("digits_cnn")
    (mixed,) = [block.arrays() for block in shown(Augmentation(part="Mixup and CutMix"), one, Numbers)]
    assert mixed["values"].shape == (2, 10)
    assert mixed["values"].sum(1) == pytest.approx([1, 1])
    other = Augmentation(part="Mixup and CutMix", partner="flower")  # no classes in common: two names
    assert set(bars(other, one)[0].names) == {"flower", "digit 3"}


def test_without_a_model_pictures_are_still_drawn():
    nobody = Subject(no_model, samples.picture("digit 3"), image="digit 3")
    assert len(shown(Augmentation(), nobody, Columns)) == 2
    with pytest.raises(NotApplicable, match="Choose a model"):
        shown(Augmentation(part="Drop path"), nobody)
