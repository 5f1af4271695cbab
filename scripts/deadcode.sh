#!/usr/bin/env bash
# Lists functions that neither a program (cmd/, examples/) nor an Example of a
# public package reaches, and fails if there are any. tools/deadcode/exceptions
# names the exceptions, each with its reason; an exception without such a
# function fails, too.
set -euo pipefail
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Other tests reach nothing: the overlay leaves out their files. So the files
# with Examples, example*_test.go, need no other test file.
git ls-files '*_test.go' | grep -vE '(^|/)example[a-z_]*_test\.go$' | awk -v root="$PWD" '
	BEGIN { printf "{\"Replace\": {" }
	{ printf "%s\n\"%s/%s\": \"\"", sep, root, $0; sep = "," }
	END { print "}}" }' >"$tmp/overlay.json"

go build -modfile=tools/deadcode/go.mod -o "$tmp/deadcode" golang.org/x/tools/cmd/deadcode
export GOFLAGS="$(go env GOFLAGS) -overlay=$tmp/overlay.json"
packages=$(go list ./... | grep -vE '/e2e(/|$)')
"$tmp/deadcode" -test \
	-f '{{range .Funcs}}{{printf "%s.%s %s:%d\n" $.Path .Name .Position.File .Position.Line}}{{end}}' \
	$packages | sed -e '/^$/d' -e 's,^github.com/perdure/perdure[./],,' >"$tmp/dead"

failed=0
cp "$tmp/dead" "$tmp/left"
while read -r pattern reason; do
	case $pattern in '' | '#'*) continue ;; esac
	if [ -z "$reason" ]; then
		echo "tools/deadcode/exceptions: $pattern has no reason" >&2
		failed=1
	fi
	if ! grep -qE "^$pattern " "$tmp/dead"; then
		echo "tools/deadcode/exceptions: $pattern matches no dead function; remove it" >&2
		failed=1
	fi
	grep -vE "^$pattern " "$tmp/left" >"$tmp/next" || true
	mv "$tmp/next" "$tmp/left"
done <tools/deadcode/exceptions
if [ -s "$tmp/left" ]; then
	echo "no program and no Example reaches these functions:" >&2
	cat "$tmp/left" >&2
	failed=1
fi
exit "$failed"
