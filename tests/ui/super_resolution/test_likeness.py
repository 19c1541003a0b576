"""The view Likeness: what is said of the shipped measurement, and what can be taken away."""

from tests.ui.conftest import fine, opened, texts


def test_the_finding_stands_with_its_number_of_pictures_and_interval():
    test = opened("super_resolution", super_resolution_view="Likeness")
    fine(test)
    assert (
        "Over 500 pictures 1 of 6 references helps, compared with no reference: same scene moved brings 1.32 dB (1.28 "
        "to 1.37); same kind, another kind, a photograph, its pixels shuffled and noise cost 0.04 to 0.07 dB."
    ) in texts(test)
