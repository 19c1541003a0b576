"""What speaks for a token or a class: rollout, relevance and what runs the model again; one published idea per file.

`layer_product` follows a row through sparse layers (windows, shifts, merging, pools); `rollout`, `gradient_rollout`,
`generic_relevance` (with `class_attention`), `legrad` and `grad_cam` are one published idea each. `methods` has one
record for each way to explain: its words, what it needs, its `run`; `explaining` calls the record and goes by no name.
"""
