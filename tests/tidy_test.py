#!/usr/bin/env python3
"""scripts/tidy.py must object to each thing it is there for, and to nothing else."""
import pathlib
import subprocess
import sys
import tempfile

TIDY = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "tidy.py"

# (file, its text, a word of the complaint or None for none)
CASES = [
    ("src/outbox/a.cc", '#include "http/client.h"\n', "may not include http/"),
    ("src/correlate/a.cc", '#include "incident/policy.h"\n', "may not include incident/"),
    ("src/model/a.h", '#pragma once\n#include "wire/event_json.h"\n', "may not include wire/"),
    ("src/gateway/a.cc", '#include "correlate/correlator.h"\n#include "http/server.h"\n', None),
    ("src/incident/a.cc", "auto now = std::chrono::steady_clock::now();\n", "reads a clock"),
    ("src/incident/b.cc", "Instant now = MonotonicNow();\n", "reads a clock"),
    ("src/incident/c.cc", "// steady_clock::now() is not for us\n", None),
    ("src/incident/d.cc", "std::time_t now;\nstd::time(&now);\n", ":2: reads a clock"),
    ("src/incident/e.cc", "time_t now = time(\n    &then);\n", ":1: reads a clock"),
    ("src/incident/f.cc", "auto cpu = std::clock();\n", "reads a clock"),
    ("src/incident/g.cc", "auto cpu = clock();\n", "reads a clock"),
    ("src/incident/h.cc", "using Clock = std::chrono::system_clock;\nauto now = Clock::now();\n", ":2: reads a clock"),
    ("src/incident/i.cc", "auto at = event.time(&zone) + o_clock() + row->clock() + overtime(&x);\n", None),
    ("src/http/a.cc", "auto now = std::chrono::steady_clock::now();\n", None),
    ("src/store/a.cc", "Result<P> F() {\n  return P{TRY(X()), 1};\n}\n", "braced initialiser"),
    ("src/store/g.cc", "Result<P> F() {\n  return P{1,\n           Two(\n               TRY(X()))};\n}\n", ":4: TRY inside a braced initialiser"),
    ("src/store/h.cc", "Status F() {\n  P p = {\n      .x = TRY(X()),\n  };\n  return G({'{',\n            TRY(Y())});\n}\n", ":6: TRY inside"),
    ("src/store/i.cc", "Result<P> F() {\n  std::vector<std::vector<int>> p{{\n      CO_TRY(X())}};\n  return p;\n}\n", ":3: TRY inside"),
    ("src/store/j.cc", "P::P(int x)\n    : x_{\n          TRY(X())} {}\n", ":3: TRY inside"),
    ("src/store/k.cc", """namespace sentinel {
struct P final : Q {
  Result<int> F() const override {
    int x =
        TRY(X('{', '"', '\\'', 1'000));
    if (x > 1) {
      x = TRY(Y());
    } else {
      x = TRY(Z());
    }
    auto g = [&](int y) -> Result<std::vector<int>> {
      return TRY(H(y));
    };
    switch (x) {
      case 1: {
        return TRY(X());
      }
    }
    return Q{1, [&] {
      return TRY(X());
    }};
  }
};
}
""", None),
    ("src/store/b.cc", "Result<int> F() {\n  return Add(TRY(X()), TRY(Y()));\n}\n", "two TRYs"),
    ("src/store/c.cc", "Result<int> F() {\n  int x = TRY(X());\n  int y = TRY(Y());\n  return x + y;\n}\n", None),
    ("src/store/d.cc", "Task F() {\n  int x = CO_TRY(co_await Read());\n}\n", "co_await with"),
    ("src/store/e.cc", "Task F() {\n  co_await Send(Message{1, 2});\n}\n", "co_await with"),
    ("src/store/f.cc", "Task F() {\n  auto r = co_await Read();\n  int x = CO_TRY(std::move(r));\n}\n", None),
    ("plugin/nccl/a.cc", '#include "board/layout.h"\n#include "board/writer.h"\n#include "session.h"\n#include <sys/mman.h>\n', None),
    ("plugin/nccl/b.h", '#include "model/progress.h"\n', "nothing else of ours"),
    ("plugin/nccl/c.cc", "#include <base/result.h>\n", "nothing else of ours"),
    ("plugin/nccl/d.cc", '#include "board/decoder.h"\n', "nothing else of ours"),
    ("plugin/nccl/e.cc", '#include "../../src/base/time.h"\n', "nothing else of ours"),
    ("plugin/nccl/f.cc", "uint64_t now = time(nullptr);\n", "reads a clock"),
    ("plugin/nccl/tests/a_test.cc", '#include "board/decoder.h"\n#include "model/board_image.h"\n', None),
    ("src/board/writer.cc", '#include "board/writer.h"\n#include "base/check.h"\n', "nothing else of ours"),
    ("src/board/decoder.cc", '#include "base/result.h"\n#include "model/board_image.h"\n', None),
    ("src/plugin/a.cc", "int x;\n", "has no place"),
    ("src/basement/a.cc", "int x;\n", "has no place"),
    ("src/model/b.h", "int x;\n", "pragma once"),
]

INDEX_HEAD = "# Decisions\n\n| decision | in a clause |\n|---|---|\n"
ROW = "| [Whys and hows](why.md) | because |\n"
# (the index of docs/decisions, beside why.md, a word of the complaint or None for none)
INDEXES = [
    (INDEX_HEAD + ROW, None),
    (INDEX_HEAD, "why.md:1: has no line in the index: | [Whys and hows](why.md) |"),
    (None, "has no line in the index"),
    (INDEX_HEAD + ROW + ROW, "README.md:6: why.md stands here twice"),
    (INDEX_HEAD + ROW + "| [Gone](gone.md) | it went |\n", "README.md:6: there is no decision gone.md"),
    (INDEX_HEAD + "| [Why](why.md) | because |\n", "is called 'Whys and hows' here and 'Why' in the index"),
    (INDEX_HEAD + "| [Whys and hows](why.md) |  |\n", "README.md:5: a line without a clause"),
]


def run(name, text):
    with tempfile.TemporaryDirectory() as root:
        path = pathlib.Path(root) / name
        path.parent.mkdir(parents=True)
        (pathlib.Path(root) / "src").mkdir(exist_ok=True)
        (path.parent / "CMakeLists.txt").write_text("")
        path.write_text(text)
        done = subprocess.run([sys.executable, TIDY, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


failures = 0
for name, text, complaint in CASES:
    status, words = run(name, text)
    good = status == 0 if complaint is None else status == 1 and complaint in words
    if not good:
        failures += 1
        print(f"{name}: expected {complaint!r}, got status {status}: {words.strip()}\n{text}")
for index, complaint in INDEXES:
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root) / "docs" / "decisions"
        folder.mkdir(parents=True)
        (pathlib.Path(root) / "src").mkdir()
        (folder / "why.md").write_text("# Whys and hows\n\nBecause.\n")
        if index is not None:
            (folder / "README.md").write_text(index)
        done = subprocess.run([sys.executable, TIDY, root], capture_output=True, text=True, check=False)
    good = done.returncode == 0 if complaint is None else done.returncode == 1 and complaint in done.stdout
    if not good:
        failures += 1
        print(f"index: expected {complaint!r}, got status {done.returncode}: {done.stdout.strip()}\n{index}")
print(f"{len(CASES) + len(INDEXES) - failures} of {len(CASES) + len(INDEXES)} as expected")
sys.exit(1 if failures else 0)
