"""What a person reads while it happens."""
import os
import sys
import time


class Timeline:
    COLOURS = {"red": "31;1", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}

    def __init__(self, quiet):
        self.restart()
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.quiet = quiet

    def restart(self):
        self.zero = time.monotonic()

    def paint(self, colour, text):
        return f"\033[{self.COLOURS[colour]}m{text}\033[0m" if self.colour else text

    def say(self, mark, colour, text):
        if not self.quiet:
            stamp = self.paint("dim", f"{time.monotonic() - self.zero:7.2f} s")
            print(f"{stamp}  {self.paint(colour, f'{mark:<10}')} {text}", flush=True)

    def more(self, text):
        if not self.quiet:
            print(" " * 22 + text, flush=True)
