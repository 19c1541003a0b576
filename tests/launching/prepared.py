"""What the fork server imports: what the commands import that run in processes of their own.

It calls nothing: a forked process finds modules, but no threads and no state.
"""

import accelerate  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn.metrics  # noqa: F401
import torchmetrics.functional.classification  # noqa: F401

import vizkit.__main__
import vizkit.evaluation.outcome
import vizkit.explanations.passes
import vizkit.models.detection.opening
import vizkit.training.loop  # noqa: F401
