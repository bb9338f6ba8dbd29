#!/bin/bash
# What the plugin asks of the process it is loaded into: the C library and nothing newer than
# GLIBC_2.17; and what it offers: five tables and nothing else.
#
#   symbols_test.sh OBJDUMP READELF LIBRARY
set -euo pipefail
objdump=$1 readelf=$2 library=$3
failed=0
fail() {
  echo "$library: $*"
  failed=1
}

offered=$("$objdump" -T "$library" | awk '$2 != "l" && $1 ~ /^[0-9a-f]+$/ && !/\*UND\*/ {print $NF}' | sort | tr '\n' ' ')
expected="ncclProfiler_v2 ncclProfiler_v3 ncclProfiler_v4 ncclProfiler_v5 ncclProfiler_v6 "
[ "$offered" = "$expected" ] || fail "exports $offered"
"$objdump" -T "$library" | grep ' ncclProfiler_' | grep -qv ' DO .*000030 ' && fail "a table is not an object of 48 bytes"

while read -r version; do
  newest=$(printf '%s\n' "$version" 2.17 | sort -V | tail -1)
  [ "$newest" = 2.17 ] || fail "needs GLIBC_$version"
done < <("$objdump" -T "$library" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -u)

while read -r needed; do
  case $needed in
    libc.so.6 | ld-linux-*) ;;
    *) fail "needs $needed" ;;
  esac
done < <("$readelf" -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')

"$readelf" -d "$library" | grep -q NODELETE || fail "can be unloaded under running callbacks"
"$readelf" -d "$library" | grep -q 'BIND_NOW\|NOW' || fail "resolves symbols inside callbacks"
"$readelf" -lW "$library" | grep -q 'TLS' && fail "uses thread-local storage, which may allocate"
exit $failed
