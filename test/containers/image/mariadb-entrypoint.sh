#!/bin/bash
# What the official image does with MARIADB_ROOT_PASSWORD and MARIADB_DATABASE, and nothing more. It resolves no names either.
set -euo pipefail
: "${MARIADB_ROOT_PASSWORD:?must be given}"
data=/var/lib/mysql
install -d -o mysql -g mysql "$data" /run/mysqld
if [ ! -d "$data/mysql" ]; then
  mariadb-install-db --no-defaults --user=mysql --datadir="$data" --skip-test-db
  # Without a network, as the official image does: whoever waits for the port waits for the real start.
  mariadbd --no-defaults --user=mysql --datadir="$data" --bootstrap << SQL
flush privileges;
create user root@'%' identified by '$MARIADB_ROOT_PASSWORD';
grant all on *.* to root@'%' with grant option;
${MARIADB_DATABASE:+create database \`$MARIADB_DATABASE\`;}
SQL
fi
[ "$1" = mariadbd ] && shift
exec mariadbd --no-defaults --user=mysql --datadir="$data" --socket=/run/mysqld/mysqld.sock --bind-address=0.0.0.0 --skip-name-resolve "$@"
