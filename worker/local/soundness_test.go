package local

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/pagecheck"
)

// TestBackgroundCheckFindsDamage checks a damaged store that was not closed cleanly. Open opens it,
// but the store fails soon after that, and the next Open returns the error. OpenChecked returns the
// error at once. A store that was closed cleanly is not checked.
func TestBackgroundCheckFindsDamage(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	execution := uuid.New()
	var contents [][]byte
	for i := range 1000 {
		contents = append(contents, []byte(strings.Repeat(string(rune('a'+i%26)), 1000+i)))
	}
	if _, err := s.Put(t.Context(), execution, contents...); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, contentsFile)
	mark := pagecheck.MarkOf(path)
	if state, err := mark.Read(); state != pagecheck.Open || err != nil {
		t.Errorf("the mark of an open store says %v, %v", state, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if state, err := mark.Read(); state != pagecheck.Checked || err != nil {
		t.Errorf("an orderly end leaves a mark that says %v, %v", state, err)
	}
	spoilMiddle(t, path)
	s, err = Open(dir)
	if err != nil {
		t.Fatalf("after an orderly end nothing is checked: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := mark.Write(pagecheck.Open); err != nil { // a killed process leaves this mark
		t.Fatal(err)
	}
	if s, err := OpenChecked(dir); !perdure.IsCode(err, perdure.Internal) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("who waits for the check gets %v", err)
		if err == nil {
			s.Close()
		}
	}
	s, err = Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	<-s.Failed()
	if !perdure.IsCode(s.Err(), perdure.Internal) || !strings.Contains(s.Err().Error(), "damaged") {
		t.Errorf("the store has failed for %v", s.Err())
	}
	if _, err := s.Put(t.Context(), execution, []byte("more")); err == nil {
		t.Error("a write succeeds after that")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(dir); !perdure.IsCode(err, perdure.Internal) {
		t.Errorf("the next start gives %v", err)
		if err == nil {
			s.Close()
		}
	}
}

// spoilMiddle overwrites a page of the database table "chunks" with garbage.
func spoilMiddle(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	var page int64
	if err := db.QueryRow("SELECT pageno FROM dbstat WHERE name = 'chunks' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 100").Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("garbage ", 512)), (page-1)*4096); err != nil {
		t.Fatal(err)
	}
}
