"""Several models beside one another: their classes, answers, changed images, and what papers say.

`class_names` makes one list of several models' classes, `disagreement` measures bits on what each pair shares,
`perturbation` changes an image before any preprocessing (strength 0 is the image itself), `published` holds the
papers' tables as frozen rows.
"""
