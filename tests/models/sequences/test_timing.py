"""Times by length: their exponent by hand, and that all networks can be measured."""

import pytest

from vizkit.models.networks.sequence_models import NETWORKS
from vizkit.models.sequences import timing
from vizkit.models.sequences.timing import exponent, seconds_of, times_of


def test_the_exponent_by_hand() -> None:
    lengths = (8, 16, 32, 64)
    assert exponent(lengths, [1.0, 1.0, 2.0, 4.0], last=2) == pytest.approx(1)
    assert exponent(lengths, [3.0 * n**2 for n in lengths]) == pytest.approx(2)
    assert exponent(lengths, [9.0, 5.0, 5.0, 5.0]) == pytest.approx(0)


def test_the_shortest_time_counts_and_the_first_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0])
    monkeypatch.setattr(timing.time, "thread_time", lambda: next(clock))
    assert seconds_of(lambda: done.append(1)) == 2.0
    assert len(done) == 4


@pytest.mark.parametrize("name", [name for name in NETWORKS if name.startswith("seq2seq")])
def test_every_network_can_be_measured(name: str) -> None:
    heard: list[int] = []
    times = times_of(name, (3, 5), heard.append)
    assert [*times.lengths] == heard == [3, 5]
    assert min(*times.training, *times.writing) > 0
