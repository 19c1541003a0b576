"""Several models judged on the same labelled pictures: answers kept by content, measures, paired tests, a report.

    pictures.py → classes.py → answers.py → measures.py, paired.py → outcome.py

`outcome.evaluate_all` does it all. An answer in the cache is never computed again.
"""
