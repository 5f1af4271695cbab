#!/usr/bin/env bash
# Pins the images of Dockerfile and compose.yaml to the current digests of their tags.
# Needs a registry, and skopeo, crane or docker buildx to query it.
set -euo pipefail
cd "$(dirname "$0")/.."

digest() {
	if command -v skopeo > /dev/null; then
		skopeo inspect --format '{{.Digest}}' "docker://$1"
	elif command -v crane > /dev/null; then
		crane digest "$1"
	elif command -v docker > /dev/null; then
		docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$1"
	else
		echo "pin: skopeo, crane or docker is needed to ask the registry" >&2
		return 1
	fi
}

images=$({ sed -nE 's/^FROM ([^ ]+).*/\1/p' Dockerfile; sed -nE 's/^ *image: ([^ ]+)$/\1/p' compose.yaml; } |
	grep -vE '^(scratch|perdure-.*)$' | sed 's/@.*//' | sort -u)
for image in $images; do
	name=$image
	case $name in */*) ;; *) name=docker.io/library/$name ;; esac
	found=$(digest "$name")
	if ! [[ $found =~ ^sha256:[0-9a-f]{64}$ ]]; then
		echo "pin: the registry says no digest of $image" >&2
		exit 1
	fi
	sed -i -E "s#^(FROM |( *)image: )${image//./\\.}(@sha256:[0-9a-f]+)?( |\$)#\\1$image@$found\\4#" Dockerfile compose.yaml
	echo "$image $found"
done
