"""Record anew; arguments go to pytest."""

import sys

import pytest

sys.exit(pytest.main(["tests/ui/inventory/test_inventory.py", "--record-inventory", *sys.argv[1:]]))
