"""A small lesson and a few words for it, of numbers that are worked out by hand."""

from unittest.mock import patch

import torch

from vizkit.lessons.vocabulary import VOCABULARY

MAP = torch.tensor([[1.0, 2.0, 3.0], [0.0, 10.0, 4.0]])
WORDS = {
    "here": lambda of: MAP,
    "largest": lambda of, values: divmod(int(values.argmax()), values.shape[1]),
    "at": lambda of, values, place: values[place],
    "total": lambda of, values: values.sum(),
    "count": lambda of, what="all": {"all": 6, "rows": 2}[what],
    "label": lambda of: "mayfly <b>nymph</b>",
}


def spoken(**more):
    """Of all words there are only these."""
    return patch.dict(VOCABULARY, WORDS | more, clear=True)


FRONT = """---
title: Small
level: beginner
minutes: 3
model: bundled:insects_vit
picture: sample:mayfly nymph
able:
  - Say where the largest number stands.
---
"""
STEPS = r"""## The largest
The map has {count()} places, {count(what=rows)} rows, and $\frac{a}{b} = {=total(here()):.0f}$.

- *one* [page](rollout?rollout_depth=3)
- **two**

view: rollout(depth=2)
point: Where is the largest?
answer: here()
hint: Look at {label()}.
reveal: >
  It is at {answer}, with {at(here(), answer) / total(here()):.0%}; you said {guess}.
why: Why there?

---
## How many
number: How many places?
answer: count()
within: 10%
---
## Which
choice: Which is larger?
options:
  Rows: count(what=rows) > count()
  Places: count() > count(what=rows)
---
## In order
order: From the largest to the smallest
items:
  Rows: count(what=rows)
  Total: total(here())
  Places: count()
---
## Paint
draw: Where is most?
answer: here()
"""
