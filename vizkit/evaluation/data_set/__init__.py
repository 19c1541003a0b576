"""A data set as a picture: one pass of a model over it, and what that tells of the set and of the model.

opening.py → record.py → embedding.py, suspects.py, shortcuts.py with hiding.py, influence.py, probing.py → looking.py
"""

from vizkit.evaluation.data_set.embedding import Embedding, embedding
from vizkit.evaluation.data_set.hiding import Hidden, hide, verdict
from vizkit.evaluation.data_set.influence import Taught, taught
from vizkit.evaluation.data_set.looking import Look, data_set, look_over
from vizkit.evaluation.data_set.opening import open_labelled
from vizkit.evaluation.data_set.probing import Probed, probe
from vizkit.evaluation.data_set.record import MissingExtra, Recorded, is_recorded, record
from vizkit.evaluation.data_set.shortcuts import Cluster, shortcuts
from vizkit.evaluation.data_set.suspects import KINDS, Suspect, suspects, suspects_csv

__all__ = [
    "KINDS",
    "Cluster",
    "Embedding",
    "Hidden",
    "Look",
    "MissingExtra",
    "Probed",
    "Recorded",
    "Suspect",
    "Taught",
    "data_set",
    "embedding",
    "hide",
    "is_recorded",
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
