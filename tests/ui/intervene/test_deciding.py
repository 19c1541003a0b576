"""The view Deciding parts: the chosen insect without its parts, and what the models lose."""

from tests.ui.conftest import VIT, fine, opened, texts


def test_the_insect_and_the_bars_are_shown_at_once():
    test = opened("intervene", intervene_view="Deciding parts", models=VIT, image="cased caddisfly larva")
    fine(test)
    assert "models surely lose more by the deciding parts" in texts(test)
    test.selectbox(key="deciding_of").set_value("cased caddisfly larva").run()
    fine(test)
    assert "here of cased caddisfly larva alone" in texts(test)


def test_another_picture_shows_an_insect_all_the_same():
    fine(opened("intervene", intervene_view="Deciding parts", models=VIT, image="digit 3"))
