#!/bin/bash
# Builds the plugin for aarch64 with the warnings of the house, checks its symbols, and runs it once
# under qemu. Exit status 77: a tool is missing, and which.
#
#   aarch64_test.sh SOURCE_DIR WORK_DIR PLUGIN_SOURCES...
set -euo pipefail
source=$1 work=$2
shift 2
missing() {
  echo "skipped: $1 is not installed"
  exit 77
}
for tool in gcc objdump readelf; do
  command -v aarch64-linux-gnu-$tool > /dev/null || missing aarch64-linux-gnu-$tool
done
# The plugin needs the C library's headers and no others, so Clang does as well as a cross g++.
if command -v aarch64-linux-gnu-g++ > /dev/null; then
  compile=(aarch64-linux-gnu-g++)
elif command -v clang++ > /dev/null; then
  compile=(clang++ --target=aarch64-linux-gnu -nostdinc++ -isystem /usr/aarch64-linux-gnu/include)
else
  missing "aarch64-linux-gnu-g++ or clang++"
fi
mkdir -p "$work"
cd "$work"
objects=()
for file in "$@"; do
  object=$(basename "$file" .cc).o
  "${compile[@]}" -std=gnu++20 -O2 -fPIC -Wall -Wextra -Wshadow -Werror -I"$source/src" \
    -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden -c "$file" -o "$object"
  objects+=("$object")
done
library=$work/libnccl-profiler-sentinel.so
aarch64-linux-gnu-gcc -shared -Wl,-z,nodelete -Wl,-z,now -Wl,--no-undefined "${objects[@]}" -o "$library"
"$source/plugin/nccl/tests/symbols_test.sh" aarch64-linux-gnu-objdump aarch64-linux-gnu-readelf "$library"
aarch64-linux-gnu-gcc -O1 -Wall -Wextra -Werror "$source/plugin/nccl/tests/smoke.c" -o smoke
command -v qemu-aarch64 > /dev/null || { echo "built and checked; not run: qemu-aarch64 is not installed"; exit 77; }
qemu-aarch64 -L /usr/aarch64-linux-gnu ./smoke "$library"
