"""What is to be seen in a figure, said in one sentence that is computed from the numbers behind it.

A file for each subject, rules with thresholds, and None where nothing stands out. No rule runs a model. A sentence says
where weights lie and which numbers differ, never why.
"""
