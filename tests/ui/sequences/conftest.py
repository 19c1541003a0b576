"""Models of dates with random weights in the place of the trained ones, and a view by its address."""

import pytest
import torch

from tests.ui import test_views
from vizkit.datasets.sequences.dates import VOCABULARY
from vizkit.models.networks.sequence_models import build
from vizkit.models.sequences import SequenceModel
from vizkit.views.sequences import masks, typed
from vizkit.views.sequences.known import BUNDLED

KINDS = {
    "dates_transformer": ("seq2seq_transformer", "translate"),
    "dates_bert": ("masked_lm", "masked"),
    "dates_gpt": ("causal_lm", "causal"),
}


def random_model(source):
    name = source.partition(":")[2]
    network, task = KINDS[name]
    torch.manual_seed(0)
    model = build(network, len(VOCABULARY), {"dim": 16, "heads": 2, "hidden": 24}).eval().requires_grad_(False)
    return SequenceModel(name, model, VOCABULARY, task, "dates", torch.device("cpu"), max_length=96)


@pytest.fixture
def random_models(monkeypatch):
    kept = {name: random_model(f"bundled:{name}") for name in KINDS}
    for module in (typed, masks):
        monkeypatch.setattr(module, "opened", lambda of, title: (kept[BUNDLED[title]], ("random", title)))


def opened(view, **query):
    return test_views.opened("sequences", view, [], **query)
