#!/usr/bin/env bash
# Makes an image of Debian's own packages, for where none can be fetched: make.sh postgres|mariadb (as root, with debootstrap and a Docker engine).
# It is started with the environment of the official image, and stands in for it where the way to a container is tried, not a release.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
release=bookworm
case "${1:-}" in
  postgres) packages=postgresql-15 tag=taskstream-test/postgres:15 command=postgres port=5432 ;;
  mariadb) packages=mariadb-server tag=taskstream-test/mariadb:10.11 command=mariadbd port=3306 ;;
  *) echo 'make.sh postgres|mariadb' >&2; exit 2 ;;
esac

root=$(mktemp -d /var/tmp/taskstream-image-XXXXXX)
log=$root.log
trap 'rm -rf "$root" "$log"' EXIT
quietly() { "$@" >> "$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }; }
# Its users are to enter it too.
chmod 755 "$root"
quietly debootstrap --variant=minbase "$release" "$root"
# Nothing is started in here, and no cluster is made: the entry point makes one, with the password that it is given.
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/etc/postgresql-common"
echo 'create_main_cluster = false' > "$root/etc/postgresql-common/createcluster.conf"
quietly env DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -qq --no-install-recommends "$packages"
rm -rf "$root"/var/lib/mysql "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists
install -m 755 "$here/$1-entrypoint.sh" "$root/usr/local/bin/entrypoint.sh"
tar --create --directory "$root" --one-file-system . |
  docker import --change 'ENTRYPOINT ["entrypoint.sh"]' --change "CMD [\"$command\"]" --change "EXPOSE $port" - "$tag" > /dev/null
echo "$tag"
