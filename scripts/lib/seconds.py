"""A length of time on a command line."""
import argparse
import math


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0")
    return value
