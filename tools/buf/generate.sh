#!/bin/sh
# Generates the code of api/ into the checkout, or into the given directory. Run it from
# the root of the repository. It needs no network if the modules of tools/buf are
# downloaded.
set -eu
buf="go tool -modfile=tools/buf/go.mod buf"
$buf lint --config tools/buf/buf.yaml .
$buf generate --config tools/buf/buf.yaml --template tools/buf/buf.gen.yaml --output "${1:-.}" .
