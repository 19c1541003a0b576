"""What the canvases of the browser are given of a trace, for the pages that are no records yet."""

from vizkit.views.rows_of import (
    MAX_MATRIX as MAX_MATRIX,
)
from vizkit.views.rows_of import (
    grid_for_browser as grid_for_browser,
)
from vizkit.views.rows_of import (
    layer_for_browser as layer_for_browser,
)
from vizkit.views.rows_of import (
    rows_for_browser as rows_for_browser,
)
from vizkit.views.rows_of import (
    similarity_for_browser as similarity_for_browser,
)
from vizkit.views.rows_of import (
    stage_for_browser as stage_for_browser,
)
