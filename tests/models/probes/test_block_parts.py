"""One block taken apart: its halves are what the model itself adds."""

import pytest
from torch.testing import assert_close

from tests.views.contract import subject
from vizkit.models.probes.block_parts import block_parts


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin", "insects_deit"])
def test_what_leaves_a_block_is_what_entered_and_what_both_halves_add(name):
    of = subject(name)
    found = block_parts(of.loaded, of.pixels, 1)
    kept = found.attention.query_ids >= 0
    before, branch, after = (each[kept] for each in (found.stream.before, found.stream.branch, found.stream.after))
    assert_close(before + branch, after, rtol=1e-4, atol=1e-4)
    assert_close(after + found.mlp.made, found.mlp.leaving, rtol=1e-4, atol=1e-4)
    assert found.mlp.hidden.shape == (int(kept.sum()), 4 * before.shape[-1])


def test_the_mlp_of_one_block_enters_the_next():
    of = subject("digits_vit")
    first, second = (block_parts(of.loaded, of.pixels, layer) for layer in (0, 1))
    assert_close(first.mlp.leaving, second.stream.before, rtol=1e-4, atol=1e-4)
