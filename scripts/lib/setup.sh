# Sourced by the front doors: installs what is missing, then configures and builds a preset, saying what it does.
#
#   say "words"            one line of progress
#   install_packages       Debian packages of packages.txt that are not there (root, or sudo)
#   build PRESET [TARGET…] configure and build
#   enter PROGRAM TARGET … build TARGET and become scripts/lib/PROGRAM, called with the rest

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

install_packages() {
  local wanted missing=() package as_root=""
  mapfile -t wanted < <(sed 's/#.*//' "$repository/scripts/lib/packages.txt" "$@" | tr -s ' \n' '\n' | sed '/^$/d')
  for package in "${wanted[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || fail "this needs Debian's apt-get to install: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "run as root, or install sudo; missing packages: ${missing[*]}"
    as_root=sudo
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  $as_root apt-get update -qq || fail "apt-get update failed; is the network there?"
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get install failed; run it by hand to see why: apt-get install ${missing[*]}"
}

build() {
  local preset=$1
  shift
  say "configuring build/$preset"
  local words
  words=$(cd "$repository" && cmake --preset "$preset" 2>&1) || { printf '%s\n' "$words" >&2; fail "configuring failed (above)"; }
  say "building build/$preset on $(nproc) cores (the first time takes minutes; ccache remembers)"
  (cd "$repository" && cmake --build --preset "$preset" ${1:+--target "$@"}) >&2 || fail "the build failed (above)"
}

# Explains itself without building, and refuses what cannot work before minutes of it.
enter() {
  local preset=${SENTINEL_PRESET:-dev} target=$2
  local program=(python3 "$repository/scripts/lib/$1" --build "$repository/build/$preset")
  shift 2
  case " $* " in
    *" --help "* | *" -h "*) exec "${program[@]}" --help ;;
  esac
  if [ -z "${SENTINEL_DEMO_BUILT:-}" ]; then
    install_packages
    "${program[@]}" --only-check "$@"
    build "$preset" "$target"
  fi
  exec "${program[@]}" "$@"
}
