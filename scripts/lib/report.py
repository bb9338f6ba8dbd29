"""What is said of runs in the end."""
import json
import os
import pathlib
import sys


def summary_line(timeline, number, result, since):
    verdict = timeline.paint("green", "ok") if result["ok"] else timeline.paint("red", "WRONG")
    if result["red_ms"] is None:
        return f"run {number}: {verdict} - {result['why']}"
    parts = [f"lamp {result['red_ms']:.0f} ms"]
    if result.get("suspect_ms") is not None:
        parts.insert(0, f"suspected {result['suspect_ms']:.0f} ms")
    if result.get("voice_ms") is not None:
        parts.append(f"voice {result['voice_ms']:.0f} ms")
    return f"run {number}: {verdict} - {', '.join(parts)} after {since}; {result['why']}"


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def refused_report(path):
    """Why no report can be written there, asked before the minutes or hours that it is to tell of; or None."""
    if path in (None, "-"):
        return None
    file = pathlib.Path(path).resolve()
    if not file.parent.is_dir():
        return f"--json {path}: there is no such folder"
    if file.is_dir():
        return f"--json {path}: that is a folder"
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return f"--json {path}: you may not write there"
    return None


def refused_evidence(folder):
    """Why evidence cannot be kept there, or None."""
    if folder is None or folder.is_dir() or not folder.exists():
        return None
    return f"--evidence {folder}: that is no folder"


def nobody_reads():
    """Whoever read standard output has gone. Nothing more can be said there, by Python's own end neither."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13  # as a program that SIGPIPE ends


def write_json(report, path):
    text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        pathlib.Path(path).write_text(text, encoding="utf-8")
