#!/bin/bash
# What the official image does with POSTGRES_PASSWORD, POSTGRES_USER and POSTGRES_DB, and nothing more.
set -euo pipefail
export PATH="/usr/lib/postgresql/15/bin:$PATH" PGDATA=/var/lib/postgresql/data
if [ "$(id -u)" = 0 ]; then
  install -d -o postgres -m 700 "$PGDATA"
  cd /
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
user=${POSTGRES_USER:-postgres} database=${POSTGRES_DB:-${POSTGRES_USER:-postgres}}
: "${POSTGRES_PASSWORD:?must be given}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username "$user" --pwfile <(echo "$POSTGRES_PASSWORD") --auth-local trust --auth-host scram-sha-256 --encoding UTF8 --locale C.UTF-8
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  # On a socket only, as the official image does: whoever waits for the port waits for the real start.
  pg_ctl start --wait --options "-c listen_addresses=''"
  [ "$database" = postgres ] || createdb --host /var/run/postgresql --username "$user" "$database"
  pg_ctl stop --wait
fi
[ "$1" = postgres ] && shift
exec postgres -c 'listen_addresses=*' "$@"
