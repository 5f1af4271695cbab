package sqlite

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

// TestForeignDatabasesStayAsTheyAre checks that the database of another program is refused, and that
// neither its file nor its folder changes.
func TestForeignDatabasesStayAsTheyAre(t *testing.T) {
	for _, mode := range []string{"delete", "wal"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perdure.db")
			makeForeign(t, path, mode)
			before := folderContents(t, filepath.Dir(path))
			if s, err := Open(t.Context(), Options{Path: path}); !perdure.IsCode(err, perdure.InvalidArgument) {
				t.Errorf("opened: %v, %v", s, err)
			}
			if diff := cmp.Diff(before, folderContents(t, filepath.Dir(path))); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
		})
	}
}

// makeForeign creates a database with a table of another program, in the given journal mode.
func makeForeign(t *testing.T, path, mode string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode("+mode+")")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE mine (a)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func folderContents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(content)
	}
	return all
}
