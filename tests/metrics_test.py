#!/usr/bin/env python3
"""The metrics of a real gateway: named and typed by Prometheus' conventions, each documented, and none documented that there is not.

    tests/metrics_test.py BUILD_DIR
"""
import pathlib
import re
import sys
import unittest

from small_site import SmallSite, programs_of

PROGRAMS = programs_of(sys.argv[1])
ROOT = pathlib.Path(__file__).parent.parent
SAMPLE = re.compile(r'^([a-z_:0-9]+)(?:\{([^}]*)\})? (\S+)$')


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        site = SmallSite(PROGRAMS)
        try:
            site.ctl("send", "XID_FATAL", "metered-1")
            site.until(lambda: site.lamp()["state"] == "alarm", "the lamp is not lit")
            site.until(lambda: "sentinel_notifications_total{" in site.ask("GET", "/metrics").body.decode(), "nothing is counted")
            answer = site.ask("GET", "/metrics")
        finally:
            site.stop()
        cls.content_type, cls.lines = answer.headers["Content-Type"], answer.body.decode().splitlines()
        cls.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", "\n".join(cls.lines), re.M))
        cls.helps = dict(re.findall(r"^# HELP (\S+) (.+)$", "\n".join(cls.lines), re.M))
        table = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
        cls.documented = dict(re.findall(r"^\| `(sentinel_\w+)` \| (\w+) \|", table, re.M))

    def test_it_is_what_prometheus_reads(self):
        self.assertEqual(self.content_type, "text/plain; version=0.0.4; charset=utf-8")
        family = None
        for line in self.lines:
            if line.startswith("# TYPE "):
                family = line.split()[2]
            elif not line.startswith("#"):
                name = SAMPLE.match(line)
                self.assertTrue(name, line)
                float(name.group(3))
                self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name.group(1)) if self.types[family] == "histogram" else name.group(1), [family], line)

    def test_names_and_units_follow_the_conventions(self):
        self.assertGreater(len(self.types), 15)
        for name, kind in self.types.items():
            self.assertRegex(name, r"^sentinel_[a-z]+(_[a-z]+)*$")
            self.assertIn(kind, ("counter", "gauge", "histogram"), name)
            self.assertEqual(kind == "counter", name.endswith("_total"), f"{name} is a {kind}")
            self.assertNotRegex(name, r"_(ms|millis|milliseconds|minutes|hours|us|kb|mb|percent|count|sum|bucket|info)(_|$)")
            if kind == "histogram":
                self.assertRegex(name, r"_(seconds|bytes)$")
            self.assertRegex(self.helps.get(name, ""), r"^[A-Z0-9].*[^.]$", name)

    def test_labels_are_of_closed_sets(self):
        for line in self.lines:
            for label in re.findall(r'(\w+)="', (SAMPLE.match(line) or [""] * 4)[2] or "" if not line.startswith("#") else ""):
                self.assertIn(label, ("outcome", "status", "type", "severity", "terminal", "state", "le", "output", "source", "format"), line)

    def test_each_is_documented_as_what_it_is(self):
        for name, kind in self.types.items():
            self.assertEqual(self.documented.get(name), kind, f"{name} in docs/metrics.md")

    def test_none_is_documented_that_there_is_not(self):
        known = set(re.findall(r'"(sentinel_\w+)"', (ROOT / "src/web/metrics.cc").read_text(encoding="utf-8")))
        agents = dict(re.findall(r'add\("(sentinel_agent_\w+)", "(\w+)"', (ROOT / "src/agent/agent.cc").read_text(encoding="utf-8")))
        self.assertEqual(set(self.documented), known | set(agents))
        for name, kind in agents.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
            self.assertEqual(self.documented[name], kind, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
