"""A port for a daemon that is started, killed and started again."""
import random
import socket

# Below what the kernel gives to those who call: nobody's outgoing connection takes it while its daemon is away.
PORTS = range(20_000, 32_000)


def free_port():
    for _ in range(1000):
        with socket.socket() as probe:
            port = random.choice(PORTS)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise OSError(f"no port is free between {PORTS.start} and {PORTS.stop}")
