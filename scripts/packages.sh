# shellcheck shell=bash disable=SC2034
# Which Debian packages building and testing need, and how they are installed when they are missing.
# Sourced by quickstart and check: the lists live here and nowhere else. Never removes a package.

build_packages=(
    cmake curl gcc libbrotli-dev libc6-dev libjansson-dev libnghttp2-dev libssl-dev libzstd-dev
    ninja-build pkg-config zlib1g-dev
)
test_packages=(
    apache2-utils chromium clang clang-format libclang-rt-14-dev libcmocka-dev mandoc
    netcat-openbsd nghttp2-client nghttp2-server python3-h2
    python3-jsonschema python3-pytest python3-pytest-timeout python3-pytest-xdist
    slowhttptest sslscan strace testssl.sh wrk
)
# Whatever node and npm are there already will do: Debian's do not stand beside those of others.
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    test_packages+=(nodejs npm)
fi

# install_packages NAME…: installs those that are missing, as root or through sudo.
# Says what is missing and returns 1 when it cannot.
install_packages() {
    local package missing=() as_root=()
    if ! command -v apt-get >/dev/null; then
        echo "This is not a Debian system: it is taken on trust that these are installed: $*"
        return 0
    fi
    for package in "$@"; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0

    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            echo "Missing packages: ${missing[*]}" >&2
            echo "Run this as root, or install them: apt-get install ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    echo "Installing ${missing[*]}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
        -o APT::Install-Recommends=false)
    # An update that fails is no reason to stop yet: the lists at hand may do.
    "${apt[@]}" update </dev/null >/dev/null || true
    if ! "${apt[@]}" install "${missing[@]}" </dev/null >/dev/null; then
        echo "apt-get could not install: ${missing[*]}" >&2
        return 1
    fi
}
