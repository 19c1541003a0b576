"""The recorded lines: a file per page, in it the views and their sections."""

from difflib import unified_diff
from pathlib import Path

FOLDER = Path(__file__).parent
VIEW, SECTION = "==== ", "---- "
MOST = 60  # lines of a difference that are shown


def read(page):
    """View → section → lines."""
    views = {}
    lines = []
    file = FOLDER / f"{page}.txt"
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.startswith(VIEW):
            sections = views[line.removeprefix(VIEW)] = {}
        elif line.startswith(SECTION):
            lines = sections[line.removeprefix(SECTION)] = []
        else:
            lines.append(line)
    return views


def write(page, titles, view, sections):
    """This view anew, the others of the page as they are; those that it no longer has go."""
    views = read(page) | {view: sections}
    lines = []
    for title in filter(views.__contains__, titles):
        lines.append(VIEW + title)
        for name, each in views[title].items():
            lines += [SECTION + name, *each]
    (FOLDER / f"{page}.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def difference(recorded, found, whole):
    """What is other than it was recorded; of `found` that is not `whole`, in the sections that it has."""
    names = list(dict.fromkeys([*recorded, *found])) if whole else list(found)
    lines = []
    for name in names:
        before, now = recorded.get(name, []), found.get(name, [])
        if name not in recorded or name not in found:
            lines.append(f"{SECTION}{name}: {'not found' if name in recorded else 'not recorded'}")
        elif before != now:
            lines.append(f"{SECTION}{name}")
            lines += [*unified_diff(before, now, lineterm="", n=0)][2:]
    return "\n".join([*lines[:MOST], *([f"… {len(lines) - MOST} lines more"] if len(lines) > MOST else [])])
