"""Text of strangers as it stands: names of models, classes, runs and files, notes, and sentences that quote them.

Streamlit reads most of what it draws as Markdown: also labels, captions, help, and the options of pills. There
`![](http://…)` in the name of a class makes every visitor's browser call that host.
"""

import re

JOINER = "\u2060"  # takes no room; parts what is looked for in the text after Markdown has been read
_MARKS = re.compile(r"([\\`*{}\[\]<>#!|~$:&]|(?<![^\W_])_|_(?![^\W_]))")  # within a word _ marks nothing
_FIRST = re.compile(r"^([-+=]|\d+(?=\.))")  # a list, a line below a heading
_LATER = re.compile(
    r"(?<=:)(?=[\w+/-]+:)"  # :emoji: and :material/icon:
    r"|(?<=https:)(?=//)|(?<=http:)(?=//)|(?<=www)(?=\.)|(?<=@)(?=[\w-]+\.)",  # links without brackets
    re.IGNORECASE,
)


def plain(text: object) -> str:
    """`text` for any place that takes Markdown: it is shown as it is, on one line, and makes nothing else."""
    line = " ".join(str(text).split())
    parted = _LATER.sub(JOINER, line)
    marked = _MARKS.sub(r"\\\1", parted)
    return _FIRST.sub(lambda match: match[0] + "\\" if match[0].isdigit() else f"\\{match[0]}", marked)


def without_pictures(markdown: str) -> str:
    """Markdown from a file, such as a run's card, whose headings and tables are wanted but which fetches nothing."""
    return markdown.replace("![", "!\\[")
