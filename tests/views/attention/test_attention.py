"""Views of Attention by hand."""

import numpy as np
import pytest

from tests.views.contract import subject
from vizkit.hosts.paper import numbers
from vizkit.views import subject as subjects
from vizkit.views.attention.entropy import Entropy
from vizkit.views.blocks import Columns, Line


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin"])
def test_entropy_is_of_every_patch_also_where_the_weights_of_each_head_are_too_many(name, monkeypatch):
    """There only the row of the cursor is traced for other views: all other patches would be dark."""
    monkeypatch.setattr(subjects, "FULL_TRACE_BYTES", 0)
    of = subject(name)
    blocks = list(Entropy().show(of))
    assert any("entropy of the mean of" in block.text for block in blocks if isinstance(block, Line))
    assert not any(isinstance(block, Columns) for block in blocks)  # no chart of heads
    found = numbers(blocks)
    assert len(found) == of.depth
    assert all(np.isfinite(each).all() and (each > 0).all() for each in found.values())
