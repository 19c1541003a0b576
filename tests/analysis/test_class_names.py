"""Class names across label sets: the same words are found, doubtful ones are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizkit.analysis.comparison.class_names import agreeing, match
from vizkit.models.sources.loaded import imagenet_labels

IMAGENET = imagenet_labels(1000)
NAMES = st.lists(st.sampled_from(["a", "A", "b", "c_d", "c d", "a, b", "b, c", "e", "", "e, é"]), max_size=7)


@pytest.mark.parametrize(
    "name, known",
    [
        ("tabby", "tabby, tabby cat"),
        ("Tabby_Cat", "tabby, tabby cat"),
        ("grand-piano", "grand piano, grand"),
        ("water  strider", "Water_strider"),
        ("ｆｉｓｈ，ｅｅｌ", "Eel"),
        ("СТРЕКОЗА", "стрекоза"),
        ("Straße", "strasse"),
        ("سنجاقک", "سنجاقک, dragonfly"),
    ],
)
def test_the_same_words(name, known):
    assert match([name], ["something else", known]) == (1,)


@pytest.mark.parametrize("name", ["cat", "tabbi", "tabby c", "cats", "", ",", "tabby or cat"])
def test_nothing_is_guessed(name):
    assert match([name], ["tabby, tabby cat"]) == (None,)


def test_imagenets_own_duplicates():
    assert [i for i, label in enumerate(IMAGENET) if label == "crane"] == [134, 517]
    assert match(["crane", "tabby"], IMAGENET) == (None, 281), "a bird and a machine have one name"
    assert (IMAGENET[638], IMAGENET[639]) == ("maillot", "maillot, tank suit")
    assert match(["maillot", "tank suit"], IMAGENET) == (638, 639), "the whole name first"
    assert match(["maillot, swimsuit"], IMAGENET) == (None,), "both have the word"
    assert match(IMAGENET, IMAGENET) == tuple(range(1000)), "one list is the same list, place by place"
    turned = IMAGENET[::-1]
    assert match(turned, IMAGENET) == tuple(None if name == "crane" else 999 - i for i, name in enumerate(turned))


def test_a_whole_name_goes_before_a_synonym():
    assert match(["cardigan"], IMAGENET) == (474,), "the garment, not the dog 'Cardigan, Cardigan Welsh corgi'"
    assert match(["wolf", "red wolf"], ["wolf, red wolf", "wolf"]) == (1, 0)


def test_two_names_never_become_one_class():
    assert match(["maillot, a", "maillot, b"], ["maillot"]) == (None, None)
    assert match(["crane", "crane"], ["crane"]) == (None, None)


@given(NAMES, NAMES)
def test_matches_are_the_same_from_both_sides(names, known):
    there, back = match(names, known), match(known, names)
    assert {(i, k) for i, k in enumerate(there) if k is not None} == {
        (i, k) for k, i in enumerate(back) if i is not None
    }


def test_classes_of_several_models_as_one_list():
    agreed = agreeing([["cat", "dog"], ["dog, hound", "fish"], ["Hound", "cat"]])
    assert agreed.names == ("cat", "dog", "fish")
    assert agreed.of == ((0, 1), (1, 2), (1, 0)), "dog and Hound are one through the second model"
    assert agreed.shared() == (1,)
    assert agreed.shared(0, 2) == (0, 1)
    assert agreed.places(2, (0, 1)) == [1, 0]


def test_a_chain_that_would_merge_two_classes_of_a_model_is_torn():
    agreed = agreeing([["p", "q"], ["p, r"], ["q, r"]])  # p – "p, r" – "q, r" – q
    assert len({n for own in agreed.of for n in own}) == 4
    assert agreed.shared(0, 1) == agreed.shared(1, 2) == agreed.shared(0, 2) == ()


def test_nothing_known_nothing_shared():
    assert agreeing([["a"], []]).shared() == ()
    assert agreeing([]).shared() == ()
    assert agreeing([IMAGENET, IMAGENET]).of == (tuple(range(1000)),) * 2


@given(NAMES, NAMES, NAMES)
def test_every_model_keeps_its_classes_apart(one, two, three):
    for own, names in zip(agreeing([one, two, three]).of, (one, two, three), strict=True):
        assert len(set(own)) == len(names)
