"""A small part whose state shows every change that is left out, repeated or out of order."""

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass

from crucial.distributed.transport import LocalParts


@dataclass
class Sum:
    value: int

    def merge(self, other):
        return Sum(self.value + other.value)


class ToyPart:
    def __init__(self, seed, pause=0.0):
        self.state, self.pause = seed, pause
        self.threads = 0

    def advance(self, factor):
        time.sleep(self.pause)
        self.state = (self.state * factor + 12345) % 2**61
        return Sum(self.state)

    def read(self):
        return [self.state]

    def process(self):
        return [os.getpid()]

    def restore(self, calls):
        for method, arguments in calls:
            getattr(self, method)(*arguments)

    def fail(self):
        raise ZeroDivisionError("as asked")


@dataclass
class ToyRecipe:
    seed: int
    pause: float = 0.0

    def load(self):
        return ToyPart(self.seed, self.pause)

    def __str__(self):
        return f"toy {self.seed}"


class DyingRecipe(ToyRecipe):
    """Ends its worker, as one that runs out of memory does."""

    def load(self):
        os._exit(1)


class HungryRecipe(ToyRecipe):
    """Takes memory until the nanny of its worker ends it."""

    def load(self):
        taken = []
        while True:
            taken.append(b"x" * 20_000_000)
            time.sleep(0.02)


@dataclass
class AskingRecipe(ToyRecipe):
    """Waits for another task, in vain if all workers are paused, as this one may be then."""

    paused: bool = False

    def load(self):
        from distributed import Status, get_client, get_worker

        if self.paused:
            worker = get_worker()
            worker.loop.add_callback(setattr, worker, "status", Status.paused)
            time.sleep(0.2)
        return ToyPart(get_client().submit(int, self.seed, pure=False).result())


class UnreadableRecipe(ToyRecipe):
    def load(self):
        raise OSError("no such file")


def chain(parts, rounds, before=lambda number: None):
    """Return the sums of rounds, each of which depends on the one before, and the last states."""
    sums, factor = [], 3
    for number in range(rounds):
        before(number)
        sums.append(parts.total("advance", factor, changes=True).value)
        factor = sums[-1] % 1009 + 2
    return sums, sorted(parts.total("read"))


def local_chain(n_parts, rounds):
    """Return what `chain` returns for parts in this process."""
    return chain(LocalParts([ToyPart(seed) for seed in range(n_parts)]), rounds)


@contextmanager
def local_client(n_workers, **more):
    """Yield a client of a new cluster: of threads, unless ``processes`` says otherwise."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50} | more
    with (
        LocalCluster(n_workers=n_workers, **{"processes": False} | options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
