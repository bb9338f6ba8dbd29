#!/bin/bash
# Ingest of sentinel-gateway beside the published reference gateway: the same load, the same machine, one run.
#
#   bench/ingest_vs_reference.sh GATEWAY [-d SECONDS=5] [-c CONNECTIONS=32] [-r ROUNDS=3]
#
# Two loads: one event repeated (what a storm of senders is), and events that are all distinct (each of ours is on disk before it is
# answered; the reference keeps nothing). Each round runs both gateways one after the other, each once all is quiet; what is printed at the end is the median of
# the rounds and their ratio. Needs wrk and go; the reference is read from $SENTINEL_SHARED (default ../shared).
set -euo pipefail

die() { echo "ingest_vs_reference: $*" >&2; exit 1; }

[ $# -ge 1 ] && [ -x "$1" ] || die "usage: $0 GATEWAY [-d SECONDS] [-c CONNECTIONS] [-r ROUNDS]"
gateway=$(realpath "$1"); shift
seconds=5 connections=32 rounds=3
while getopts d:c:r: option; do
  case $option in
    d) seconds=$OPTARG ;;
    c) connections=$OPTARG ;;
    r) rounds=$OPTARG ;;
    *) exit 2 ;;
  esac
done
root=$(cd "$(dirname "$0")/.." && pwd)
reference=${SENTINEL_SHARED:-$root/../shared}/reference/go_gateway.go
[ -f "$reference" ] || die "$reference is missing; set SENTINEL_SHARED"
for tool in wrk go python3 curl; do command -v $tool > /dev/null || die "$tool is missing (packages: wrk golang-go python3 curl)"; done

work=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
  wait 2> /dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
ours_port=$(free_port) agents_port=$(free_port) reference_port=$(free_port) sink_port=$(free_port)

# The reference, its two constants pointed at this machine, and a lamp that says yes to everything.
mkdir "$work/reference" "$work/sink" "$work/state"
sed -e "s/\"192.168.10.200\"/\"127.0.0.1:$sink_port\"/" -e "s/\":8080\"/\"127.0.0.1:$reference_port\"/" "$reference" > "$work/reference/main.go"
cat > "$work/sink/main.go" << EOF
package main

import (
	"io"
	"net/http"
)

func main() {
	panic(http.ListenAndServe("127.0.0.1:$sink_port", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
	})))
}
EOF
for program in reference sink; do
  (cd "$work/$program" && GO111MODULE=off go build -o "$work/$program.bin" main.go) || die "go build of the $program failed"
done

(umask 077; printf 'key = "bench"\nsecret = "%s"\n' "$(head -c 24 /dev/urandom | base64)" > "$work/keys.toml")
cat > "$work/gateway.toml" << EOF
listen = ["127.0.0.1:$ours_port"]
agents = ["127.0.0.1:$agents_port"]
state_dir = "$work/state"
key_file = "$work/keys.toml"

[[terminals]]
name = "sink"
address = "127.0.0.1:$sink_port"
EOF

cat > "$work/load.lua" << 'EOF'
local number = 0
local distinct = os.getenv("LOAD") == "distinct"
local run = os.getenv("RUN")
local headers = {["Content-Type"] = "application/json"}
-- No generated suffix in the name: either gateway would cut it off and find its events equal.
local form = '{"cluster_rack":"A03","node_host":"gpu-worker-%s","event_type":"NCCL_TIMEOUT","gpu_index":0,"gpu_util":1.5}'
local repeated
function request()
  if not distinct then
    -- Not earlier: wrk knows the Host header only once it runs.
    repeated = repeated or wrk.format("POST", "/api/v1/gpu_event", headers, form:format("08-5f7c9d8b4a"))
    return repeated
  end
  number = number + 1
  return wrk.format("POST", "/api/v1/gpu_event", headers, form:format("x" .. run .. "x" .. number .. "x"))
end
function done(summary, latency)
  io.write(string.format("RESULT %.0f %.3f %.3f %d\n", summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000,
    latency:percentile(99) / 1000, summary.errors.status + summary.errors.timeout + summary.errors.connect + summary.errors.read))
end
EOF

"$work/sink.bin" & pids+=($!)
"$work/reference.bin" 2> /dev/null & pids+=($!)
"$gateway" --config "$work/gateway.toml" 2> "$work/gateway.log" & pids+=($!)
answers() { curl -s -o /dev/null -m 1 -X POST -d '{"node_host":"warm","event_type":"XID_WARN","gpu_util":50}' "http://127.0.0.1:$1/api/v1/gpu_event"; }
for port in $ours_port $reference_port; do
  for ((try = 0; ; ++try)); do
    answers "$port" && break
    [ $try -lt 100 ] || { tail -20 "$work/gateway.log" >&2; die "nothing answers on port $port"; }
    sleep 0.1
  done
done

# What one gateway still has to tell the lamp when its load ends would be paid for by the other.
ticks() { for pid in "${pids[@]}"; do cat "/proc/$pid/stat"; done | awk '{ sum += $14 + $15 } END { print sum }'; }
settle() {
  local before now
  before=$(ticks)
  for ((try = 0; try < 120; ++try)); do
    sleep 0.5
    now=$(ticks)
    [ $((now - before)) -gt 3 ] || return 0
    before=$now
  done
  die "the gateways do not get quiet after a load"
}

printf '%-9s %-10s %5s %12s %9s %9s %8s\n' load gateway round requests/s p50_ms p99_ms not_200
run=0
for load in repeated distinct; do
  for ((round = 1; round <= rounds; ++round)); do
    for who in reference ours; do
      port=$reference_port
      [ $who = ours ] && port=$ours_port
      run=$((run + 1))
      settle
      result=$(LOAD=$load RUN=$run wrk -t1 -c"$connections" -d"${seconds}s" -s "$work/load.lua" "http://127.0.0.1:$port" | grep ^RESULT) ||
        die "wrk failed against $who"
      read -r _ rate p50 p99 failed <<< "$result"
      printf '%-9s %-10s %5d %12s %9s %9s %8s\n' "$load" $who $round "$rate" "$p50" "$p99" "$failed"
      echo "$load $who $rate $p50 $p99 $failed" >> "$work/results"
    done
  done
done

python3 - "$work/results" << 'EOF'
import statistics
import sys

rows = [line.split() for line in open(sys.argv[1])]
print()
for load in ("repeated", "distinct"):
    median = {}
    for who in ("reference", "ours"):
        mine = [row for row in rows if row[0] == load and row[1] == who]
        median[who] = [statistics.median(float(row[i]) for row in mine) for i in (2, 3, 4)]
    ours, reference = median["ours"], median["reference"]
    print(f"{load}: ours {ours[0]:.0f}/s (p50 {ours[1]:.2f} ms, p99 {ours[2]:.2f} ms), "
          f"reference {reference[0]:.0f}/s (p50 {reference[1]:.2f} ms, p99 {reference[2]:.2f} ms), "
          f"ratio {ours[0] / reference[0]:.2f}")
EOF
