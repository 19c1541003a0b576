"""Several models beside one another: their classes, answers, changed pictures, and what papers say.

`class_names` makes one list of several models' classes, `disagreement` measures bits on what each pair shares,
`perturbation` changes a picture before any preprocessing (strength 0 is the picture itself), `published` holds the
papers' tables as frozen rows.
"""
