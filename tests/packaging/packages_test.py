#!/usr/bin/env python3
"""The Debian packages: what is in them (default), or installed, upgraded, removed and purged on a copy of this machine (--install).

    packages_test.py --build BUILD_DIR --packages DIR [--install]

The copy is an overlay in memory over the root file system, in a mount namespace of its own: nothing of it stays. Where that cannot be
had (no root, no overlays) --install ends with status 77 and says why.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
INSIDE = "GPU_SENTINEL_INSIDE_OVERLAY"
DAEMONS = ("agent", "gateway", "terminal")
FILES = {
    "agent": ["/usr/bin/sentinel-agent", "/usr/lib/gpu-sentinel/libnccl-profiler-sentinel.so", "/usr/lib/systemd/system/sentinel-agent.service"],
    "gateway": ["/usr/bin/sentinel-gateway", "/usr/share/gpu-sentinel/prometheus/gpu-sentinel.rules.yml",
                "/usr/share/gpu-sentinel/grafana/gpu-sentinel.json", "/usr/lib/systemd/system/sentinel-gateway.service"],
    "terminal": ["/usr/bin/sentinel-terminal", "/usr/lib/systemd/system/sentinel-terminal.service"],
    "tools": ["/usr/bin/sentinelctl", "/usr/bin/sentinel-ring"],
}
MAY_LIE_IN = re.compile(r"^/(usr/(bin|lib|share)(/|$)|usr/$|etc/gpu-sentinel(/|$)|etc/$|$)")
# What a purged installation leaves behind besides dpkg's own notes: the user.
LEFT = re.compile(r"^/(var/(lib/dpkg|log|cache|lib/systemd/deb-systemd-helper)|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|etc/\.pwd\.lock|tmp|run|root|mnt)")


class Problems:
    def __init__(self):
        self.words = []

    def check(self, good, words):
        if not good:
            self.words.append(words)
            print(f"wrong: {words}")

    def status(self):
        return 1 if self.words else 0


def run(*command, **options):
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, **options)


def dpkg(*arguments):
    # Nothing of it stays: it need not reach a disk.
    must("dpkg", "--force-unsafe-io", *arguments, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def must(*command, **options):
    ran = run(*command, **options)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def make(build, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    must("cpack", "-G", "DEB", "-B", folder, cwd=build)
    shutil.rmtree(folder / "_CPack_Packages", ignore_errors=True)
    return find(folder)


def find(folder):
    return {name: path for name in FILES for path in folder.glob(f"gpu-sentinel-{name}_*.deb")}


def check_contents(packages, problems):
    problems.check(set(packages) == set(FILES), f"there are packages {sorted(packages)}")
    for name, package in packages.items():
        fields = dict(line.split(": ", 1) for line in must("dpkg-deb", "-f", package).splitlines() if re.match(r"\w", line) and ": " in line)
        for field in ("Package", "Version", "Architecture", "Maintainer", "Description", "Depends", "Section", "Installed-Size"):
            problems.check(fields.get(field), f"{name}: no {field}")
        listed = {}
        for line in must("dpkg-deb", "-c", package).splitlines():
            mode, owner, _, _, _, path = line.split(None, 5)
            listed[path.split(" -> ")[0].removeprefix(".")] = (mode, owner)
        for file in FILES[name] + [f"/usr/share/doc/gpu-sentinel-{name}/copyright", f"/usr/share/doc/gpu-sentinel-{name}/changelog.Debian.gz"]:
            problems.check(file in listed, f"{name}: {file} is missing")
        for path, (mode, owner) in listed.items():
            problems.check(MAY_LIE_IN.match(path), f"{name}: {path} does not belong there")
            problems.check(owner == "root/root", f"{name}: {path} belongs to {owner}")
            problems.check(mode[8] != "w", f"{name}: everybody may write {path}")
            if "/keys/" in path:
                problems.check(mode == "drwx------", f"{name}: {path} has mode {mode}")
        with tempfile.TemporaryDirectory() as control:
            must("dpkg-deb", "-e", package, control)
            scripts = {path.name for path in pathlib.Path(control).iterdir()}
            for script in scripts & {"preinst", "postinst", "prerm", "postrm"}:
                must("sh", "-n", pathlib.Path(control) / script)
            if name in DAEMONS:
                problems.check({"postinst", "prerm", "postrm", "conffiles"} <= scripts, f"{name}: has only {sorted(scripts)}")
                conffiles = (pathlib.Path(control) / "conffiles").read_text().split()
                problems.check(conffiles == [f"/etc/gpu-sentinel/{name}.toml"], f"{name}: conffiles are {conffiles}")
    if shutil.which("lintian"):
        ran = run("lintian", "--fail-on", "error", "--no-tag-display-limit", *packages.values())
        print(ran.stdout + ran.stderr, end="")
        problems.check(ran.returncode == 0, "lintian finds errors")
    else:
        print("lintian is not installed: only our own checks were made")


# ------------------------------------------------------------------------------------------------------------------- on a copy
def skip(words):
    print(f"skipped: {words}")
    sys.exit(SKIPPED)


def enter_copy(arguments):
    """Runs this script once more, inside."""
    if os.getuid() != 0:
        skip("installing packages needs root")
    if shutil.which("unshare") is None or shutil.which("dpkg") is None:
        skip("there is no unshare or no dpkg here")
    with tempfile.TemporaryDirectory(prefix="gpu-sentinel-packages.") as folder:
        script = """set -e
mount -t tmpfs copy "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay copy -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --bind /proc "$1/root/proc"
mount --bind /dev "$1/root/dev"
mount -t tmpfs run "$1/root/run"
for folder in packages test upper lower; do mkdir -p "$1/root/mnt/$folder"; done
mount --bind "$1/upper" "$1/root/mnt/upper"
mount --bind / "$1/root/mnt/lower"
mount --bind "$2" "$1/root/mnt/packages"
mount --bind "$3" "$1/root/mnt/test"
mount -t tmpfs upper "$1/root/tmp"
touch "$1/ready"
"""
        inside = 'exec chroot "$1/root" python3 /mnt/test/packages_test.py --build / --packages /mnt/packages --install'
        ready = run("unshare", "-m", "sh", "-c", script, "sh", folder, arguments.packages.resolve(), pathlib.Path(__file__).parent.resolve())
        if ready.returncode != 0:
            skip(f"no copy of this machine can be made here: {ready.stderr.strip()}")
        ran = subprocess.run(["unshare", "-m", "sh", "-c", script + inside, "sh", folder, arguments.packages.resolve(),
                              pathlib.Path(__file__).parent.resolve()], env={**os.environ, INSIDE: "1"})
        return ran.returncode


def left_behind():
    """Every path that is on the copy and not on the machine."""
    upper, lower = pathlib.Path("/mnt/upper"), pathlib.Path("/mnt/lower")
    for top, folders, files in os.walk(upper):
        for name in (*folders, *files):
            path = pathlib.Path(top, name).relative_to(upper)
            if not os.path.lexists(lower / path):
                yield f"/{path}"


def check_installed(packages, problems):
    dpkg("-i", *packages.values())
    problems.check(run("getent", "passwd", "gpu-sentinel").returncode == 0, "there is no user gpu-sentinel")
    state, keys = pathlib.Path("/var/lib/gpu-sentinel"), pathlib.Path("/etc/gpu-sentinel/keys")
    problems.check(state.owner() == "gpu-sentinel" and state.stat().st_mode & 0o777 == 0o750, "the state folder is not the daemons' own")
    problems.check(keys.owner() == "root" and keys.stat().st_mode & 0o777 == 0o700, "others may read the folder of keys")
    for name in DAEMONS:
        problems.check("sentinel" in must(f"sentinel-{name}", "--help") + name, f"sentinel-{name} --help says nothing")
    for program, configuration in (("sentinel-gateway", "gateway.toml"), ("sentinel-agent", "agent.toml")):
        checked = run("setpriv", "--reuid=gpu-sentinel", "--regid=gpu-sentinel", "--clear-groups", program, "--config",
                      f"/etc/gpu-sentinel/{configuration}", "--check")
        problems.check(checked.returncode == 0, f"{program} does not take the configuration it comes with: {checked.stdout}{checked.stderr}")
    problems.check(run("sentinelctl", "--version").returncode == 0, "sentinelctl does not run")

    changed = pathlib.Path("/etc/gpu-sentinel/gateway.toml")
    changed.write_text(changed.read_text() + "# changed by the operator\n")
    dpkg("-i", packages["gateway"])
    problems.check("changed by the operator" in changed.read_text(), "an upgrade has taken the operator's configuration away")

    for path in ("sentinel.db", "sentinel.db-wal", "agent-spool/1", "learned.0", "speech/1.wav"):
        file = state / path
        file.parent.mkdir(exist_ok=True)
        file.touch()
    (keys / "terminal.key").touch()
    dpkg("-r", "gpu-sentinel-gateway")
    problems.check(changed.exists() and (state / "sentinel.db").exists(), "a removal has taken configuration or store away")
    dpkg("--purge", "gpu-sentinel-gateway")
    problems.check(not changed.exists() and not (state / "sentinel.db").exists() and not (state / "sentinel.db-wal").exists(),
                   "a purge has left the gateway's configuration or store")
    problems.check((state / "agent-spool" / "1").exists(), "a purge of the gateway has taken what is the agent's")
    problems.check((keys / "terminal.key").exists(), "a purge of the gateway has taken the terminal's key")
    (keys / "terminal.key").unlink()
    dpkg("--purge", *(f"gpu-sentinel-{name}" for name in ("agent", "terminal", "tools")))
    for path in sorted(left_behind()):
        problems.check(LEFT.match(path), f"purged, and {path} is left")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    problems = Problems()
    if not options.install:
        check_contents(make(options.build, options.packages), problems)
    elif INSIDE not in os.environ:
        return enter_copy(options)
    else:
        check_installed(find(options.packages), problems)
        print(f"{len(problems.words)} problems")
    return problems.status()


if __name__ == "__main__":
    sys.exit(main())
