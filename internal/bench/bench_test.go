package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// TestMain runs the test binary as a child of the benchmark if the arguments say so. Run starts its
// own program for each child, and in a test that program is the test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childCommand[0] && os.Args[2] == childCommand[1] {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := Child(ctx, os.Args[3:])
		stop()
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEveryWorkloadRuns runs all workloads in their short form. It checks that each workload has
// results, and that no file is left.
func TestEveryWorkloadRuns(t *testing.T) {
	longtest.Skip(t, "seconds")
	folder := shortFolder(t)
	report, err := Run(t.Context(), Config{Short: true, Folder: folder, Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range Workloads() {
		for _, worker := range []string{inProcess, overGRPC} {
			if !w.Remote || worker == overGRPC {
				checkRan(t, report, w.Name, worker)
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v in its folder (%v)", left, err)
	}
}

// cancelOnOutput is a writer that calls end when a line begins with name. A test uses it for
// progress messages, to cancel a run at the beginning of the workload with this name.
type cancelOnOutput struct {
	name string
	end  context.CancelFunc
}

func (e cancelOnOutput) Write(line []byte) (int, error) {
	if strings.HasPrefix(string(line), e.name) {
		e.end()
	}
	return len(line), nil
}

// TestCancelledRunReportsItsResults checks that a run that is cancelled in its second workload
// returns an error and the results of the first workload.
func TestCancelledRunReportsItsResults(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	report, err := Run(ctx, Config{
		Short: true, Folder: shortFolder(t), Memory: true, Workloads: []string{"W5", "W1"}, Workers: []string{inProcess}, Progress: cancelOnOutput{"W1", end},
	})
	if err == nil || report == nil {
		t.Fatalf("it gives %v, %v", report, err)
	}
	checkRan(t, report, "W5", inProcess)
}

func checkRan(t *testing.T, report *Report, name, worker string) {
	t.Helper()
	rows := 0
	for _, row := range report.Results {
		if row.Workload != name || row.Worker != worker {
			continue
		}
		rows++
		if len(row.Figures) == 0 {
			t.Errorf("%s (%s, worker %s) has no figures", name, row.Case, worker)
		}
		for _, f := range row.Figures {
			if strings.HasSuffix(f.Name, " ms") && f.Value <= 0 || f.Value < 0 {
				t.Errorf("%s (%s, worker %s): %s is %v", name, row.Case, worker, f.Name, f.Value)
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s with worker %s has no results", name, worker)
	}
}

// TestLateWorkloadIsRepeated checks that a workload is repeated with more time if its first chunk was
// sent before all readers were connected. The workload runs at most lateTries times, and is not
// repeated after any other error.
func TestLateWorkloadIsRepeated(t *testing.T) {
	other := errors.New("other")
	for _, c := range []struct {
		name  string
		errs  []error // the error of each try
		tries int
		want  error
		ahead time.Duration
	}{
		{"at last", []error{lateStartError{time.Second}, lateStartError{2 * time.Second}, nil}, 3, nil, 6 * time.Second},
		{"never", []error{lateStartError{1}, lateStartError{1}, lateStartError{1}, nil}, lateTries, lateStartError{1}, 4},
		{"another error", []error{other, nil}, 1, other, 0},
	} {
		l, tries := load{}, 0
		err := retryLate(&l, func() error {
			tries++
			return c.errs[tries-1]
		})
		if !errors.Is(err, c.want) || tries != c.tries || l.Ahead != c.ahead {
			t.Errorf("%s: %v after %d tries, with %v more", c.name, err, tries, l.Ahead)
		}
	}
}

// TestHostileRuns checks that a hostile run prints a row for each operation and attack, and that no
// file is left.
func TestHostileRuns(t *testing.T) {
	longtest.Skip(t, "seconds")
	folder := shortFolder(t)
	var out strings.Builder
	h := Hostile{Stores: []string{"sqlite"}, Attacks: []string{"starts", "signals", "searches", "durable", "polls"}, Orgs: 2, For: 2 * time.Second, Folder: folder}
	if err := h.Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range append(guestVerbs, h.Attacks...) {
		if !strings.Contains(out.String(), "\n| "+row+" | ") {
			t.Errorf("there is no row of %s in\n%s", row, out.String())
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v in its folder (%v)", left, err)
	}
}

// TestAttacksWithoutResultsHaveARow checks the report on attacks: it has a row for each chosen attack,
// or for all attacks if none is chosen.
func TestAttacksWithoutResultsHaveARow(t *testing.T) {
	counts := newCounts()
	counts.For = time.Second
	for _, chosen := range [][]string{{"polls", "starts"}, nil} {
		var out strings.Builder
		counts.print(&out, chosen)
		if chosen == nil {
			chosen = Attacks()
		}
		for _, name := range chosen {
			if !strings.Contains(out.String(), "| "+name+" | 0.0 | |") {
				t.Errorf("there is no row of %s in\n%s", name, out.String())
			}
		}
		if rows := strings.Count(out.String(), " | 0.0 |"); rows != len(chosen) {
			t.Errorf("%d rows, want %d", rows, len(chosen))
		}
	}
}

func TestUnknownAttacksAreRefused(t *testing.T) {
	for field, h := range map[string]Hostile{
		"attack": {Attacks: []string{"none"}, Orgs: 1, For: time.Minute},
		"orgs":   {Orgs: 0, For: time.Minute},
		"for":    {Orgs: 1, For: time.Second},
		"store":  {Stores: []string{"mysql://h/d"}, Orgs: 1, For: time.Minute},
	} {
		err := h.Run(t.Context(), io.Discard)
		var coded *perdure.Error
		if !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument || !strings.Contains(fmt.Sprint(coded.Fields, err), field) {
			t.Errorf("a wrong %s gives %v", field, err)
		}
	}
}

func TestInvalidConfigIsRefused(t *testing.T) {
	for field, c := range map[string]Config{
		"workload": {Workloads: []string{"W99"}},
		"store":    {Stores: []string{"mysql://u:secret@h/d"}},
		"worker":   {Workers: []string{"nowhere"}},
	} {
		_, err := Run(t.Context(), c)
		if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), field) && !strings.Contains(err.Error(), "there is no") {
			t.Errorf("a wrong %s gives %v", field, err)
		}
	}
}

// TestFiguresKeepTheirOrder checks that the JSON members of figures are in the order of the
// figures.
func TestFiguresKeepTheirOrder(t *testing.T) {
	got, err := json.Marshal(Figures{{"z ms", 1.5}, {"a", 12345678}})
	if want := `{"z ms":1.5,"a":12345678}`; err != nil || string(got) != want {
		t.Errorf("they are %s (%v), want %s", got, err, want)
	}
}

// shortFolder returns a folder for the data of a workload. Its path is short, because the path of a
// Unix socket has a limit of about 100 bytes.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}
