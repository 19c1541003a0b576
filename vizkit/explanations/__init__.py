"""Explanations of many pictures as a data set: a Parquet row for each picture, in parts that outlive a sudden end.

    source.py → reading.py → job.py with passes.py (vectors.py) → parts.py → table.py

    results = vizkit.explanations.opened("maps/")
    results.table.to_pandas()
    index = vizkit.explanations.vectors.PatchIndex.of(results)  # where explain wrote --patch-features
    index.most_alike(index.patch("cats/1.jpg", x=0.4, y=0.6), 10)

A source is cut into parts, and a part into batches, by the source alone: any number of processes writes the same rows.
"""

from vizkit.explanations.table import Explanations, difference, opened

__all__ = ["Explanations", "difference", "opened"]
