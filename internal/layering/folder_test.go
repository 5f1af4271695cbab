package layering

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

// maxFiles is the maximum number of Go files in a folder, not counting tests.
const maxFiles = 22

// longFolders may have more files than maxFiles.
// docs/decisions/057-folders-with-more-than-twenty-files.md has the reasons.
var longFolders = []string{
	".", "client", "llm", "react", "worker",
	"internal/store", "internal/rules", "internal/engine", "internal/store/sql/apply", "internal/face/openai",
	"internal/face/rest", "internal/store/storetest", "internal/bench", "cmd/perdure/internal/terminal",
}

// TestFoldersAreShort checks that only the folders in longFolders have more than maxFiles files,
// and that each of them does.
func TestFoldersAreShort(t *testing.T) {
	t.Parallel()
	list := exec.Command("git", "ls-files", "*.go")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	for file := range strings.Lines(string(out)) {
		if file = strings.TrimSpace(file); !strings.HasSuffix(file, "_test.go") {
			files[path.Dir(file)]++
		}
	}
	for _, folder := range longFolders {
		if files[folder] <= maxFiles {
			t.Errorf("%s has only %d files: remove it from longFolders", folder, files[folder])
		}
		delete(files, folder)
	}
	for folder, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files, more than %d: make a package of a part with a purpose of its own", folder, n, maxFiles)
		}
	}
}
