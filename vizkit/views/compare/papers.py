"""What papers report of models like these: a table, and accuracy against cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vizkit.analysis.comparison.published import Row
from vizkit.analysis.remarks.evaluation import accuracy_for_cost
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.views.blocks import Blocks, Chart, Heading, Said, Table
from vizkit.views.compare.tables import TABLES, Column, Shown
from vizkit.views.subject import Subject

TIME = "Time (ms, V100)"
"""What is drawn of images per second: as of the models here, to the left is quicker."""


def accuracies(of: Sequence[Subject], view: Any) -> list[str]:
    return list(TABLES[view.table].accuracies) or [""]


@dataclass(frozen=True)
class Papers:
    """A published table, of which `accuracy` is drawn, None for its first."""

    table: str
    accuracy: str | None

    def plotted(self, against: str) -> Blocks:
        """Accuracy against the cost of this name, or what stands for it in the table."""
        shown, cost = TABLES[self.table], TABLES[self.table].cost(against)
        accuracy = shown.accuracies.get(self.accuracy or "") or next(iter(shown.accuracies.values()), None)
        if cost is None or accuracy is None:
            return
        points = [point(row, shown, cost, accuracy) for row in shown.rows if getattr(row, accuracy.field) is not None]
        of_each = [(each.name, each.cost, each.accuracy) for each in points]
        costs = TIME if cost.axis == "seconds" else cost.title
        yield Heading(f"Published, {self.table}")
        yield Said(accuracy_for_cost(of_each, costs, accuracy.title))
        numbers = ", ".join(f"{each.name} {each.accuracy:g}" for each in points)
        yield Chart(accuracy_cost(points, costs, accuracy.title), f"{accuracy.title} against {costs}: {numbers}")

    def tabled(self) -> Blocks:
        """On a narrow page the first columns are seen: what a row is, its accuracy and what it costs."""
        shown = TABLES[self.table]
        columns = sorted(
            shown.columns,
            key=lambda each: (each.field != "name", each.field != shown.detail, each.axis != "accuracy", not each.axis),
        )
        yield Table(
            tuple({column.title: in_unit(row, column) for column in columns} for row in shown.rows),
            shown.table.title,
            f"{shown.table.measured} Source: {shown.table.citation}. It does not show {shown.table.does_not_show}",
            helps={column.title: column.help for column in shown.columns if column.help},
        )

    def cells(self) -> dict[str, list]:
        """As text: what a paper does not say is empty."""
        shown = TABLES[self.table]
        columns = [column.field for column in shown.columns]
        return {"columns": columns, "rows": [[str(getattr(row, each) or "") for each in columns] for row in shown.rows]}


def in_unit(row: Row, column: Column) -> Any:
    value = getattr(row, column.field)
    return value if column.digits is None or value is None else round(value / column.unit, column.digits)


def point(row: Row, shown: Shown, cost: Column, accuracy: Column) -> Point:
    """Rows of one name differ by their detail; those that differ in size alone are joined."""
    detail = str(getattr(row, shown.detail)) if shown.detail else ""
    twin = sum(other.name == row.name for other in shown.rows) > 1
    name = f"{row.name} {detail}".removesuffix("px") if twin else row.name
    sized, costs = shown.detail == "side_px", getattr(row, cost.field) / cost.unit
    return Point(
        name,
        row.family,
        1e3 / costs if cost.axis == "seconds" else costs,
        getattr(row, accuracy.field),
        line=f"{row.family} {detail}" if sized else "",
        note=f"{detail} px" if sized else detail,
    )
