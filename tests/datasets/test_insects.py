"""The drawn insects: reproducible, balanced, told apart by their parts and not by colour."""

import cv2
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vizkit.datasets import insects
from vizkit.datasets.insects.outline import smooth, strip

CLASSES = len(insects.LABELS)
CHANCE = 1 / CLASSES


@pytest.fixture(autouse=True)
def one_thread():
    """As with torch elsewhere: two threads crawl where another process keeps a core busy."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(threads)


@pytest.fixture(scope="module")
def some():
    """Six of each class at normal difficulty, 112 pixels."""
    return [insects.draw(index, split="val", size_px=112) for index in range(6 * CLASSES)]


def test_names_belong_together():
    assert set(insects.DECIDING) == set(insects.LABELS)
    assert all(set(parts) <= set(insects.PARTS) and parts for parts in insects.DECIDING.values())
    assert CLASSES == 12


@pytest.mark.parametrize("difficulty", insects.DIFFICULTIES)
def test_same_arguments_same_bytes(difficulty):
    first = insects.draw(5, size_px=96, difficulty=difficulty)
    insects.draw(6, size_px=96)
    again = insects.draw(5, size_px=96, difficulty=difficulty)
    assert (first.picture == again.picture).all()
    assert (first.parts == again.parts).all()
    assert first.label == again.label


def test_splits_share_no_sample():
    seen = {
        insects.draw(index, split=split, size_px=32).picture.tobytes()
        for split in insects.SPLITS
        for index in range(12)
    }
    assert len(seen) == 3 * 12


@pytest.mark.parametrize("split", insects.SPLITS)
def test_every_run_of_twelve_holds_every_class(split):
    labels = np.array([insects.label_of(index, split, 4) for index in range(20 * CLASSES)]).reshape(20, CLASSES)
    assert (np.sort(labels, axis=1) == np.arange(CLASSES)).all()
    assert len({tuple(row) for row in labels}) > 10  # shuffled, each in its own way


def test_draw_and_label_of_agree():
    assert all(
        insects.draw(index, split="test", seed=2, size_px=16).label == insects.label_of(index, "test", 2)
        for index in range(CLASSES)
    )


@pytest.mark.parametrize("size_px", [16, 33, 512])
def test_shapes_and_ranges(size_px):
    sample = insects.draw(8, size_px=size_px, difficulty="hard")
    assert sample.picture.shape == (size_px, size_px, 3)
    assert sample.parts.shape == (size_px, size_px)
    assert sample.picture.dtype == sample.parts.dtype == np.uint8
    assert sample.parts.max() <= len(insects.PARTS)
    assert sample.picture.std() > 5


@pytest.mark.rest
def test_masks_are_disjoint_and_make_up_the_insect(some):
    for sample in some[:24]:
        masks = np.array([sample.mask(part) for part in insects.PARTS])
        assert masks.sum(0).max() == 1
        assert (masks.any(0) == sample.insect).all()


def test_another_size_shows_the_same_scene():
    for index in range(CLASSES):
        large, small = insects.draw(index, size_px=224), insects.draw(index, size_px=112)
        shrunk = cv2.resize(large.picture, (112, 112), interpolation=cv2.INTER_AREA).astype(float)
        assert np.abs(shrunk - small.picture).mean() < 8
        covered = large.insect.reshape(112, 2, 112, 2).mean((1, 3)) >= 0.5
        assert (covered & small.insect).sum() / (covered | small.insect).sum() > 0.6


def test_deciding_parts_are_seen(some):
    shares = [[sample.mask(part).mean() for part in insects.DECIDING[insects.LABELS[sample.label]]] for sample in some]
    seen = [min(row) > 0.002 for row in shares]  # 25 of 12,544 pixels
    assert np.mean(seen) > 0.97


def test_insect_lies_inside_and_is_large_enough(some):
    shares, cut = [], []
    for sample in some:
        inside = sample.insect[1:-1, 1:-1].sum()
        shares.append(sample.insect.mean())
        cut.append(1 - inside / sample.insect.sum())
    assert min(shares) > 0.04
    assert max(shares) < 0.3
    assert max(cut) < 0.03


def test_part_is_where_the_animal_is_painted():
    """Just inside the outline of the parts the picture is brighter or darker than just outside."""
    apart = []
    for index in range(3 * CLASSES):
        sample = insects.draw(index, size_px=112, difficulty="easy")
        near = cv2.dilate(sample.insect.astype(np.uint8), np.ones((13, 13))) > 0
        ring = near & ~(cv2.dilate(sample.insect.astype(np.uint8), np.ones((5, 5))) > 0)
        body = cv2.erode(sample.insect.astype(np.uint8), np.ones((3, 3))) > 0
        body = body if body.any() else sample.insect
        apart.append(abs(sample.picture[body].mean() - sample.picture[ring].mean()))
    assert np.quantile(apart, 0.1) > 25


def test_some_animals_are_covered_in_part():
    """Something lies over the animal: seen as holes, by drawing the same scene where nothing may cover."""
    holes = []
    for index in range(4 * CLASSES):
        parts = insects.draw(index, size_px=64).parts
        closed = cv2.morphologyEx((parts > 0).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((7, 7)))
        holes.append((closed.sum() - (parts > 0).sum()) / closed.sum())
    assert max(holes) > min(holes) + 0.05


def test_normal_is_turned_less_than_hard():
    def lean(difficulty):
        """Turn of a damselfly nymph, degrees from head up: from the middle of its gills to that of its head."""
        turns = []
        for index in range(25 * CLASSES):
            if insects.LABELS[insects.label_of(index)] == "damselfly nymph":
                sample = insects.draw(index, size_px=64, difficulty=difficulty)
                if sample.mask("head").any() and sample.mask("gills").any():
                    head, gills = (np.argwhere(sample.mask(part)).mean(0) for part in ("head", "gills"))
                    turns.append(np.degrees(np.arctan2(head[1] - gills[1], gills[0] - head[0])))
        return np.abs(turns).max()

    assert lean("easy") < 15 + 20  # the body is bent as well
    assert 20 < lean("normal") < 45 + 20
    assert lean("hard") > 90


@pytest.fixture(scope="module")
def coloured():
    """Pictures and labels to learn from and to be asked about, 64 pixels wide."""
    return [_pictures("train", 30 * CLASSES), _pictures("test", 15 * CLASSES)]


@pytest.mark.rest
@pytest.mark.parametrize("model", [LogisticRegression(C=0.01, max_iter=200), KNeighborsClassifier(9)], ids=repr)
@pytest.mark.parametrize("look", ["histograms", "moments"])
def test_colour_does_not_tell_the_class(coloured, look, model):
    assert _told_by(look, model, *coloured) < 2 * CHANCE


@pytest.mark.rest
def test_colour_would_tell_the_class_were_it_painted_by_class(coloured):
    """The test above can fail: each class tinted a little, the same models find it out."""
    tinted = []
    for pictures, labels in coloured:
        red = 1 - 0.3 * labels / CLASSES
        tinted.append(((pictures * np.stack([red, red**0, 1.7 - red], 1)[:, None, None]).clip(0, 255), labels))
    assert _told_by("moments", LogisticRegression(C=1.0, max_iter=200), *tinted) > 2 * CHANCE


@pytest.mark.rest
def test_shape_does_tell_the_class():
    """Even a linear model knows most animals by their coarse silhouettes, head up."""
    train, test = (_silhouettes(split, count) for split, count in (("train", 180), ("test", 60)))
    fitted = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200)).fit(*train)
    assert fitted.score(*test) > 6 * CHANCE


def test_refusals_name_what_is_known():
    with pytest.raises(ValueError, match="split of train, val, test, found 'dev'"):
        insects.draw(0, split="dev")
    with pytest.raises(ValueError, match="difficulty of easy, normal, hard, found 'mad'"):
        insects.draw(0, difficulty="mad")
    for size_px in (15, 513):
        with pytest.raises(ValueError, match=f"16 to 512 pixels, found {size_px}"):
            insects.draw(0, size_px=size_px)
    with pytest.raises(ValueError, match="at least 0, found -1 and 0"):
        insects.label_of(-1)
    with pytest.raises(ValueError, match="part of head, thorax"):
        insects.draw(0, size_px=16).mask("fins")


def test_curve_passes_through_its_knots():
    knots = np.array([(0.0, 0.0), (1.0, 2.0), (3.0, 1.0)])
    curve = smooth(knots, 4)
    assert curve.shape == (9, 2)
    assert np.allclose(curve[[0, 4, 8]], knots)


def test_straight_strip_is_a_rectangle():
    outline = strip([(0.0, 0.0, 0.1), (0.0, 1.0, 0.1)], 1)
    assert np.allclose(outline, [(-0.1, 0), (-0.1, 1), (0.1, 1), (0.1, 0)])


def _pictures(split, count):
    samples = [insects.draw(index, split=split, size_px=64) for index in range(count)]
    return np.array([one.picture for one in samples]), np.array([one.label for one in samples])


def _told_by(look, model, train, test):
    """Accuracy, 0..1, of a model that sees only colours."""
    model = make_pipeline(StandardScaler(), clone(model))
    return model.fit(LOOKS[look](train[0]), train[1]).score(LOOKS[look](test[0]), test[1])


def _moments(pictures):
    """Means and deviations of red, green and blue."""
    return np.concatenate([pictures.mean((1, 2)), pictures.std((1, 2))], 1)


def _histograms(pictures):
    """Square roots of the joint 8×8×8 histograms of red, green and blue."""
    bins = (pictures.reshape(len(pictures), -1, 3) >> 5).astype(int) @ (64, 8, 1)
    return np.sqrt([np.bincount(row, minlength=512) / row.size for row in bins])


LOOKS = {"moments": _moments, "histograms": _histograms}


def _silhouettes(split, count):
    samples = [insects.draw(index, split=split, size_px=64, difficulty="easy") for index in range(count)]
    shapes = [cv2.resize(one.insect.astype(np.float32), (16, 16), interpolation=cv2.INTER_AREA) for one in samples]
    return np.array(shapes).reshape(count, -1), [one.label for one in samples]
