package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disktest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	lib "modernc.org/sqlite/lib"
)

// TestTheLogsLimitHolds checks that writes return unavailable while the log is at its limit and a
// read prevents the reset of the log. After that read, writes must succeed.
func TestTheLogsLimitHolds(t *testing.T) {
	longtest.Skip(t, "seconds")
	path := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: path})
	made, err := logSize(path) // size after the migrations; the log may keep this size
	if err != nil {
		t.Fatal(err)
	}
	s.committer.checkpointAt, s.committer.walLimit = 64, 1<<20
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	reading, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.pool.Read(context.Background(), func(v connection.View) error {
			_, err := v.One("SELECT count(*) FROM agent_execution", nil, new(int))
			close(reading)
			<-release
			return err
		})
	}()
	<-reading
	version := int64(0)
	grow := func() error {
		return do(t, s, id, func(st *store.State) (*store.Changes, error) {
			st.Execution.Version++
			version = st.Execution.Version
			return &store.Changes{Execution: st.Execution}, nil
		})
	}
	for n := 0; err == nil && n < 2000; n++ {
		err = grow()
	}
	if !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), "limit") {
		t.Errorf("beyond the limit a write gives %v", err)
	}
	const ahead = 240 << 10 // how far the log is extended ahead of writes
	if size, err := logSize(path); err != nil || size > max(made, 1<<20)+2*ahead {
		t.Errorf("the log has %d bytes, %d of them before the first write, %v", size, made, err)
	}
	if why := impairment(t, s); !strings.Contains(why, "limit") {
		t.Errorf("the store says %q", why)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := grow(); err != nil {
		t.Errorf("after the read a write gives %v", err)
	}
	if why := impairment(t, s); why != "" {
		t.Errorf("after the read the store says %q", why)
	}
	if x, err := s.Execution(t.Context(), "acme", id); err != nil || x.Version != version {
		t.Errorf("the newest write gives %v, %v", x, err)
	}
}

// TestAFileThatCannotBeWrittenIsFatal checks that a checkpoint that cannot write or sync the
// database file makes writes return unavailable and calls Fatal.
func TestAFileThatCannotBeWrittenIsFatal(t *testing.T) {
	for _, kind := range []disktest.Kind{disktest.Write, disktest.Sync} {
		t.Run(string(kind), func(t *testing.T) {
			folder := t.TempDir()
			d := disktest.New(t, folder)
			fatal := make(chan error, 1)
			s, err := Open(t.Context(), Options{
				Path: filepath.Join(folder, database), Logger: slog.New(slog.DiscardHandler), Fatal: func(err error) { fatal <- err },
			})
			if err != nil {
				t.Fatal(err)
			}
			s.committer.checkpointAt = 64
			var failed atomic.Bool
			d.Before(func(op disktest.Op) int32 {
				if op.Kind == kind && op.File == database {
					failed.Store(true)
					return lib.SQLITE_IOERR
				}
				return lib.SQLITE_OK
			})
			for n := 0; err == nil; n++ {
				if n == 5000 {
					t.Fatalf("after %d writes the store goes on; the file failed: %v", n, failed.Load())
				}
				err = begin(t, s, uuid.New(), nil)
			}
			if !perdure.IsCode(err, perdure.Unavailable) {
				t.Errorf("a write gives %v", err)
			}
			<-fatal
			d.Before(nil)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// impairment returns why the store refuses writes; "" if it accepts them.
func impairment(t *testing.T, s *Store) string {
	t.Helper()
	var why string
	for _, d := range s.Degraded(t.Context()) {
		if d.Check != store.CheckDisk || why != "" {
			t.Errorf("the store says %+v", d)
		}
		why = d.Detail
	}
	return why
}

// smallDisk is the environment variable with which the test passes the directory on the small disk
// to its child process.
const smallDisk = "PERDURE_TEST_SMALL_DISK"

// inSmallDisk runs the test again in a child process that has a disk of that many bytes. In the
// child, it returns the directory on that disk. In the parent, it returns "" when the child has
// ended.
func inSmallDisk(t *testing.T, bytes int) string {
	t.Helper()
	if folder := os.Getenv(smallDisk); folder != "" {
		return folder
	}
	folder := t.TempDir()
	args := []string{"--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	script := fmt.Sprintf(`mount -t tmpfs -o size=%d,mode=700 tmpfs '%s' && exec '%s' -test.run='^%s$' -test.v`, bytes, folder, os.Args[0], t.Name())
	child := exec.CommandContext(t.Context(), "unshare", append(args, "sh", "-c", script)...)
	child.Env = append(os.Environ(), smallDisk+"="+folder)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("on the small disk: %v\n%s", err, out)
	}
	return ""
}

// fillDisk fills the free space of the disk with a file. The returned function deletes that file.
func fillDisk(t *testing.T, folder string) (free func()) {
	t.Helper()
	name := filepath.Join(folder, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(piece)
	}
	if errors.Is(err, io.ErrShortWrite) || f.Close() != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// TestDeletionsFreeSpaceOnAFullDisk checks that deletions free space on a full disk, and that the
// next start succeeds. Confirmed writes must still be stored, and writes must succeed once there is
// space.
func TestDeletionsFreeSpaceOnAFullDisk(t *testing.T) {
	longtest.Skip(t, "seconds")
	folder := inSmallDisk(t, 24<<20)
	if folder == "" {
		return
	}
	o := Options{Path: filepath.Join(folder, database), Reserve: true, Logger: slog.New(slog.DiscardHandler), Fatal: func(err error) { t.Error(err) }}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	input := json.RawMessage(`"` + strings.Repeat("x", 60<<10) + `"`)
	var kept []uuid.UUID
	for refused := 0; refused < 10 && (err == nil || impairment(t, s) == ""); { // a refusal may free space
		id := uuid.New()
		if err = begin(t, s, id, input); err == nil {
			kept = append(kept, id)
		} else {
			refused++
		}
	}
	if !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("on a full disk a write gives %v", err)
	}
	if file := fileSize(t, o.Path); file < 12<<20 {
		t.Errorf("the disk is full with a file of %d bytes", file)
	}
	if why := impairment(t, s); !strings.Contains(why, "disk is full") {
		t.Errorf("the store says %q", why)
	}
	prune(t, s, kept[:len(kept)/2])
	kept = kept[len(kept)/2:]
	add := func() error {
		id := uuid.New()
		err := begin(t, s, id, input)
		if err == nil {
			kept = append(kept, id)
		}
		return err
	}
	if err = add(); err != nil {
		t.Errorf("after deletes a write gives %v", err)
	}
	if why := impairment(t, s); why != "" {
		t.Errorf("after deletes the store says %q", why)
	}

	free := fillDisk(t, folder)              // the rest of the disk is used while data is in the log
	for n := 0; err == nil && n < 400; n++ { // the log keeps its space, so the first writes may still fit
		err = add()
	}
	if !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a write gives %v", err)
	}
	prune(t, s, kept[:1])
	kept = kept[1:]
	free()
	if err := add(); err != nil {
		t.Errorf("with room again a write gives %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}

	free = fillDisk(t, folder)
	if s, err = Open(t.Context(), o); err != nil {
		t.Fatalf("a start on a full disk: %v", err)
	}
	for _, id := range kept {
		if x, err := s.Execution(t.Context(), "acme", id); err != nil || len(x.Input) != len(input) {
			t.Fatalf("an execution that was answered: %v", err)
		}
	}
	free()
	if err := add(); err != nil {
		t.Errorf("with room again a write gives %v", err)
	}
	invariants.Check(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// prune deletes executions with all their rows, like a sweep. It then returns the unused pages to
// the file system.
func prune(t *testing.T, s *Store, ids []uuid.UUID) {
	t.Helper()
	t.Helper()
	for _, id := range ids {
		_, err := s.Do(t.Context(), store.Command{
			Name: "prune", Lane: store.LaneSweeps, Frees: true, Org: "acme", Execution: id,
			Decide: func(*store.State) (*store.Changes, error) {
				return &store.Changes{Prune: &store.Prune{Execution: true}}, nil
			},
		})
		if err != nil {
			t.Fatalf("a delete on a full disk: %v", err)
		}
	}
	for {
		answers, err := s.Do(t.Context(), store.Command{
			Name: "prune rows", Lane: store.LaneSweeps, Frees: true, Pick: &store.Pick{Kind: store.PickPruned, Limit: 1},
			Decide: func(*store.State) (*store.Changes, error) {
				return &store.Changes{Prune: &store.Prune{Rows: 500}, Answer: true}, nil
			},
		})
		if err != nil {
			t.Fatalf("a delete on a full disk: %v", err)
		}
		if len(answers) == 0 {
			break
		}
	}
	for pages := int64(1); pages > 0; {
		_, err := s.Do(t.Context(), store.Command{
			Name: "free", Lane: store.LaneSweeps, Frees: true,
			Decide: func(*store.State) (*store.Changes, error) { return &store.Changes{Free: 128}, nil },
		})
		if err != nil {
			t.Fatalf("unused pages on a full disk: %v", err)
		}
		if pages, _, err = s.Unused(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
