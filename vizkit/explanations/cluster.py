"""Parts made on a Ray cluster: actors that each hold the model once, and are given a few parts at a time.

    with on_cluster("ray"):  # or "auto", "ray://HOST:10001", "HOST:6379"
        make_missing(work)

Actors write parts by themselves, where this process reads them: on a disk that all machines have. What an actor was at
when it died is given to the next one, without the parts that are whole. Moritz et al. 2018 (arXiv:1712.05889).
"""

import os
import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import torch

from vizkit.explanations.job import PLACE, Speed, StoppedError, Stopping, Tell, Work
from vizkit.explanations.place import RunError, in_a_line
from vizkit.explanations.reading import MOST_WORKERS

HEARD_S = 5.0  # an address that does not answer until then is taken for dead
STOP_S = 0.5  # until it is seen that it is to stop
GIVEN_S = 20.0  # of work that an actor is given at once, but for a part
MOST_DEATHS = 20  # of actors, one after another, before a part is whole: then it is no chance


@contextmanager
def on_cluster(
    address: str, actors: int | None = None, gpus: float | None = None, memory_gib: float | None = None
) -> Iterator[str]:
    """Within it parts are made there; gives the address of Ray's dashboard, "" where there is none.

    `actors`: so many, else as the cluster has room for now. `gpus`, `memory_gib`: of each, that Ray keeps for it; a GPU
    where there are any. Raises RunError in one sentence, ModuleNotFoundError without Ray.
    """
    import ray
    from ray._private.services import canonicalize_bootstrap_address

    _refuse_dead(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent that nobody has asked to send
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if address == "auto":  # of a cluster that died without a word Ray still has the address
            _refuse_dead(canonicalize_bootstrap_address(address) or address)
        context: Any = ray.init("local" if address == "ray" else address, **quiet)
    except RunError:
        raise
    except Exception as error:  # whatever Ray raises: there are many
        why = f"{in_a_line(error)}. One with a token needs RAY_AUTH_MODE=token."
        raise RunError(f"Ray at {address!r} cannot be used: {why}") from None
    try:
        there = ray.cluster_resources()
        gpus = float("GPU" in there) if gpus is None else gpus
        each = {"GPU" if gpus else "CPU": gpus or 1, "memory": int((memory_gib or 0) * 2**30)}
        actors = actors or int(min(there.get(name, 0) / most for name, most in each.items() if most))
        if not actors:
            raise RunError(f"Ray at {address!r} has not what a process asks for; give --actors if more comes later.")
        own = min(MOST_WORKERS + 1, max(1, int(there.get("CPU", 1)) // actors)) if gpus else 1
        asked = {"num_cpus": own, "num_gpus": gpus, "memory": each["memory"]}
        token = PLACE.set(Cluster("cuda" if gpus else "cpu", actors, own - 1, asked))
        try:
            yield context.dashboard_url or ""
        finally:
            PLACE.reset(token)
    finally:
        ray.shutdown()


def _refuse_dead(address: str) -> None:
    """Ray itself would try for minutes, and end this process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit() and address not in ("ray", "auto"):
        raise RunError(f"--on {address}: give ray, auto, ray://HOST:10001 or HOST:6379.")
    if host:
        try:
            socket.create_connection((host.strip("[]"), int(port)), HEARD_S).close()
        except (OSError, OverflowError):
            raise RunError(f"No Ray answers at {address}; see whether it is started there.") from None


class _Maker:
    """An actor. Nothing happens before `begin`, whose errors come back as they are."""

    def begin(self, work: Work, device: str, workers: int, products: str) -> None:
        """`products`: torch's precision of float32 products, which is a matter of a process."""
        torch.set_float32_matmul_precision(products)
        work.place(device, workers)
        self.work = work

    def parts(self, numbers: Sequence[int]) -> int:
        """Without those that one made which died since; gives their pictures."""
        missing = [number for number in numbers if not self.work.run.path(number).exists()]
        return self.work.parts(missing, lambda *_: None, lambda: False).pictures


@dataclass(frozen=True)
class Cluster:
    """A place of `job.PLACE`. `device`: "cpu" or "cuda"; `asked`: what each actor is given, `workers` CPUs of it to
    read."""

    device: str
    actors: int
    workers: int
    asked: dict[str, Any]

    def __str__(self) -> str:
        return f"Ray, {self.actors} × {'GPU' if self.device == 'cuda' else 'CPU'}"

    def parts(self, work: Work, tell: Tell, stopping: Stopping) -> Speed:
        import ray.exceptions

        run, waiting = work.run, deque(work.run.missing())
        speed, before, deaths, most = Speed(), run.before(waiting), 0, 1
        work.place("cpu", 0)
        try:
            held = ray.put(work)
        except (TypeError, AttributeError, PicklingError, ray.exceptions.RayError) as error:
            why = f"This model cannot be sent to other processes; leave out --on. {in_a_line(error)}."
            raise RunError(why) from None
        every, busy = list[Any](), dict[Any, tuple[Any, list[int], float]]()  # actors; by its promise who makes what

        def begin() -> None:
            every.append(actor := ray.remote(**self.asked)(_Maker).remote())
            promise = actor.begin.remote(held, self.device, self.workers, torch.get_float32_matmul_precision())
            busy[promise] = actor, [], 0.0

        try:
            for _ in range(min(self.actors, len(waiting))):
                begin()
            while waiting or any(numbers for _, numbers, _ in busy.values()):
                for promise in ray.wait([*busy], timeout=STOP_S)[0]:
                    actor, numbers, began = busy.pop(promise)
                    try:
                        pictures = ray.get(promise)
                    except ray.exceptions.RayTaskError as error:
                        raise error.cause from None
                    except ray.exceptions.RayError:  # it died, or its machine
                        deaths += 1
                        if deaths > MOST_DEATHS:
                            raise RunError(
                                f"Ray's processes end again and again, {deaths} times without a part: see its "
                                "dashboard for the reason, or give each more memory with --memory."
                            ) from None
                        waiting.extend(numbers)
                        begin()
                        continue
                    if numbers:
                        deaths, most = 0, max(1, int(GIVEN_S * len(numbers) / (time.perf_counter() - began)))
                        speed.add(sum(run.counts[number] for number in numbers) or pictures, 0.0)
                        tell(before + speed.pictures, sum(run.counts), speed.per_s)
                    if not waiting:
                        ray.kill(actor)  # its place may be wanted by one that follows another that has died
                    else:
                        share = min(most, 1 + len(waiting) // (2 * self.actors))
                        numbers = [waiting.popleft() for _ in range(share)]
                        busy[actor.parts.remote(numbers)] = actor, numbers, time.perf_counter()
                if stopping():
                    raise StoppedError
        finally:
            for actor in every:
                with suppress(Exception):
                    ray.kill(actor)
        return speed
