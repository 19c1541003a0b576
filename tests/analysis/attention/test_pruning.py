"""Orders in which heads go, and what can go, by hand."""

from vizkit.analysis.attention.pruning import band, counts_of, orders_of, still


def test_steps_go_from_none_to_all():
    assert counts_of(3) == (0, 1, 2, 3)
    assert counts_of(24) == (0, 3, 6, 9, 12, 15, 18, 21, 24)


def test_the_least_important_goes_first():
    orders = orders_of([0.5, -0.1, 0.2], [0.1, 0.3, 0.2])
    assert orders["measured"] == [[1, 2, 0]]
    assert orders["estimate"] == [[0, 2, 1]]
    assert [sorted(order) for order in orders["random"]] == [[0, 1, 2]] * 3
    assert orders == orders_of([0.5, -0.1, 0.2], [0.1, 0.3, 0.2])


def test_a_curve_that_comes_back_does_not_count():
    assert still((0, 2, 4, 6), (1.0, 0.95, 0.8, 0.95), 0.9) == 2
    assert still((0, 2), (0.5, 1.0), 0.9) == 0


def test_the_band_of_random_orders():
    assert band([(1.0, 0.5), (1.0, 0.25), (1.0, 0.75)]) == ([1.0, 0.5], [1.0, 0.25], [1.0, 0.75])
