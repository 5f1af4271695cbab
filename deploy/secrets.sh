#!/bin/sh
# Generates a password for NATS and writes it into the files that compose.yaml mounts
# for NATS and the servers. Existing files are not changed.
set -eu
dir=$(dirname "$0")/secrets
umask 077
mkdir -p "$dir"
if [ -s "$dir/nats.conf" ] && [ -s "$dir/nats-url" ]; then
	exit 0
fi
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
printf 'authorization {\n  user: perdure\n  password: "%s"\n}\n' "$password" > "$dir/nats.conf"
printf 'nats://perdure:%s@nats:4222\n' "$password" > "$dir/nats-url"
# The containers read these files as other users.
chmod 0444 "$dir/nats.conf" "$dir/nats-url"
chmod 0711 "$dir"
