package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/longtest"

	"github.com/google/uuid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
)

// secret is a text in every content of the executions in TestNoContentAtRest.
const secret = "zebra-crossing-at-midnight"

func (b *bench) startWith(kind string, input any) uuid.UUID {
	b.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	x, err := b.e.Start(b.Context(), org, engine.StartRequest{Kind: kind, PersistenceMode: b.mode, Input: raw})
	if err != nil {
		b.Fatal(err)
	}
	return x.ID
}

// inFiles returns how often the text of `secret` occurs in each file of the folder. The map's keys
// are the names of the files; files without the text are left out.
func inFiles(t *testing.T, folder string) map[string]int {
	t.Helper()
	found := map[string]int{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if n := bytes.Count(raw, []byte(secret)); n > 0 {
			found[filepath.Base(path)] = n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestNoContentAtRest checks that the files of the server's database soon contain no content of
// LOCAL executions that have ended. The worker still has their streamed text, terminal output, input
// and output. If the same executions are REMOTE, their contents are found in the server's files,
// which shows that the search works.
func TestNoContentAtRest(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			b := newBench(t, 20*time.Second)
			b.mode = mode
			b.agents = append(b.agents, agent.DefineFunc("a", secretive))
			b.tasks = append(b.tasks, agent.DefineTask("echo", func(ctx agent.TaskContext, in string) (string, error) {
				ctx.Stream().Text(secret + " text")
				ctx.Stream().Thinking(secret + " thinking")
				ctx.Stream().ToolArguments("call", secret+" arguments")
				ctx.Stream().Terminal("stdout", []byte(secret+" output"))
				ctx.Stream().Data(map[string]string{"type": secret})
				ctx.Progress(secret)
				if in == "fail" {
					return "", agent.Permanent(errors.New(secret + " went wrong"))
				}
				return secret + " result", nil
			}))
			kept := b.newStore()
			b.work(func(c *Config) { c.Local = kept })
			id := b.startWith("a", secret+" input")
			b.signal(id, "go", fmt.Sprintf("%q", secret+" signal"))
			x := b.ended(id, perdure.StatusCompleted)
			failed := b.startWith("a", secret+" fails")
			b.signal(failed, "go", fmt.Sprintf("%q", secret+" fail"))
			b.ended(failed, perdure.StatusFailed)
			if mode == perdure.Remote {
				if n := inFiles(t, b.folder); len(n) == 0 {
					t.Error("the search finds nothing at all")
				}
				return
			}
			// The server erases contents that passed through it, and the database overwrites them
			// soon after that.
			eventually(t, "the server's files to be free of content", func() bool { return len(inFiles(t, b.folder)) == 0 })
			for what, text := range map[string]string{
				"a block": secret + " text", "a terminal": secret + " output", "the input": fmt.Sprintf("%q", secret+" input"),
			} {
				if _, err := kept.Get(t.Context(), id, perdure.ContentRef(id, []byte(text)).SHA256); err != nil {
					t.Errorf("the worker does not have %s: %v", what, err)
				}
			}
			if got := b.content(id, x.Output, x.OutputBlob); !strings.Contains(string(got), secret) {
				t.Errorf("the output is %s", got)
			}
		})
	}
}

func secretive(ctx agent.Context, in string) (string, error) {
	ctx.Stream().Text(secret + " says")
	if _, err := ctx.Append(user(secret + in)); err != nil {
		return "", err
	}
	s, err := ctx.WaitSignal("go", 0)
	if err != nil {
		return "", err
	}
	if _, err := agent.Step(ctx, "step", func(context.Context) (string, error) { return secret + " step", nil }); err != nil {
		return "", err
	}
	if _, err := agent.Call[string](ctx, "echo", secret+" task"); err != nil {
		return "", err
	}
	if _, err := agent.Call[string](ctx, "echo", "fail"); err == nil {
		return "", errors.New("the failing task did not fail")
	}
	if err := ctx.Emit(map[string]string{"type": secret}); err != nil {
		return "", err
	}
	if err := ctx.Checkpoint(secret + " state"); err != nil {
		return "", err
	}
	if strings.Contains(string(s.Value), "fail") {
		return "", errors.New(secret + " error")
	}
	return secret + " output", nil
}

// TestLocalRunWaitsForItsHome checks that a LOCAL execution runs only on the worker that has its
// contents, its home. While the home is not connected, the execution stays PENDING and shows which
// worker it waits for.
func TestLocalRunWaitsForItsHome(t *testing.T) {
	b := newBench(t, time.Second)
	b.mode = perdure.Local
	b.agent("a", func(ctx agent.Context) (string, error) {
		if _, err := ctx.Append(user("begin"), agent.WithKey("begin")); err != nil {
			return "", err
		}
		s, err := ctx.WaitSignal("go", 0)
		return string(s.Value), err
	})
	store := b.newStore()
	first := b.work(func(c *Config) { c.Local = store })
	id := b.start("a")
	b.waiting(id, "signal")
	first.stop()
	others := []running{b.work(), b.work(func(c *Config) { c.Parked = -1 })}
	b.signal(id, "go", `"on"`)
	pending := b.until(id, "it to be pending", func(x *perdure.Execution) bool { return x.Status == perdure.StatusPending })
	if pending.HomeID == nil || *pending.HomeID != store.WorkerID() {
		t.Errorf("its home is %v", pending.HomeID)
	}
	x, err := b.e.Read().Execution(t.Context(), org, id)
	if err != nil || x.Away == nil || x.Away.WorkerID != store.WorkerID() {
		t.Errorf("it does not say who is away: %+v, %v", x.Away, err)
	}
	// The other workers have free slots: they run another execution in the meantime.
	other := b.start("a")
	b.waiting(other, "signal")
	if x := b.execution(id); x.Status != perdure.StatusPending {
		t.Errorf("it is %s without its home", x.Status)
	}
	b.work(func(c *Config) { c.Local = store })
	b.output(id, `"on"`)
	for _, o := range others {
		if there, err := o.Local.Has(t.Context(), id); there || err != nil {
			t.Errorf("another worker has content of it: %v %v", there, err)
		}
	}
}

// TestPromotedRunGoesOnElsewhere checks a waiting LOCAL execution that becomes REMOTE. The server
// then has the whole conversation, the former worker drops the contents, and another worker
// continues the execution.
func TestPromotedRunGoesOnElsewhere(t *testing.T) {
	b := newBench(t, 5*time.Second)
	b.mode = perdure.Local
	b.agent("a", func(ctx agent.Context) (string, error) {
		ctx.Stream().Text("shown")
		if _, err := ctx.Append(user(big), agent.WithKey("begin")); err != nil {
			return "", err
		}
		if err := ctx.Checkpoint(big); err != nil {
			return "", err
		}
		for range 2 {
			s, err := ctx.WaitSignal("say", 0)
			if err != nil {
				return "", err
			}
			if _, err := ctx.Append(user(string(s.Value)), agent.WithKey(s.EntryKey())); err != nil {
				return "", err
			}
			if err := ctx.Flush(); err != nil {
				return "", err
			}
		}
		var said []string
		for e, err := range ctx.Messages() {
			if err != nil {
				return "", err
			}
			m, err := e.Message()
			if err != nil {
				return "", err
			}
			said = append(said, short(m.PlainText()))
		}
		return strings.Join(said, "|"), nil
	})
	first := b.work()
	id := b.start("a")
	b.waiting(id, "signal")
	b.signal(id, "say", `"one"`)
	eventually(t, "it to wait again", func() bool { return len(b.texts(id)) == 2 && b.execution(id).Status == perdure.StatusWaiting })
	var failed error
	eventually(t, "the promotion", func() bool {
		_, failed = b.e.Promote(t.Context(), org, id)
		return !perdure.IsCode(failed, perdure.Unavailable)
	})
	if failed != nil {
		t.Fatal(failed)
	}
	if x := b.execution(id); x.PersistenceMode != perdure.Remote {
		t.Errorf("it is %s", x.PersistenceMode)
	}
	first.stop()
	again := b.work(func(c *Config) { c.Local = b.stores[0] })
	eventually(t, "the promoted content to be dropped at its home", func() bool {
		there, err := b.stores[0].Has(t.Context(), id)
		return !there && err == nil
	})
	again.stop()
	for _, kept := range b.stores { // only the server has the conversation now
		if err := kept.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b.stores, b.mode = nil, perdure.Remote
	if texts := b.texts(id); len(texts) != 2 || texts[0] != big || texts[1] != `"one"` {
		t.Errorf("%d texts are on the server", len(texts))
	}
	b.work()
	b.signal(id, "say", `"two"`)
	b.output(id, short(big)+`|"one"(5)|"two"(5)`)
	shown := ""
	for _, r := range b.log(id) {
		if r.Chunk != nil {
			shown += r.Chunk.Text
		}
	}
	if !strings.HasPrefix(shown, "shown") {
		t.Errorf("the log shows %q", shown)
	}
}

// fill returns an agent that appends n entries of 64 KiB, each with a checkpoint, and then waits
// for the signal "go".
func fill(n int) func(agent.Context) (string, error) {
	body := strings.Repeat("0123456789abcdef", 4<<10)
	return func(ctx agent.Context) (string, error) {
		var done int
		if _, err := ctx.State(&done); err != nil {
			return "", err
		}
		for ; done < n; done++ {
			if _, err := ctx.Append(user(fmt.Sprintf("%06d %s", done, body)), agent.WithKey(fmt.Sprint(done))); err != nil {
				return "", err
			}
			if err := ctx.Checkpoint(done + 1); err != nil {
				return "", err
			}
		}
		_, err := ctx.WaitSignal("go", 0)
		return fmt.Sprint(done), err
	}
}

// filled runs fill(n) as a LOCAL execution until it waits. It then stops the worker and starts
// another one, which ends the execution. The result `wrote` is the time until the wait, and
// `resumed` is the time from the start of the second worker to the end.
func filled(t *testing.T, n int) (wrote, resumed time.Duration) {
	b := newBench(t, 20*time.Second)
	b.mode = perdure.Local
	b.agent("a", fill(n))
	store := b.newStore()
	first := b.work(func(c *Config) { c.Local = store })
	began := time.Now()
	id := b.start("a")
	limit := time.NewTimer(30 * time.Minute)
	defer limit.Stop()
	for b.execution(id).Status != perdure.StatusWaiting {
		select {
		case <-limit.C:
			t.Fatal("it takes too long")
		case <-time.After(10 * time.Millisecond):
		}
	}
	wrote = time.Since(began)
	first.stop()
	b.signal(id, "go", "1")
	began = time.Now()
	b.work(func(c *Config) { c.Local = store })
	b.output(id, fmt.Sprint(n))
	resumed = time.Since(began)
	i := 0
	for _, text := range b.texts(id) {
		if want := fmt.Sprintf("%06d ", i); !strings.HasPrefix(text, want) {
			t.Fatalf("entry %d begins with %.10s", i, text)
		}
		i++
	}
	if i != n {
		t.Errorf("%d entries, want %d", i, n)
	}
	size := int64(0)
	for _, name := range []string{"perdure.db", "perdure.db-wal"} {
		if found, err := os.Stat(filepath.Join(b.folder, name)); err == nil {
			size += found.Size()
		}
	}
	raw, err := os.ReadFile(filepath.Join(b.folder, "perdure.db"))
	if err != nil || bytes.Contains(raw, []byte("0123456789abcdef0123456789abcdef")) {
		t.Errorf("content is in the server's file (%v)", err)
	}
	t.Logf("%d entries: %.0f/s, resumed in %s, the server's database has %d KiB", n, float64(n)/wrote.Seconds(), resumed, size>>10)
	return wrote, resumed
}

// TestLocal200Entries checks a LOCAL execution with 200 large entries. A second worker reads them
// in order, and the server's database file does not contain their content.
func TestLocal200Entries(t *testing.T) {
	longtest.Skip(t, "seconds")
	filled(t, 200)
}

// BenchmarkLocal10kEntries does the same as TestLocal200Entries with 10,000 entries. Its metric
// resume-ratio is the time of a resume after 10,000 entries divided by the time after 100.
func BenchmarkLocal10kEntries(b *testing.B) {
	for b.Loop() {
		var few, many, wrote time.Duration
		ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{
			{Name: "100", F: func(t *testing.T) { _, few = filled(t, 100) }},
			{Name: "10000", F: func(t *testing.T) { wrote, many = filled(t, 10_000) }},
		})
		if !ok {
			b.Fatal("the run is not right")
		}
		b.ReportMetric(10_000/wrote.Seconds(), "entries/s")
		b.ReportMetric(many.Seconds()*1000, "resume-ms")
		b.ReportMetric(many.Seconds()/few.Seconds(), "resume-ratio")
	}
}
