package layering

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// muxes are the packages that may have an HTTP mux: internal/face/front, which guards every route
// that it serves, and internal/ops, which serves the operators' port and accepts no API keys.
var muxes = map[string]bool{"internal/face/front": true, "internal/ops": true}

var aMux = regexp.MustCompile(`\bhttp\.(NewServeMux|ServeMux|DefaultServeMux|Handle|HandleFunc)\b`)

// TestRoutesAreRegisteredWithTheFront checks that only the packages in `muxes` have an HTTP mux, so
// that no route bypasses the checks of internal/face/front.
func TestRoutesAreRegisteredWithTheFront(t *testing.T) {
	found := directoriesWith(t, aMux)
	for dir := range found {
		if !muxes[dir] {
			t.Errorf("%s has a mux of its own; register its routes with internal/face/front", dir)
		}
	}
	for dir := range muxes {
		if !found[dir] {
			t.Errorf("%s has no mux any more; remove its exception", dir)
		}
	}
}

// directoriesWith returns the directories with code that matches the pattern. Comments and tests do
// not count.
func directoriesWith(t *testing.T, pattern *regexp.Regexp) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, root := range []string{"internal", "server", "cmd", "agent", "worker"} {
		err := filepath.WalkDir("../../"+root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			raw, err := os.ReadFile(path)
			if dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../../"))); pattern.Match(withoutComments(raw)) {
				found[dir] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

var comment = regexp.MustCompile(`(?m)//.*$`)

func withoutComments(code []byte) []byte { return comment.ReplaceAll(code, nil) }
