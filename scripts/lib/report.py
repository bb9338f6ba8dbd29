"""What is said of runs in the end."""
import json
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


def write_json(report, path):
    text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(path).write_text(text, encoding="utf-8")
