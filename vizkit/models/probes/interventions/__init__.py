"""Changes outside attention, and what they show: the residual stream patched, steered, continued from a block.

`stream_edits` are hooks of a second model with the same weights (`drop:`, `positions:`, `patch:`, `steer:`); `stream`
runs a model from a block on, for `patching` and `steering`, and gives what leaves every block.
"""
