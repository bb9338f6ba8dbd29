#!/usr/bin/env python3
"""What a training job pays for being watched: pairs of runs of sentinel-ring's live job, one watched and one not.

    bench/guest_cost.py [--build build/release] [--pairs 12] [--seconds 5] [--ranks 4] [--nodes 2] [--transport socket] [--compute-ms 5] [--against on killed]

Each pair is a run without plugin and agent and, right before or after it, one of these:
  on      the plugin loaded, an agent a node, connected to a gateway that reads (a stand-in that welcomes them)
  killed  the same, and every agent killed (SIGKILL) twice a second and started again at once
Both do the same work (one seed a pair). The order within a pair alternates, so that what drifts on the machine falls on both. Told are the ratios, watched to unwatched, of the pace
(iterations a second) and of the CPU time of the job's own processes for an iteration, which other work on the machine disturbs
less, as geometric means over the pairs with their 95 % confidence intervals, beside the spread of unwatched runs among
themselves, which is what a difference has to be seen against. Every element of every operation is verified by the job; one
that is wrong, or a job that does not come to its end, ends the bench with status 1.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
KILL_EVERY_S = 0.5
# Down{welcome{protocol: 1, gateway_id: "bench"}} as a frame: docs/formats/agent-stream.md.
WELCOME = b"\x0a\x09\x08\x01\x12\x05bench"
# Student's t, two-sided 95 %, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 11: 2.20, 12: 2.18, 13: 2.16,
           14: 2.14, 15: 2.13, 17: 2.11, 19: 2.09, 24: 2.06, 29: 2.05, 39: 2.02, 59: 2.00}


def student(freedom):
    return STUDENT[max(known for known in STUDENT if known <= freedom)]


def gateway(listener):
    """Welcomes each agent and reads what it says."""
    def talk(connection):
        try:
            connection.sendall(len(WELCOME).to_bytes(4, "little") + WELCOME)
            while connection.recv(65536):
                pass
        except OSError:
            pass  # an agent that was killed
        connection.close()

    while True:
        threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()


class Agents:
    """An agent for each node's board folder."""

    def __init__(self, options, run_dir, port, kill):
        self.program = options.build / "apps/sentinel-agent/sentinel-agent"
        self.configs, self.running, self.restarts = [], [], 0
        for node in range(options.nodes):
            boards = run_dir / f"node-{node}"
            boards.mkdir(mode=0o700, parents=True, exist_ok=True)
            config = run_dir / f"agent-{node}.toml"
            config.write_text(f'host = "node-{node}"\nboard_dir = "{boards}"\ningest_socket = ""\ngateway = "127.0.0.1:{port}"\n'
                              f'spool_dir = "{run_dir}/spool-{node}"\n')
            self.configs.append(config)
        self.running = [self.start(config) for config in self.configs]
        self.ending = threading.Event()
        self.killer = threading.Thread(target=self.kill_again_and_again, daemon=True) if kill else None
        if self.killer:
            self.killer.start()

    def start(self, config):
        log = open(config.with_suffix(".log"), "ab")
        return subprocess.Popen([str(self.program), "--config", str(config)], stdout=log, stderr=log)

    def kill_again_and_again(self):
        while not self.ending.wait(KILL_EVERY_S):
            for i, agent in enumerate(self.running):
                if agent.poll() is not None:
                    raise SystemExit(f"an agent ended by itself, with status {agent.returncode}")
                agent.kill()
                agent.wait()
                self.running[i] = self.start(self.configs[i])
                self.restarts += 1

    def boards_found(self):
        return sum(config.with_suffix(".log").read_text().count("board=found") for config in self.configs)

    def end(self):
        self.ending.set()
        if self.killer:
            self.killer.join()
        for agent in self.running:
            agent.send_signal(signal.SIGTERM)
            agent.wait()


Run = collections.namedtuple("Run", "pace cpu_ms operations restarts")


def run(options, port, kind, seed):
    # In memory, as boards are.
    run_dir = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-cost.", dir="/dev/shm"))
    agents = None
    try:
        if kind != "off":
            agents = Agents(options, run_dir, port, kind == "killed")
            time.sleep(0.3)
        report = run_dir / "report.json"
        command = [str(options.build / "apps/sentinel-ring/sentinel-ring"), "--train", "--ranks", str(options.ranks), "--nodes",
                   str(options.nodes), "--transport", options.transport, "--compute-ms", str(options.compute_ms), "--seconds",
                   str(options.seconds), "--seed", str(seed), "--run-dir", str(run_dir), "--json", str(report)]
        if kind == "off":
            command += ["--plugin", "none"]
        said = run_dir / "ring.log"
        with open(said, "wb") as output:
            job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            _, status, used = os.wait4(job.pid, 0)  # with the ranks, which the job waits for
            job.returncode = os.waitstatus_to_exitcode(status)
        if job.returncode != 0:
            raise SystemExit(f"{kind}: the job ended with status {job.returncode}:\n{said.read_text()}")
        told = json.loads(report.read_text())
        if told["elements_wrong"] != 0 or told["operations"] == 0:
            raise SystemExit(f"{kind}: {told['elements_wrong']} elements wrong in {told['operations']} operations")
        found = agents.boards_found() if agents else 0
        if agents and found < options.ranks:
            raise SystemExit(f"{kind}: the agents found {found} boards of {options.ranks}; nothing was measured")
        restarts = agents.restarts if agents else 0
        cpu_ms = 1000 * (used.ru_utime + used.ru_stime) / told["iterations"]
        return Run(told["iterations_per_s"], cpu_ms, told["operations"], restarts)
    finally:
        if agents:
            agents.end()
        shutil.rmtree(run_dir, ignore_errors=True)


def tell(what, pairs, unwatched):
    """The ratio of each pair, as geometric mean and interval."""
    logs = [math.log(watched / not_watched) for watched, not_watched in zip(pairs, unwatched)]
    mean = statistics.fmean(logs)
    half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    spread = statistics.stdev(unwatched) / statistics.fmean(unwatched)
    return (f"{what} watched / unwatched {math.exp(mean):.4f}, 95 % between {math.exp(mean - half):.4f} and {math.exp(mean + half):.4f} "
            f"(unwatched runs among themselves: ± {100 * spread:.1f} %)")


def compare(options, port, kind):
    runs = {"off": [], kind: []}
    for pair in range(options.pairs):
        for each in ["off", kind] if pair % 2 == 0 else [kind, "off"]:
            runs[each].append(run(options, port, each, seed=pair + 1))
        off, on = runs["off"][-1], runs[kind][-1]
        print(f"  pair {pair + 1:2}: iterations/s off {off.pace:7.2f} {kind} {on.pace:7.2f} ratio {on.pace / off.pace:.4f}; "
              f"CPU ms/iteration off {off.cpu_ms:6.2f} {kind} {on.cpu_ms:6.2f} ratio {on.cpu_ms / off.cpu_ms:.4f}", flush=True)
    everything = runs["off"] + runs[kind]
    print(f"{kind}: {options.pairs} pairs of {options.seconds:g} s, {sum(each.operations for each in everything)} operations verified, no element wrong"
          + (f", agents killed {sum(each.restarts for each in everything)} times" if kind == "killed" else ""))
    for what, of in (("pace", "pace"), ("CPU an iteration", "cpu_ms")):
        print("  " + tell(what, [getattr(each, of) for each in runs[kind]], [getattr(each, of) for each in runs["off"]]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build/release")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=5, help="of one run")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--transport", default="socket", choices=["socket", "ib"])
    parser.add_argument("--compute-ms", type=int, default=5, help="0: nothing but communication, the worst for a guest")
    parser.add_argument("--against", nargs="+", default=["on", "killed"], choices=["on", "killed"])
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("an interval needs at least two pairs")
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=gateway, args=(listener,), daemon=True).start()
    print(f"ranks={options.ranks} nodes={options.nodes} transport={options.transport} compute_ms={options.compute_ms} "
          f"cores={os.cpu_count()}", flush=True)
    for kind in options.against:
        compare(options, listener.getsockname()[1], kind)


if __name__ == "__main__":
    sys.exit(main())
