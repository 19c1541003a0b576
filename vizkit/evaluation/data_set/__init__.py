"""A data set as a picture: one pass of a model over it, and what that tells of the set and of the model.

opening.py → record.py → embedding.py, suspects.py, shortcuts.py with hiding.py, influence.py, probing.py → looking.py
"""

from vizkit.evaluation.data_set.embedding import embedding
from vizkit.evaluation.data_set.hiding import hide, verdict
from vizkit.evaluation.data_set.influence import taught
from vizkit.evaluation.data_set.looking import Look, data_set, look_over
from vizkit.evaluation.data_set.opening import open_labelled
from vizkit.evaluation.data_set.probing import probe
from vizkit.evaluation.data_set.record import record
from vizkit.evaluation.data_set.shortcuts import shortcuts
from vizkit.evaluation.data_set.suspects import KINDS, suspects, suspects_csv

__all__ = [
    "KINDS",
    "Look",
    "data_set",
    "embedding",
    "hide",
    "look_over",
    "open_labelled",
    "probe",
    "record",
    "shortcuts",
    "suspects",
    "suspects_csv",
    "taught",
    "verdict",
]
