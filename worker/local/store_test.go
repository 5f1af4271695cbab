package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		writeForEver(dir)
	}
	goleak.VerifyTestMain(m)
}

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	content := make([]byte, n)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	return content
}

// TestContentsAreFoundByHash checks that contents of several sizes are found by their hash after
// the store was closed and opened again.
func TestContentsAreFoundByHash(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	execution := uuid.New()
	contents := map[string][]byte{}
	for _, n := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3 * chunkSize, wholeInMemory + chunkSize + 7} {
		contents[fmt.Sprint(n)] = random(t, n)
	}
	for name, content := range contents {
		refs, err := s.Put(t.Context(), execution, content, content)
		if err != nil {
			t.Fatal(name, err)
		}
		if want := perdure.ContentRef(execution, content); refs[0] != want || refs[1] != want {
			t.Errorf("%s: the references are %v, want %v twice", name, refs, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	for name, content := range contents {
		sum := perdure.Hash(sha256.Sum256(content))
		if got, err := s.Get(t.Context(), execution, sum); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: Get gave %d bytes, %v", name, len(got), err)
		}
		if got, err := streamed(s, execution, sum); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: Content gave %d bytes, %v", name, len(got), err)
		}
		if id, found, err := s.sumOf(t.Context(), perdure.ContentID(execution, sum)); id != sum || !found || err != nil {
			t.Errorf("%s: its reference leads to %v %v %v", name, id, found, err)
		}
		if _, err := s.Get(t.Context(), uuid.New(), sum); len(content) > 0 && !perdure.IsCode(err, perdure.NotFound) {
			t.Errorf("%s: another execution's content is given: %v", name, err)
		}
	}
}

func streamed(s *Store, execution uuid.UUID, sum perdure.Hash) ([]byte, error) {
	r, err := s.Content(context.Background(), execution, sum)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(r)
	return got, errors.Join(err, r.Close())
}

func TestNameStandsForTheLastContent(t *testing.T) {
	s := openStore(t, t.TempDir())
	a, b := uuid.New(), uuid.New()
	for _, write := range []struct {
		execution     uuid.UUID
		name, content string
	}{{a, "n", "first"}, {a, "n", "second"}, {a, "m", "first"}, {b, "n", "other"}} {
		if err := s.Name(t.Context(), write.execution, write.name, []byte(write.content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		execution     uuid.UUID
		name, content string
	}{{a, "n", "second"}, {a, "m", "first"}, {b, "n", "other"}, {b, "m", ""}} {
		got, err := s.Named(t.Context(), want.execution, want.name)
		if err != nil || string(got) != want.content {
			t.Errorf("%s is %q (%v), want %q", want.name, got, err, want.content)
		}
	}
}

// TestDroppedContentIsGone checks that a dropped content is not in the store's database file, and
// that the file shrinks. A content of another execution stays.
func TestDroppedContentIsGone(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	gone, stays := uuid.New(), uuid.New()
	marker := []byte("what-must-go-" + uuid.NewString())
	if _, err := s.Put(t.Context(), gone, append(random(t, 4<<20), marker...)); err != nil {
		t.Fatal(err)
	}
	if err := s.Name(t.Context(), gone, "name", marker); err != nil {
		t.Fatal(err)
	}
	if err := s.Name(t.Context(), stays, "name", []byte("stays")); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if there, err := s.Has(t.Context(), gone); there || err != nil {
		t.Errorf("it is still there: %v %v", there, err)
	}
	if got, err := s.Named(t.Context(), stays, "name"); string(got) != "stays" || err != nil {
		t.Errorf("the other one's content is %q, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, contentsFile))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, marker) {
		t.Error("the dropped content is still in the file")
	}
	if len(raw) > 1<<20 {
		t.Errorf("the file still has %d bytes", len(raw))
	}
}

// TestDamagedContentIsNeverReturned checks a content whose bytes do not match its hash. Reading it
// is an error, and Content returns none of its bytes.
func TestDamagedContentIsNeverReturned(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, damage := range map[string]string{
		"a changed byte":     "UPDATE chunks SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT max(id) FROM chunks)",
		"a missing chunk":    "DELETE FROM chunks WHERE id = (SELECT max(id) FROM chunks)",
		"a shorter chunk":    "UPDATE chunks SET bytes = substr(bytes, 2) WHERE id = (SELECT min(id) FROM chunks)",
		"a longer length":    "UPDATE contents SET length = length + 1",
		"a length of years":  "UPDATE contents SET length = 1 << 60",
		"a changed text":     "UPDATE shown SET text = CAST('other' AS BLOB)",
		"a shorter length":   "UPDATE contents SET length = length - 1",
		"an exchanged chunk": "UPDATE chunks SET bytes = (SELECT bytes FROM chunks ORDER BY id DESC LIMIT 1)",
	} {
		for _, size := range []int{2*chunkSize + 10, wholeInMemory + 10} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				dir, execution := t.TempDir(), uuid.New()
				s := openStore(t, dir)
				b := NewBatch(execution)
				sums := []perdure.Hash{b.Add(random(t, size)).SHA256}
				p, _, err := blockState{}.addTo(perdure.Frame{Text: "shown"})
				if err != nil {
					t.Fatal(err)
				}
				b.show(p)
				if name == "a changed text" {
					sums = []perdure.Hash{p.sum}
				}
				if err := s.Write(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				alter(t, dir, damage)
				for _, sum := range sums {
					if got, err := s.Get(t.Context(), execution, sum); !perdure.IsCode(err, perdure.Internal) {
						t.Errorf("Get gave %d bytes, %v", len(got), err)
					}
					if got, err := streamed(s, execution, sum); len(got) > 0 || !perdure.IsCode(err, perdure.Internal) {
						t.Errorf("Content gave %d bytes, %v", len(got), err)
					}
				}
			})
		}
	}
}

func (g blockState) addTo(f perdure.Frame) (piece, blockState, error) {
	return g.add(agentSource(1), f)
}

func alter(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, contentsFile), url.Values{}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestWorkerIDIsStableAndItsDirectoryItsOwn checks that a store has the same id when it is opened
// again. A store cannot be open twice at the same time, and an id that cannot be read is an error.
func TestWorkerIDIsStableAndItsDirectoryItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "worker")
	s := openStore(t, dir)
	id := s.WorkerID()
	if _, err := Open(dir); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("a second worker got the directory: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := openStore(t, dir); again.WorkerID() != id {
		t.Errorf("the id was %s and is %s", id, again.WorkerID())
	} else if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{idFile, contentsFile} {
		found, err := os.Stat(filepath.Join(dir, name))
		if err != nil || found.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, found.Mode(), err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, idFile), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !perdure.IsCode(err, perdure.Internal) {
		t.Errorf("an unreadable id was replaced: %v", err)
	}
}

// TestConcurrentWritersShareTransactions checks that each of 200 concurrent writers can read the
// content that it has stored.
func TestConcurrentWritersShareTransactions(t *testing.T) {
	s := openStore(t, t.TempDir())
	execution := uuid.New()
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			content := []byte(fmt.Sprint("content ", i))
			refs, err := s.Put(t.Context(), execution, content)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := s.Get(t.Context(), execution, refs[0].SHA256); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	group.Wait()
}

// TestFailedWriteDoesNotAffectOthers checks that a failed write stores nothing, and that all other
// writes of the same transaction succeed.
func TestFailedWriteDoesNotAffectOthers(t *testing.T) {
	s := openStore(t, t.TempDir())
	execution := uuid.New()
	refused := perdure.Errorf(perdure.InvalidArgument, "planned")
	put := func(text string, fail error) *write {
		b := NewBatch(execution)
		b.Name(text, []byte(text))
		return &write{done: make(chan error, 1), apply: func(t transaction) error { return errors.Join(b.apply(t), fail) }}
	}
	group := []*write{put("one", nil), put("two", refused), put("three", nil)}
	hold := make(chan struct{})
	first := &write{done: make(chan error, 1), apply: func(transaction) error { <-hold; return nil }}
	for _, one := range append([]*write{first}, group...) {
		if err := s.writer.send(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	close(hold)
	for i, want := range []error{nil, refused, nil} {
		if err := <-group[i].done; !errors.Is(err, want) {
			t.Errorf("write %d gave %v, want %v", i, err, want)
		}
	}
	for name, want := range map[string]string{"one": "one", "two": "", "three": "three"} {
		if got, err := s.Named(t.Context(), execution, name); string(got) != want || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// TestFullDiskOnlyRefuses checks that a write that does not fit on the disk fails with the error
// unavailable. Once there is more space, the same write succeeds, and contents stored before are
// intact.
func TestFullDiskOnlyRefuses(t *testing.T) {
	s := openStore(t, t.TempDir())
	execution := uuid.New()
	kept, err := s.Put(t.Context(), execution, []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		err := s.writer.do(t.Context(), func(tx transaction) error {
			_, err := tx.ids(fmt.Sprint("PRAGMA max_page_count = ", pages))
			return err
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(50)
	big := random(t, 1<<20)
	if _, err := s.Put(t.Context(), execution, big); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("the full disk gave %v", err)
	}
	limit(1 << 20)
	if _, err := s.Put(t.Context(), execution, big); err != nil {
		t.Error(err)
	}
	if got, err := s.Get(t.Context(), execution, kept[0].SHA256); string(got) != "before" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
