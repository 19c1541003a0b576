"""Several models judged on the same labelled pictures: answers kept by content, measures, paired tests, a report.

    pictures.py → classes.py → answers.py (seen.py, kept.py) → measures.py, paired.py → outcome.py → report.py

`outcome.evaluate_all` does it all. What has been answered is never asked again.
"""
