"""The rules of relevance for encoder and decoder, on numbers worked by hand."""

import pytest
import torch
from torch.testing import assert_close

from tests.toys import trace_of
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.detection.relevance import encoder_decoder_relevance, with_gain_of_one
from vizkit.geometry import all_ids
from vizkit.traces import Attention, NotApplicable, Tokens

CELLS, QUERIES = Tokens("cells", grid=(1, 2), stride=1.0), Tokens("queries", free=2)


def layer(name, query, key, product):
    """One head whose weights are all alike, and whose weights times gradient are `product`."""
    weights = torch.full((1, 1, len(query), len(key)), 1 / len(key))
    gradient = torch.tensor(product)[None, None] / weights
    return Attention(name, weights, query, key, all_ids(len(query)), all_ids(len(key)), gradient=gradient)


def traced(*layers, target=0):
    return trace_of(*layers, logits=torch.zeros(2, 3), target=target)


CROSS = layer("cross", QUERIES, CELLS, [[0.2, 0.4], [-0.3, 0.1]])
ENCODER = layer("encoder", CELLS, CELLS, [[0.5, 0.5], [-1.0, 0.0]])
AMONG = layer("among", QUERIES, QUERIES, [[0.0, 2.0], [0.0, 0.0]])


def test_one_cross_attention_alone_is_its_raising_weights():
    assert_close(encoder_decoder_relevance(traced(CROSS)), torch.tensor([[0.2, 0.4], [0.0, 0.1]]))


def test_after_an_encoder_layer_relevance_goes_on_to_where_the_cells_looked():
    """R_ii = [[1.5, .5], [0, 1]]; its gain has rows that sum to 1 and 0; [.2, .4] R̄ = [.3, .5]."""
    result = encoder_decoder_relevance(traced(ENCODER, CROSS))
    assert_close(result, torch.tensor([[0.3, 0.5], [0.0, 0.1]]))


def test_queries_that_looked_at_each_other_share_by_the_transpose():
    """R_qq = [[1, 2], [0, 1]], R̄_qq = [[1, 1], [0, 1]]; R̄ᵀ Ā = [[.2, .4], [.2, .5]]."""
    result = encoder_decoder_relevance(traced(AMONG, CROSS))
    assert_close(result, torch.tensor([[0.2, 0.4], [0.2, 0.5]]))


def test_later_self_attention_carries_over_what_was_found_before():
    """Eq. 7: R_qi + Ā R_qi, row 1 = [.2, .4] + 2 · [0, .1]."""
    result = encoder_decoder_relevance(traced(CROSS, AMONG))
    assert_close(result, torch.tensor([[0.2, 0.6], [0.0, 0.1]]))


def test_a_row_that_has_gained_nothing_stays():
    """Where the authors' code divides 0 by 0, as the record of the method says."""
    assert torch.equal(with_gain_of_one(torch.eye(3)), torch.eye(3))
    gained = torch.eye(3) + torch.tensor([[0.0, 0.2, 0.6], [0, 0, 0], [0, 0, 0]])
    assert torch.equal(with_gain_of_one(gained), torch.eye(3) + torch.tensor([[0.0, 0.25, 0.75], [0, 0, 0], [0, 0, 0]]))
    assert "divides 0 by 0" in METHODS["generic_relevance"].differs


def test_without_a_target_or_cross_attention_there_is_none():
    for trace in (traced(CROSS, target=None), traced(ENCODER)):
        with pytest.raises(NotApplicable):
            encoder_decoder_relevance(trace)
