"""A data set as a picture: one pass of a model over it, and what that tells of the set and of the model.

opening.py → record.py → embedding.py, suspects.py, shortcuts.py with hiding.py, influence.py, probing.py → looking.py
"""
