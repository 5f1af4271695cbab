package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

// TestALookWritesNothing checks that a ReadOnly store reads the log of a crashed store, and changes
// none of the files of that store. A ReadOnly store must also read the log of a store that a server
// uses, and the server must be able to write meanwhile.
func TestALookWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: path})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "perdure.db")
	before := map[string][]byte{}
	for _, end := range []string{"", "-wal"} {
		if err := copyFile(path+end, left+end); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(left + end)
		if err != nil {
			t.Fatal(err)
		}
		before[end] = content
	}
	for _, where := range []string{left, path} {
		look, err := OpenReadOnly(t.Context(), where)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := look.Execution(t.Context(), "acme", id); err != nil {
			t.Errorf("what is in the log gives %v", err)
		}
		if where == path {
			if err := begin(t, s, uuid.New(), nil); err != nil {
				t.Errorf("beside a look, a write gives %v", err)
			}
		}
		if err := look.Close(); err != nil {
			t.Error(err)
		}
	}
	for end, content := range before {
		if after, err := os.ReadFile(left + end); err != nil || !bytes.Equal(after, content) {
			t.Errorf("perdure.db%s has changed, %v", end, err)
		}
	}
	if shared := fileSize(t, left+"-shm"); shared != 0 {
		t.Errorf("%d bytes were written to be shared", shared)
	}
}
