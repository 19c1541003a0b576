"""What canvases are sent of likeness: the whole matrix, or one row where the matrix would be too large."""

import torch
from numpy.testing import assert_allclose

from vizkit.traces import Tokens
from vizkit.views import rows_of


def test_a_large_grid_sends_the_row_of_the_chosen_token_and_never_makes_the_matrix(monkeypatch):
    table, tokens = torch.randn(1 + 5 * 7, 3), Tokens("image", ("cls",), (5, 7))
    whole = rows_of.similarity_for_browser(table, tokens, (0.5, 0.5))
    assert whole.values.shape == (36, 36)
    monkeypatch.setattr(rows_of, "similarity", None)
    for query, position in (("cls", 0), ((0.5, 0.5), 1 + 2 * 7 + 3)):
        row = rows_of.similarity_for_browser(table, tokens, query, most=36 * 36 - 1)
        assert row.query_ids.tolist() == [position]
        assert_allclose(row.values[0], whole.values[position], atol=1e-6)
