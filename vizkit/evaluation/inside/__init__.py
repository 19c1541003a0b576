"""What happens inside a model, measured over many pictures: its heads, and how alike its layers are.

Each goes on where it was stopped: heads (`analysis.attention.head_atlas` is their record and file), pruning, and CKA
between what `probes.block_outputs` hears behind every block.
"""
