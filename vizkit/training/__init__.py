"""A recipe, the one loop that follows it, and what it needs on the way. The bundled models came about like this.

`recipe` is everything that decides a run, `run_setup` opens its task, `following` starts `loop`, which follows the
recipe with `updates` (one change of the weights), `optimizing`, `distillation` and `evaluating`. `pictures` is what a
step sees, from seeds alone, and its cache; `runs` the run on disk; `architectures` and `init_weights` are our small
models and their initial weights. Pages read `recipe`, `suiting` (settings by the pictures) and `runs` only: none of
them imports torch.

There is one loop for all tasks. What it asks of one is the protocol in `task` (model, data, what a step shows, what is
saved, the card): `picture_task` classifies pictures; `sequences` translates texts, guesses hidden words or continues a
line; `super_resolution` enlarges; `detection` finds. A task follows from the model of the recipe. Every answer is a row
of logits with a label, so loss and accuracy are computed in one place; a translation is right when all its words are,
given the right ones before, which is when greedy writing gives it word for word.
"""
