"""What a page needs of one model: a layer taken apart, its cost, its positions, its answers.

`parts` (with `recording.watching`) takes one layer apart, `window_parts` in all its windows, `block_parts` a block for
the drawn one, `patch_merging` a merging; `positions` knows how a model knows places, `shape` and `budget` choose sizes;
`cost` counts memory tensor by tensor and time by the wall clock, `multiply_adds` the work of any family by formula, on
tensors without content; `flow` counts a model block by block and folds equal blocks; `swin_changes` and `unreduced`
make a second model that shares all weights and lacks the shift, the bias or the averaging; `two_heads` asks both heads
of a DeiT after one pass.
"""
