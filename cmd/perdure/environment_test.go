package main

import (
	"testing"
)

// TestVariablesFromFiles checks that PERDURE_STORE_FILE names a file whose first line becomes the value
// of --store. PERDURE_STORE takes precedence.
func TestVariablesFromFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "addr", "mysql://db/x\nmore\n")
	launchWith(t, dir, []string{"PERDURE_STORE_FILE=addr"}, "migrate").wantEnd(2, "postgres://")
	launchWith(t, dir, []string{"PERDURE_STORE_FILE=nowhere"}, "migrate").wantEnd(2, "PERDURE_STORE_FILE")
	launchWith(t, dir, []string{"PERDURE_STORE_FILE=nowhere", "PERDURE_STORE=mysql://db/x"}, "migrate").wantEnd(2, "postgres://")
}
