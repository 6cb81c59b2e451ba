#!/usr/bin/env bash
# Copies every workspace of a data folder, and who may do what, while servers go on working. Needs sqlite3.
#
#     deploy/backup.sh DATA_FOLDER NEW_FOLDER
set -euo pipefail
[[ $# == 2 ]] || { echo "usage: backup.sh DATA_FOLDER NEW_FOLDER" >&2; exit 2; }
from=$1 to=$2
umask 077
shopt -s nullglob
stores=("$from"/*.graphloom)
((${#stores[@]})) || { echo "backup: no workspace in $from" >&2; exit 1; }
mkdir -- "$to"
for store in "${stores[@]}"; do
    copy=$to/$(basename "$store")
    sqlite3 "$store" ".timeout 30000" ".backup '${copy//\'/\'\'}'"
    [[ $(sqlite3 "$copy" "PRAGMA integrity_check") == ok ]] || { echo "backup: $copy is damaged" >&2; exit 1; }
    # One file without a log beside it can be moved and compared.
    sqlite3 "$copy" "PRAGMA journal_mode = DELETE" >/dev/null
done
[[ ! -e $from/access.json ]] || cp -- "$from/access.json" "$to/"
sync -- "$to"
