"""What plotly works out of texts alone, remembered for the whole run: more than half of the time in which it makes a
figure, and figures are a third of what views take."""

import sys
from functools import lru_cache

MOST = 2**16


def remember_texts():
    """Colours and names of properties that plotly has read once. Only where plotly has been imported, for it takes
    longer than most tests."""
    if "plotly.basedatatypes" not in sys.modules:
        return
    from _plotly_utils.basevalidators import ColorValidator
    from plotly import basedatatypes

    basedatatypes._str_to_dict_path_full = lru_cache(MOST)(basedatatypes._str_to_dict_path_full)  # gives tuples
    validate = ColorValidator.perform_validate_coerce
    known = lru_cache(MOST)(validate)

    def remembered(colour, allow_number=None):
        return (known if isinstance(colour, str) else validate)(colour, allow_number=allow_number)

    ColorValidator.perform_validate_coerce = staticmethod(remembered)
