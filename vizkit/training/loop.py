"""The training loop: one process or many (Accelerate), a CPU or a GPU, from the start or from where it stopped."""

import math
import threading
import time
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, is_initialized
from torch import Tensor, nn
from torch.utils.data import Dataset

from vizkit.training.evaluating import Score, evaluate, zeros
from vizkit.training.interrupting import interruptible
from vizkit.training.optimizing import epochs_since_best, rate, set_training
from vizkit.training.pictures.batches import Batches, loader
from vizkit.training.recipe import Recipe
from vizkit.training.run_setup import set_up
from vizkit.training.runs import saving
from vizkit.training.runs.checkpoints import thin
from vizkit.training.runs.folder import RunFolder
from vizkit.training.runs.measure import merit
from vizkit.training.tuning import begins_elsewhere
from vizkit.training.updates import Updates
from vizkit.work_folder import EMA, LIVE

SAY_EVERY_S = 0.5


class StoppedError(Exception):
    """The run was stopped; what is saved can be resumed."""


class NotFiniteError(Exception):
    """The loss became NaN or infinite."""


def train(
    run: RunFolder,
    recipe: Recipe,
    *,
    device: str = "",
    workers: int = 0,
    tensorboard: bool = False,
    changed_data: bool = False,
) -> None:
    """Follow a recipe in a run folder that `RunFolder.create` or an earlier, interrupted run has left.

    Goes on from the last finished epoch if there is one. Raises RecipeError, DatasetError or ModelError before the
    first step when something cannot be done; what happens later is in status.json ("done", "stopped" or "failed"
    with a sentence). `device`: "cpu", or empty for a GPU where there is one. `workers`: processes that read pictures.
    `changed_data`: go on with other pictures than before. `following.follow` does this alone in the folder, and writes
    every error into the status.
    """
    accelerator = accelerator_of(recipe, device)
    loop = Loop(run, recipe, accelerator, workers, tensorboard, changed_data)
    with interruptible() as loop.stop_requested:
        try:
            loop.fit()
            loop.finish()
        except StoppedError:
            loop.say("stopped", message="Stopped; resume goes on after the last finished epoch.")
        except NotFiniteError:
            loop.say(
                "failed",
                message="The loss is no number any more: lower the learning rate or clip the gradient; "
                "the best epoch so far is kept.",
            )
    if accelerator.num_processes > 1:
        accelerator.end_training()


def accelerator_of(recipe: Recipe, device: str) -> Accelerator:
    """Accelerate keeps precision and device of the first run for the life of a process; a notebook trains several,
    and a process alone has nothing to agree on with others."""
    if is_initialized() and AcceleratorState().num_processes == 1:
        AcceleratorState._reset_state(reset_partial_state=True)
    precision = "no" if recipe.precision == "fp32" else recipe.precision
    return Accelerator(cpu=device == "cpu", mixed_precision=precision)


class Loop:
    """One run in one process: model, data and what has happened so far."""

    stop_requested: threading.Event

    def __init__(
        self,
        run: RunFolder,
        recipe: Recipe,
        accelerator: Accelerator,
        workers: int,
        tensorboard: bool,
        changed_data: bool = False,
    ) -> None:
        self.run, self.recipe, self.accelerator, self.workers = run, recipe, accelerator, workers
        self.main, self.device = accelerator.is_main_process, accelerator.device
        self.started = self.reported_at = time.monotonic()
        self.epoch = self.step = 0
        self.say("preparing", message="Making the model.")
        self.task = set_up(recipe, self.device)
        self.model, self.needs, self.sets = self.task.model, self.task.needs, self.task.sets
        if not any(isinstance(part, nn.LayerNorm) for part in self.model.modules()):
            self.model.to(memory_format=torch.channels_last)  # a quarter faster for plain convolutional networks
        self.updates = Updates(self.task, recipe, accelerator)
        self.optimizer, self.ema = self.updates.optimizer, self.updates.ema
        self.board: Any = saving.board(run) if tensorboard and self.main else None
        self.parts = {"model": self.model, "optimizer": self.optimizer, "ema": self.ema, "scaler": accelerator.scaler}
        self.parts |= self.task.parts
        self.data = {split: examples.digest for split, examples in self.sets.items()}
        self.history = self.resumed(changed_data)

    # ---- the run -----------------------------------------------------------------------------------------------------
    def fit(self) -> None:
        """All epochs that are still to come."""
        recipe, processes = self.recipe, self.accelerator.num_processes
        batches = Batches(len(self.sets["train"]), recipe, self.accelerator.process_index, processes)
        loaded = loader(self.read("train"), batches, self.workers, pin=self.device.type == "cuda")
        self.val = self.read("val")
        while self.epoch < recipe.epochs:
            accuracies = [line["val_accuracy"] for line in self.history]
            if recipe.stop_patience and epochs_since_best(accuracies) >= recipe.stop_patience:
                break
            batches.epoch = self.epoch
            begin = time.monotonic()
            line = self.one_epoch(loaded, batches, accuracies)
            self.end_epoch(line, begin)

    def one_epoch(self, loaded: Any, batches: Batches, accuracies: Sequence[float]) -> dict[str, Any]:
        begin, steps, shown = time.monotonic(), batches.steps, iter(loaded)
        sums: Any = zeros(3, self.device)  # loss, right answers, answers
        current = self.recipe.lr
        set_training(self.updates.live)
        for step in range(steps):
            self.step = step
            current = rate(self.recipe, self.epoch * steps + step, steps, accuracies)
            parts = islice(shown, len(batches.own))
            sums += self.updates.one_step(parts, current, (self.epoch, step), batches)
            if (done := self.ends[-1] + step + 1) & (done - 1) == 0 and step + 1 < steps:
                self.keep(done)
            if self.stop_requested.is_set():
                raise StoppedError
            if time.monotonic() - self.reported_at > SAY_EVERY_S:
                per_s = (step + 1) * batches.batch / (time.monotonic() - begin)
                left = self.seconds_left(steps, per_s, batches.batch)
                self.say(
                    "running",
                    steps=steps,
                    loss=_finite(sums) / (step + 1),
                    rate=current,
                    images_per_s=per_s,
                    seconds_left=left,
                )
        if self.accelerator.num_processes > 1:
            sums = self.accelerator.reduce(sums, reduction="sum")
        return {
            "epoch": self.epoch + 1,
            "train_loss": _finite(sums) / steps / self.accelerator.num_processes,
            "train_accuracy": float(sums[1] / sums[2]),
            "rate": current,
            "steps": steps,
            "images_per_s": steps * batches.batch / (time.monotonic() - begin),
        }

    # ---- between epochs ----------------------------------------------------------------------------------------------
    def end_epoch(self, line: dict[str, Any], begin: float) -> None:
        """Validate, keep the best, and save everything that going on needs."""
        judged = self.judged
        evaluation = self.score(judged, self.val, self.task.sampled())
        line |= {**evaluation.numbers("val"), "seconds": time.monotonic() - begin}
        best = max((merit(epoch) for epoch in self.history), default=(-math.inf, 0.0))  # AP of nothing is -1
        self.history.append(line)
        self.epoch, self.step = self.epoch + 1, 0
        self.ends.append(self.ends[-1] + line["steps"])
        if self.main:
            if merit(line) > best:
                self.task.save(self.run, judged)
            if evaluation.samples:
                self.run.write("samples.json", evaluation.samples)
            self.run.append(line)
            self.keep(self.ends[-1])  # before the state, which says that it is there
            saving.save_state(self.run, self.epoch, self.parts, self.data)
            thin(self.run, self.ends[1:], self.recipe.checkpoints)  # after it: else a run killed here had a gap
            for name, value in line.items() if self.board else ():
                self.board.add_scalar(name, value, self.epoch)
        self.accelerator.wait_for_everyone()

    @property
    def judged(self) -> nn.Module:
        """What is validated, and kept."""
        return self.ema.module if self.ema else self.model

    def keep(self, step: int) -> None:
        """A checkpoint after so many steps of the run."""
        if self.main and self.recipe.checkpoints:
            saving.save_checkpoint(self.run, self.judged, step, self.epoch, EMA if self.ema else LIVE)

    def resumed(self, changed_data: bool) -> list[dict[str, Any]]:
        """Go on from the saved state, if there is one; gives what had happened by then."""
        self.epoch = saving.load_state(self.run, self.parts, {} if changed_data else self.data)
        history = self.run.metrics()[: self.epoch]
        self.ends = [0, *accumulate(int(line.get("steps", 0)) for line in history)]  # of the finished epochs, in steps
        self.accelerator.wait_for_everyone()
        if self.main:
            self.run.trim(self.epoch)
            thin(self.run, self.ends[1:], self.recipe.checkpoints)
            self.run.write("versions.json", saving.versions(self.device, self.accelerator.num_processes))
        return history

    def finish(self) -> None:
        """Test the best epoch once, write the card."""
        self.say("testing", message=f"Testing the best epoch on {self.task.examples} it has never seen.")
        saving.load_best(self.run, self.model)
        before = self.task.before and self.task.before.to(self.device)
        tested = self.score(self.model, self.read("test"), before=before)
        if self.main:
            result = tested.numbers("test") | {"test_images": tested.images}
            if begins_elsewhere(self.recipe.model):  # None: its head was new, so that it knew nothing
                result |= {"test_right_before": tested.right_before, "test_right_both": tested.right_both}
            self.run.write("result.json", result)
            self.run.write_text("card.md", self.task.card(self.run, tested))
        self.say("done", message=tested.sentence(self.task.examples))

    def score(
        self, model: nn.Module, data: Dataset, sampled: Sequence[int] = (), before: nn.Module | None = None
    ) -> Score:
        if self.task.score:
            return self.task.score(model, data, self.accelerator, self.workers, sampled)
        return evaluate(model, data, self.needs, self.accelerator, self.workers, sampled, before)

    def read(self, split: str) -> Dataset:
        total = f"{len(self.sets[split]):,}"

        def tell(done: int) -> None:
            if self.stop_requested.is_set():
                raise StoppedError
            if time.monotonic() - self.reported_at > SAY_EVERY_S:
                self.say("preparing", message=f"Reading {split} {self.task.examples}: {done:,} of {total}.")

        return self.task.data(split, tell)

    # ---- what the outside hears --------------------------------------------------------------------------------------
    def seconds_left(self, steps: int, per_s: float, batch: int) -> float:
        """To the end at the present speed, validation as slow as it was in the epochs before."""
        training = ((self.recipe.epochs - self.epoch) * steps - self.step - 1) * batch / per_s
        between = [epoch["seconds"] - steps * batch / epoch["images_per_s"] for epoch in self.history[-3:]]
        return training + (sum(between) / len(between) if between else 0.0) * (self.recipe.epochs - self.epoch)

    def say(self, state: str, **more: Any) -> None:
        self.reported_at = time.monotonic()
        if self.main:
            self.run.say(
                state=state,
                epoch=self.epoch,
                epochs=self.recipe.epochs,
                step=self.step,
                seconds=self.reported_at - self.started,
                **more,
            )


def _finite(sums: Tensor) -> float:
    """The first sum, the loss; NotFiniteError when it is no number."""
    total = float(sums[0])
    if not math.isfinite(total):
        raise NotFiniteError
    return total
