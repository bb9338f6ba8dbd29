#!/usr/bin/env python3
"""The agent's cost while nothing is wrong: CPU and memory with 8 training processes on the node.

    bench/agent_at_rest.py [--build build/release] [--boards 8] [--channels 32] [--seconds 20] [--working] [--against AGENT]

Each board is made by a process of its own that loads the plugin as NCCL does. At rest they have finished their operations;
with --working each goes through an operation of 32 channels every 50 ms, so that every scan finds a change. The agent is
connected to a gateway (a stand-in that welcomes it and reads), as it is on a floor where nothing is wrong. With --against
another build of the agent watches the same boards at the same time, and the ratio of both is told. CPU is what the kernel
has counted in nanoseconds; in its ticks of 10 ms a percent of a core can hardly be seen.
"""
import argparse
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
GROUP_API, COLL_API, COLL, PROXY_OP, PROXY_STEP, KERNEL_CH = 0x100, 0x200, 0x2, 0x8, 0x10, 0x40
RECV_WAIT, RECV_GPU_WAIT, KERNEL_CH_STOP = 10, 12, 22


class Table(ctypes.Structure):
    """ncclProfiler_v5: the function table NCCL looks for."""
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("init", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint64, ctypes.POINTER(ctypes.c_int),
                                  ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)),
        ("start", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)),
        ("stop", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
        ("record", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)),
        ("finalize", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
    ]


class Rank:
    """One rank that goes through operations, as NCCL 2.28 would report them."""

    def __init__(self, plugin, rank, ranks, channels):
        self.table = Table.in_dll(ctypes.CDLL(str(plugin)), "ncclProfiler_v5")
        self.context, mask = ctypes.c_void_p(), ctypes.c_int(0)
        self.table.init(ctypes.byref(self.context), 0x5EED, ctypes.byref(mask), b"bench", ranks, ranks, rank, None)
        if not mask.value:
            raise SystemExit("the plugin switched itself off; is the board folder writable?")
        self.channels, self.peer, self.rank, self.sequence = channels, (rank + ranks - 1) % ranks, rank, 0
        self.words = [ctypes.c_char_p(text) for text in (b"AllReduce", b"ncclFloat32", b"RING", b"SIMPLE")]

    def start(self, kind, parent, fields=()):
        descriptor = (ctypes.c_uint8 * 112)()
        base = ctypes.addressof(descriptor)
        for offset, value in [(0, ctypes.c_uint64(kind)), (8, ctypes.c_void_p(parent)), (16, ctypes.c_int(self.rank)), *fields]:
            ctypes.memmove(base + offset, ctypes.byref(value), ctypes.sizeof(value))
        handle = ctypes.c_void_p()
        self.table.start(self.context, ctypes.byref(handle), base)
        return handle.value

    def operation(self):
        func, datatype, algorithm, protocol = self.words
        group = self.start(GROUP_API, None)
        call = self.start(COLL_API, group, [(24, func), (32, ctypes.c_size_t(1 << 22)), (40, datatype)])
        self.table.stop(call)
        coll = self.start(COLL, call, [(24, ctypes.c_uint64(self.sequence)), (32, func), (56, ctypes.c_size_t(1 << 22)), (72, datatype),
                                       (80, ctypes.c_uint8(self.channels)), (88, algorithm), (96, protocol)])
        self.sequence += 1
        self.table.stop(coll)
        self.table.stop(group)
        for channel in range(self.channels):
            number = ctypes.c_uint8(channel)
            receive = self.start(PROXY_OP, coll, [(24, ctypes.c_int(os.getpid())), (28, number), (32, ctypes.c_int(self.peer)),
                                                  (36, ctypes.c_int(1))])
            kernel = self.start(KERNEL_CH, coll, [(24, number)])
            step = self.start(PROXY_STEP, receive, [(24, ctypes.c_int(0))])
            for state in (RECV_WAIT, RECV_GPU_WAIT):
                self.table.record(step, state, None)
            for handle in (step, receive):
                self.table.stop(handle)
            self.table.record(kernel, KERNEL_CH_STOP, (ctypes.c_uint64 * 1)())
            self.table.stop(kernel)


def rank_process(options):
    rank = Rank(options.plugin, options.rank, options.boards, options.channels)
    for _ in range(5):
        rank.operation()
    print("ready", flush=True)
    while True:
        time.sleep(0.05 if options.working else 3600)
        rank.operation()


def cpu_seconds(pid):
    """Of all threads of another process, from its CPU clock: clock_getcpuclockid(3), CPUCLOCK_SCHED."""
    return time.clock_gettime(~pid << 3 | 2)


# Down{welcome{protocol: 1, gateway_id: "bench"}} as a frame: docs/formats/agent-stream.md.
WELCOME = b"\x0a\x09\x08\x01\x12\x05bench"


def gateway(listener):
    """Welcomes each agent and reads what it says."""
    def talk(connection):
        connection.sendall(len(WELCOME).to_bytes(4, "little") + WELCOME)
        while connection.recv(65536):
            pass

    while True:
        threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def measure(options):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-bench.", dir="/dev/shm"))
    children = []
    try:
        for rank in range(options.boards):
            command = [sys.executable, __file__, "--rank", str(rank), "--boards", str(options.boards),
                       "--channels", str(options.channels), "--plugin", str(options.plugin)] + ["--working"] * options.working
            children.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                             env={**os.environ, "SENTINEL_BOARD_DIR": str(directory)}))
        for child in children:
            if child.stdout.readline().strip() != "ready":
                raise SystemExit("a rank process did not get ready")
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=gateway, args=(listener,), daemon=True).start()
        programs = [options.build / "apps/sentinel-agent/sentinel-agent"] + [options.against] * bool(options.against)
        agents = []
        for number, program in enumerate(programs):
            config, log = directory / f"agent{number}.toml", directory / f"agent{number}.log"
            config.write_text(f'host = "bench"\nboard_dir = "{directory}"\ningest_socket = ""\n'
                              f'gateway = "127.0.0.1:{listener.getsockname()[1]}"\nspool_dir = "{directory}/spool"\n')
            with open(log, "wb") as output:
                agents.append(subprocess.Popen([str(program), "--config", str(config)], stdout=output, stderr=output))
            children.append(agents[-1])
        time.sleep(3)
        for number, agent in enumerate(agents):
            said = (directory / f"agent{number}.log").read_text()
            if agent.poll() is not None or "gateway=connected" not in said:
                raise SystemExit("the agent ended, or found no gateway:\n" + said)
        before, since = [cpu_seconds(agent.pid) for agent in agents], time.monotonic()
        time.sleep(options.seconds)
        used = [cpu_seconds(agent.pid) - start for agent, start in zip(agents, before)]
        passed = time.monotonic() - since
        for program, agent, seconds in zip(programs, agents, used):
            print(f"boards={options.boards} channels={options.channels} {'working' if options.working else 'at rest'}: "
                  f"agent cpu {100 * seconds / passed:.2f} % of a core, resident {resident_mib(agent.pid):.1f} MiB "
                  f"over {options.seconds:.0f} s ({program})")
        if len(used) == 2:
            print(f"ratio of their cpu: {used[0] / used[1]:.2f}")
    finally:
        for child in children:
            child.send_signal(signal.SIGTERM)
            child.wait()
        subprocess.run(["rm", "-rf", str(directory)], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build/release")
    parser.add_argument("--boards", type=int, default=8)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--working", action="store_true", help="the ranks go through an operation every 50 ms")
    parser.add_argument("--against", type=pathlib.Path, help="another build of the agent, to compare with")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--plugin", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.plugin = options.plugin or options.build / "plugin/nccl/libnccl-profiler-sentinel.so"
    if options.rank is not None:
        rank_process(options)
    elif not options.plugin.exists():
        raise SystemExit(f"{options.plugin} is not built; cmake --workflow --preset release, or --build DIR")
    else:
        measure(options)


if __name__ == "__main__":
    main()
