"""Probe: what frozen features already tell of a folder's labels, beside the model's own answers."""

from functools import partial

import numpy as np

from vizkit.analysis.remarks.data_set import ceiling
from vizkit.analysis.remarks.data_set import probed as of_probed
from vizkit.evaluation.data_set.probing import Probed, probe
from vizkit.evaluation.data_set.record import Recorded
from vizkit.figure.charts import bars
from vizkit.figure.palette import OTHERS
from vizkit.views.blocks import Blocks, Chart, Line, Numbers, Said, Table, side_by_side
from vizkit.views.data_set.recorded import OfData, Progress, Step, true_label
from vizkit.views.evaluate.measured import ends
from vizkit.views.subject import Subject
from vizkit.views.view import How


class Probe(OfData):
    """How much frozen features tell of the labels, by neighbours and by a linear layer: is more training worth it?"""

    how = How(
        "The model stays as it is; what its last layer reads of each picture is compared. k-NN: the 20 nearest vote, "
        "weighted by how alike they are. Linear: a logistic regression. Each picture is answered by probes of the "
        "other four fifths, so none has seen it. Whiskers are 95 % intervals.",
        r"\hat y = \arg\max_c \sum_{i \in N_{20}(x)} e^{\cos(x, x_i) / 0.07}\;[y_i = c]",
        "what the model would reach when all its layers were trained on these pictures.",
        "Caron et al. 2021 (DINO), § 4.1; Alain & Bengio 2016 (linear probes)",
    )

    def title(self, of: Subject) -> str:
        return f"Probes of the features of {of.name}"

    def show(self, of: Subject) -> Blocks:
        yield from self.later(of, partial(self.drawn, of), Step(("probe",), "Probing its features", self.probed))

    def probed(self, found: Recorded, progress: Progress) -> Probed:
        return probe(found)

    def drawn(self, of: Subject, found: Recorded, result: Probed | None) -> Blocks:
        if result is None:
            return
        rows = {"k-NN, frozen": result.knn, "linear, frozen": result.linear}
        rows |= {"its own answers": result.model} if result.model else {}
        shares = {name: 100 * np.array(ends(each)) for name, each in rows.items()}
        shares["the commonest label"] = np.full(3, 100 * result.chance)
        own = ends(result.model) if result.model else None
        yield Said(of_probed(result.knn.value, result.linear.value, own, result.chance, len(result.rows)))
        figure = bars([*shares], [float(each[0]) for each in shares.values()], "right answers, % of the pictures")
        less, more = ([float(abs(each[0] - each[at])) for each in shares.values()] for at in (1, 2))
        figure.update_traces(
            error_x={"type": "data", "array": more, "arrayminus": less, "symmetric": False, "color": OTHERS}
        )
        figure.update_xaxes(range=[0, 100])
        said = ", ".join(f"{name} {each[0]:.1f} %" for name, each in shares.items())
        chart = Chart(figure, f"Right answers with 95 % intervals: {said}")
        columns = ("Right, %", "from, %", "to, %")
        table = [{"": name} | dict(zip(columns, each.round(1).tolist(), strict=True)) for name, each in shares.items()]
        yield side_by_side(chart, Table(tuple(table), "Accuracies with their 95 % intervals"), widths=(3, 2))
        yield Line(f"{len(result.rows):,} pictures in {result.folds} folds.")
        if planted := sum(true_label(found, row) is not None for row in result.rows.tolist()):
            yield Line(ceiling(planted, len(result.rows)))
        yield from self.notes(found)
        yield Numbers(lambda: {"accuracy": [*shares.values()], "pictures": result.rows})
