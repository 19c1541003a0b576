"""CKA over batches: stopped and gone on, it is what it is in one go."""

import pytest
from torch.testing import assert_close

import vizkit
from vizkit.evaluation.inside.similarity import Part, similarity


class Enough(Exception):  # noqa: N818
    pass


def test_stopped_and_gone_on_it_is_the_same():
    models = [vizkit.load(f"bundled:digits_{name}") for name in ("vit", "swin")]
    whole, parts = similarity(models, "digits", 16, batch=8), list[Part]()

    def stop(share):
        if share >= 0.5:
            raise Enough

    with pytest.raises(Enough):
        similarity(models, "digits", 16, batch=8, tell=stop, parts=parts)
    assert len(parts) == 1
    again = similarity(models, "digits", 16, batch=8, parts=parts)
    assert again.images == whole.images == 16
    assert_close(again.values, whole.values)
    assert whole.values.diagonal() == pytest.approx(1)
    assert float(whole.values[0, 1]) > float(whole.values[0, -1])  # the next layer is more alike than the last of Swin
