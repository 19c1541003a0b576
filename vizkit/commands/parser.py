"""How commands say what is wrong with their arguments."""

import argparse
from typing import NoReturn

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """argparse prints its whole usage with an error; one sentence is enough."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help.\n")
