"""A recipe is followed in its folder: alone there, and however it ends, the status says so. Torch comes last."""

from vizkit.training.interrupting import terminable
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.work_folder import WorkError, speaks

GOES_ON = "resume goes on after the last finished epoch"
SMALLER = "raise accumulate, or choose a smaller batch, image size or model"


def follow(
    run: RunFolder,
    recipe: Recipe,
    *,
    device: str = "",
    workers: int = 0,
    threads: int = 0,
    tensorboard: bool = False,
    changed_data: bool = False,
) -> None:
    """Train in a run folder that `RunFolder.create` or an earlier run has left, from the last finished epoch on.

    `device`, `workers`, `tensorboard`, `changed_data`: see `loop.train`; `threads`: of the CPU, 0: torch's own.
    Raises ValueError with one sentence, which status.json holds too. A request to stop is no error.
    """
    with run.locked(), run.reporting(GOES_ON, SMALLER), terminable():
        if speaks() and run.recipe != recipe:  # the other processes may be here before the first has written it
            raise WorkError(f"Another run has begun in {run.path} meanwhile: give a new folder.")
        try:
            import torch

            from vizkit.training.loop import train

            if threads:
                torch.set_num_threads(threads)
            train(run, recipe, device=device, workers=workers, tensorboard=tensorboard, changed_data=changed_data)
        except KeyboardInterrupt:
            run.say(state="stopped", message=f"Stopped; {GOES_ON}.", epochs=recipe.epochs)
