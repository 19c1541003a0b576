"""Drawings of the HTML report as text: a reliability diagram, a confusion table, small pictures. No script in them."""

import base64
import io
from html import escape

import numpy as np
from jaxtyping import Int

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.evaluation.measures import BINS, Bin

SIDE_PX = 112  # of a small picture
MOST_LABELS = 40  # a larger table is not read by anybody; its largest cells are listed
MOST_PAIRS = 10
OTHERS = "another class"

STYLE = """
:root{color-scheme:light dark;--ink:light-dark(#16182b,#e8eaf6);--page:light-dark(#fff,#0f1120);
--soft:light-dark(#5a5f7a,#a4a9c6);--line:light-dark(#d9dcec,#2d3152);--accent:light-dark(#4338ca,#818cf8)}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1100px;margin:2rem auto;
padding:0 1rem}h1{font-size:1.6rem}h2{margin-top:2.2rem;border-top:1px solid var(--line);padding-top:1rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child{text-align:start;font-weight:600}.note{color:var(--soft);font-size:.9rem;max-width:46rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid var(--line);padding:.6rem;border-radius:.4rem}
.row{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;width:150px}figure img{border-radius:.3rem}
figcaption{font-size:.85rem;overflow-wrap:anywhere}small{color:var(--soft)}
.cells td{padding:0;width:2.1rem;height:2.1rem;min-width:2.1rem;text-align:center;border:0;font-size:.8rem}
.cells thead th{writing-mode:vertical-rl;transform:rotate(180deg);padding:.4rem .2rem;text-align:left;border:0}
.cells tbody th{border:0;padding:.1rem .6rem}svg{max-width:100%}svg text{fill:var(--ink);font-size:12px}
"""


def reliability_svg(bins: tuple[Bin, ...]) -> str:
    """Bars of the share right in each bin of probability, with the diagonal."""
    side, left, low = 300, 44, 20
    drawn = []
    for each in bins:
        x, width, height = left + each.low * side, side / BINS, each.accuracy * side
        tooltip = f"probability {each.confidence:.3f}, right {each.accuracy:.3f}, {each.images:,} pictures"
        drawn.append(
            f'<rect x="{x + 1:.1f}" y="{low + side - height:.1f}" width="{width - 2:.1f}" '
            f'height="{max(height, 1):.1f}" fill="var(--accent)"><title>{tooltip}</title></rect>'
        )
    ticks = "".join(
        f'<text x="{left + t * side}" y="{low + side + 18}" text-anchor="middle">{t:g}</text>'
        f'<text x="{left - 8}" y="{low + side - t * side + 4}" text-anchor="end">{t:g}</text>'
        for t in (0, 0.5, 1)
    )
    wide, high = side + left + 20, side + low + 42
    return (
        f'<svg width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'role="img" aria-label="Reliability diagram"><rect x="{left}" y="{low}" width="{side}" height="{side}" '
        f'fill="none" stroke="var(--line)"/>{"".join(drawn)}<line x1="{left}" y1="{low + side}" x2="{left + side}" '
        f'y2="{low}" stroke="var(--ink)" stroke-dasharray="5 4"/>{ticks}<text x="{left + side / 2}" '
        f'y="{low + side + 36}" text-anchor="middle">probability of the answer</text><text x="{left}" y="13">'
        "share right</text></svg>"
    )


def confusion_table(counts: Int[np.ndarray, "label answer"], labels: tuple[str, ...]) -> str:
    """Rows are labels, columns answers; the darker, the larger the share of its row."""
    if len(labels) > MOST_LABELS:
        return f"<p class=note>A table of {len(labels)} classes would not be readable; its largest cells:</p>"
    answers = [*labels, *([OTHERS] if counts[:, -1].any() else [])]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    rows = []
    for label, row, part in zip(labels, counts, shares, strict=True):
        tds = "".join(
            f'<td style="background:color-mix(in srgb,var(--accent) {100 * p:.0f}%,transparent);'
            f'{"color:light-dark(#fff,#0f1120)" if p > 0.5 else ""}">{n or ""}</td>'
            for n, p in zip(row[: len(answers)].tolist(), part.tolist(), strict=False)
        )
        rows.append(f"<tr><th><bdi>{escape(label)}</bdi></th>{tds}</tr>")
    top = "".join(f"<th><bdi>{escape(answer)}</bdi></th>" for answer in answers)
    return (
        "<p class=note>Rows are labels, columns are answers.</p><div class=wide><table class=cells><thead><tr><th></th>"
        f"{top}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def frequent(counts: Int[np.ndarray, "label answer"], labels: tuple[str, ...]) -> str:
    """The most frequent mistakes in words."""
    said = [
        f"<li><bdi>{escape(label)}</bdi> taken for <bdi>{escape(answer)}</bdi>: {times:,}</li>"
        for label, answer, times in mistakes(counts, labels)
    ]
    return f"<p>Most frequent mistakes:</p><ol>{''.join(said)}</ol>" if said else "<p>No mistakes.</p>"


def mistakes(
    counts: Int[np.ndarray, "label answer"], labels: tuple[str, ...], most: int = MOST_PAIRS
) -> list[tuple[str, str, int]]:
    """(label, answer, how often), the most frequent first."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    names = [*labels, OTHERS]
    places = [divmod(int(at), wrong.shape[1]) for at in order]
    return [(labels[row], names[column], int(wrong[row, column])) for row, column in places if wrong[row, column]]


def thumbnail(images: ImageSet, row: int) -> str:
    """A small JPEG inside the page; words where the file has gone since."""
    from PIL import Image

    try:
        rgb, _ = images[row]
    except (DatasetError, IndexError):
        return "<p class=note>The picture is no longer there.</p>"
    image = Image.fromarray(rgb)
    if max(image.size) <= SIDE_PX // 2:  # in whole pixels, for handwritten digits
        factor = SIDE_PX // max(image.size)
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    image.thumbnail((SIDE_PX, SIDE_PX))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    code = base64.b64encode(buffer.getvalue()).decode()
    return f'<img src="data:image/jpeg;base64,{code}" width="{image.width}" height="{image.height}" alt="">'
