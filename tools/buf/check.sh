#!/bin/sh
# Fails if the committed code of api/ differs from the code that its protos generate.
# Run it from the root of the repository.
set -eu
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
tools/buf/generate.sh "$fresh"
for file in $(cd "$fresh" && find api -name '*.pb.go') $(find api -name '*.pb.go'); do
	cmp "$fresh/$file" "$file" || {
		echo "$file is not what the protos generate: run make generate and commit it" >&2
		exit 1
	}
done
