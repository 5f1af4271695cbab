package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
)

// logLines collects the lines of a JSON logger.
type logLines struct {
	mu    sync.Mutex
	grown *sync.Cond // signals new lines; uses the field mu
	all   bytes.Buffer
}

func newLogLines() *logLines {
	l := &logLines{}
	l.grown = sync.NewCond(&l.mu)
	return l
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.grown.Broadcast()
	return l.all.Write(p)
}

// waitFor waits for n lines about an execution that begin with "a run", and returns their messages and
// codes. A line may be written a moment after clients see the change.
func (l *logLines) waitFor(t *testing.T, x *perdure.Execution, n int) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if lines := l.of(t, x); len(lines) >= n {
			return lines
		}
		l.grown.Wait()
	}
}

func (l *logLines) of(t *testing.T, x *perdure.Execution) (lines []string) {
	t.Helper()
	for line := range strings.Lines(l.all.String()) {
		var of struct{ Level, Msg, Execution, Org, Kind, Code string }
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatal(err)
		}
		if of.Execution != x.ID.String() || !strings.HasPrefix(of.Msg, "a run ") {
			continue
		}
		if of.Level != "INFO" || of.Org != "default" || of.Kind != x.Kind {
			t.Errorf("the line is %s", line)
		}
		lines = append(lines, strings.TrimSpace(of.Msg+" "+of.Code))
	}
	return lines
}

// TestRunsAreLogged checks that the server logs a line for each run that starts, waits for a signal
// or an answer, or ends, on each kind of store, and that the lines contain no contents.
func TestRunsAreLogged(t *testing.T) {
	eachStore(t, func(t *testing.T, c server.Config) {
		lines := newLogLines()
		c.Logger = slog.New(slog.NewJSONHandler(lines, nil))
		o := observe(t, c)
		o.script("fail", "turn\n  fail refused secret failure\n")
		o.employ(nil)
		completed, failed := o.run(t.Context(), "run"), o.run(t.Context(), "fail")
		o.script("asks", "turn\n  call one {}\n")
		asking, err := o.client.Start(t.Context(), client.StartRequest{
			UserPrompt: "secret", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "asks"}}, Tools: &[]string{"one"},
			Approvals: perdure.ApprovalPolicy{{Tools: []string{"one"}, Then: perdure.ApprovalAsk}},
		})
		if err != nil {
			t.Fatal(err)
		}
		o.cancelAtWait(asking.ID, "question")
		chat, err := o.client.Start(t.Context(), client.StartRequest{UserPrompt: "secret", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "run"}}})
		if err != nil {
			t.Fatal(err)
		}
		o.cancelAtWait(chat.ID, "signal")
		asking, chat = o.ended(asking.ID), o.ended(chat.ID)
		for _, c := range []struct {
			x    *perdure.Execution
			want []string
		}{
			{completed, []string{"a run started", "a run completed"}},
			{failed, []string{"a run started", "a run failed " + string(*failed.ErrorCode)}},
			{asking, []string{"a run started", "a run waits for the answer to a question", "a run was cancelled"}},
			{chat, []string{"a run started", "a run waits for a signal", "a run was cancelled"}},
		} {
			if got := lines.waitFor(t, c.x, len(c.want)); !slices.Equal(got, c.want) {
				t.Errorf("the lines are %q, want %q", got, c.want)
			}
		}
		if strings.Contains(lines.all.String(), "secret") {
			t.Error("a line contains what a user or a model wrote")
		}
	})
}

// cancelAtWait cancels an execution as soon as the execution waits with the given reason.
func (o *observedServer) cancelAtWait(id uuid.UUID, reason string) {
	o.Helper()
	for e, err := range o.client.Follow(o.Context(), id, "") {
		if err != nil {
			o.Fatal(err)
		}
		if e.Type == perdure.EventWaiting && strings.Contains(string(e.Data), `"reason":"`+reason+`"`) {
			break
		}
	}
	if _, err := o.client.Cancel(o.Context(), id); err != nil {
		o.Fatal(err)
	}
}
