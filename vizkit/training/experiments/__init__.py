"""Plans of several runs, and their results, read without torch.

`data_size`, `architectures` and `memory` are plans; page and command train the same plan in the same folder, so one
goes on where the other stopped. `size_results` and `size_findings` are what the first tells (intervals:
`analysis.comparison.seed_interval`), `memory_measured` asks the runs of the last; `answers` asks several models about
many pictures.
"""
