#!/bin/sh
# Print the path of a Chromium to test pages with: one that is there; else Debian's, installed
# as root or with sudo; else Debian's, unpacked with all it needs under .venv/browser.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/.venv/browser

say() { echo "browser.sh: $*" >&2; }
works() { "$1" --version >/dev/null 2>&1; }

found() {
  for name in chromium chromium-browser google-chrome google-chrome-stable "$folder/chromium"; do
    path=$(command -v "$name" 2>/dev/null) || continue
    if works "$path"; then
      echo "$path"
      return 0
    fi
  done
  return 1
}

install_with() {
  export DEBIAN_FRONTEND=noninteractive
  "$@" apt-get -q update >&2
  "$@" apt-get -q install -y --no-install-recommends chromium fonts-dejavu-core >&2
}

# Without the rights to install: the same packages, unpacked into a folder of our own.
unpack() {
  rm -rf "$folder"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/debs" "$folder/root"
  own="-q -o Dir::State::Lists=$folder/apt/lists -o Dir::Cache=$folder/apt/cache -o Debug::NoLocking=1 -o APT::Sandbox::User="
  # shellcheck disable=SC2086
  apt-get $own update >&2
  # shellcheck disable=SC2086
  names=$(apt-get $own --simulate --no-install-recommends install chromium fonts-dejavu-core |
    sed -n 's/^Inst \([^ ]*\) .*/\1/p')
  # shellcheck disable=SC2086
  (cd "$folder/debs" && apt-get $own download $names >&2)
  for deb in "$folder"/debs/*.deb; do
    dpkg-deb --extract "$deb" "$folder/root"
  done
  rm -rf "$folder/debs" "$folder/apt"
  libraries=$(find "$folder/root" -name '*.so*' -printf '%h\n' | sort -u | tr '\n' ':')
  cat >"$folder/fonts.conf" <<END
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>$folder/root/usr/share/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>$folder/fonts</cachedir>
</fontconfig>
END
  cat >"$folder/chromium" <<END
#!/bin/sh
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:-}"
export FONTCONFIG_FILE="$folder/fonts.conf"
exec "$folder/root/usr/lib/chromium/chromium" "\$@"
END
  chmod +x "$folder/chromium"
}

if [ -n "${CRUCIAL_BROWSER:-}" ]; then
  if works "$CRUCIAL_BROWSER"; then
    echo "$CRUCIAL_BROWSER"
    exit 0
  fi
  say "CRUCIAL_BROWSER is $CRUCIAL_BROWSER, which does not run."
  exit 1
fi
found && exit 0
if command -v apt-get >/dev/null; then
  say "no Chromium found; getting Debian's"
  if [ "$(id -u)" = 0 ]; then
    install_with env || say "installing failed"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    install_with sudo || say "installing with sudo failed"
  else
    unpack || say "unpacking failed"
  fi
  found && exit 0
fi
say "no Chromium. Install it (Debian: apt-get install chromium), or name one that runs in CRUCIAL_BROWSER."
exit 1
