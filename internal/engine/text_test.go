package engine

import (
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// onEach runs a test on each kind of store.
func onEach(t *testing.T, test func(*testing.T, *place)) {
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		p := &place{T: t, clock: &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}, worker: uuid.New()}
		p.s = open(t, p.clock.Now)
		p.e = New(Config{Store: p.s, Lease: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		p.d = p.e.Dispatch(org, false)
		_, err := p.d.Register(t.Context(), perdure.Registration{
			WorkerID: p.worker, Queues: []string{"default"},
			Agents: []perdure.KindSpec{{Kind: "agent"}, {Kind: perdure.ReactKind, Providers: []string{"scripted"}}},
			Tasks:  []perdure.KindSpec{{Kind: "work"}},
		})
		p.must(err)
		test(t, p)
	})
}

// place is an engine with a worker, on a store of any kind.
type place struct {
	*testing.T
	clock  *clock
	s      store.Store
	e      *Engine
	d      perdure.Dispatch
	worker uuid.UUID
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// start starts an execution and claims it.
func (p *place) start(r StartRequest) perdure.Lease {
	p.Helper()
	r.Kind = "agent"
	_, err := p.e.Start(p.Context(), org, r)
	p.must(err)
	return p.claim().Lease
}

// claim claims the only pending execution.
func (p *place) claim() perdure.AgentClaim {
	p.Helper()
	claims, err := p.d.PollAgents(p.Context(), perdure.Poll{WorkerID: p.worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1})
	p.must(err)
	if len(claims) != 1 {
		p.Fatalf("%d executions were claimed, want 1", len(claims))
	}
	return claims[0]
}

func (p *place) release(a perdure.AgentRelease) {
	p.Helper()
	p.must(p.d.Release(p.Context(), perdure.Release{WorkerID: p.worker, Agents: []perdure.AgentRelease{a}}))
	p.clock.advance(2 * maxPause) // after the pause of the crash guard
}

// schedule schedules a task and claims it. The execution suspends until the task ends.
func (p *place) schedule(l perdure.Lease, o perdure.TaskOptions) perdure.TaskLease {
	p.Helper()
	key := perdure.CallerTaskKey(l.ExecutionID, "work", "k")
	id := perdure.TaskID(key)
	_, err := p.d.Commit(p.Context(), perdure.Commit{
		Lease: l, Number: 1,
		Tasks:   []perdure.NewTask{{Kind: "work", Key: key, Input: perdure.Inline(json.RawMessage(`null`)), Options: o}},
		Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &perdure.Wait{Task: &id}},
	})
	p.must(err)
	claims, err := p.d.PollTasks(p.Context(), perdure.Poll{WorkerID: p.worker, Queues: []string{"default"}, Kinds: []string{"work"}, Slots: 1})
	p.must(err)
	return claims[0].Lease
}

func (p *place) execution(id uuid.UUID) *perdure.Execution {
	p.Helper()
	x, err := p.s.Execution(p.Context(), org, id)
	p.must(err)
	return x
}

// TestErrorsOfAnyWordsEndWhatTheyEnd checks on every store that an execution, step or task can end
// with an error whose text contains a zero byte or invalid UTF-8. U+FFFD replaces such bytes in the
// stored text.
func TestErrorsOfAnyWordsEndWhatTheyEnd(t *testing.T) {
	const said, kept = "exit status 2: \x00 \xff.", "exit status 2: \uFFFD \uFFFD."
	failure := &perdure.TaskError{Code: "bad\x00code", Message: said}
	onEach(t, func(t *testing.T, p *place) {
		check := func(what string, got *perdure.TaskError) {
			t.Helper()
			if got == nil || got.Message != kept || got.Code != "bad\uFFFDcode" {
				t.Errorf("%s says %+v", what, got)
			}
		}
		ended := func(what string, id uuid.UUID, code perdure.Code) {
			t.Helper()
			x := p.execution(id)
			if x.Status != perdure.StatusFailed || x.Error == nil || !strings.Contains(*x.Error, kept) || *x.ErrorCode != code {
				t.Errorf("%s: the execution is %s, and says %v, %v", what, x.Status, x.Error, x.ErrorCode)
			}
		}
		l := p.start(StartRequest{})
		_, err := p.d.Commit(t.Context(), perdure.Commit{
			Lease: l, Number: 1, Steps: []perdure.StepRecord{{Name: "s", Key: "s", Error: failure}},
			Outcome: perdure.Outcome{Kind: perdure.OutcomeFail, Error: failure},
		})
		p.must(err)
		ended("an agent that fails", l.ExecutionID, "bad\uFFFDcode")
		steps, err := p.s.Tasks(t.Context(), l.ExecutionID, []uuid.UUID{perdure.TaskID("s")}, false)
		p.must(err)
		check("a step", steps[0].Error)

		l = p.start(StartRequest{})
		task := p.schedule(l, perdure.TaskOptions{MaxAttempts: 1})
		_, err = p.d.FinishTask(t.Context(), perdure.TaskFinish{WorkerID: p.worker, Lease: task, Error: failure})
		p.must(err)
		tasks, err := p.s.Tasks(t.Context(), l.ExecutionID, []uuid.UUID{task.TaskID}, false)
		p.must(err)
		check("a task", tasks[0].Error)

		for range panicsToFail {
			p.release(perdure.AgentRelease{Lease: p.claim().Lease, Panic: said})
		}
		ended("an agent that panics", l.ExecutionID, "panic")

		l = p.start(StartRequest{})
		p.release(perdure.AgentRelease{Lease: l, Unfit: said})
		for range lossesToFail - 1 {
			p.release(perdure.AgentRelease{Lease: p.claim().Lease, Unfit: said})
		}
		ended("an agent that no worker is fit for", l.ExecutionID, "unfit_worker")
	})
}

// TestTextsThatCannotBeKeptAreRefused checks on every store that a name, an id or another text that
// the store keeps as text is refused with invalid_argument if it has a zero byte or invalid UTF-8.
// The request is refused before the store gets it.
func TestTextsThatCannotBeKeptAreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, p *place) {
		l := p.start(StartRequest{})
		task := p.schedule(l, perdure.TaskOptions{})
		l = p.start(StartRequest{})
		for name, ask := range map[string]func(bad string) error{
			"queue":           func(bad string) error { return p.tryStart(StartRequest{Queue: bad}) },
			"workspace":       func(bad string) error { return p.tryStart(StartRequest{Workspace: bad}) },
			"Idempotency-Key": func(bad string) error { return p.tryStart(StartRequest{IdempotencyKey: bad}) },
			"kind":            func(bad string) error { return p.tryStart(StartRequest{Kind: bad}) },
			"metadata": func(bad string) error {
				return p.tryStart(StartRequest{Metadata: json.RawMessage(`{"a":"` + bad + `"}`)})
			},
			"signalId":     func(bad string) error { return p.trySignal(SignalRequest{Name: "n", ID: bad}) },
			"signalName":   func(bad string) error { return p.trySignal(SignalRequest{Name: bad}) },
			"name":         func(bad string) error { return p.tryDefine(perdure.Definition{Name: bad}) },
			"description":  func(bad string) error { return p.tryDefine(perdure.Definition{Name: "n", Description: bad}) },
			"systemPrompt": func(bad string) error { return p.tryDefine(perdure.Definition{Name: "n", SystemPrompt: bad}) },
			"q":            func(bad string) error { return p.tryList(store.ExecutionFilter{Query: bad}) },
			"key name": func(bad string) error {
				_, _, err := p.e.CreateKey(p.Context(), org, bad, perdure.KeyWorker)
				return err
			},
			"a listed kind":    func(bad string) error { return p.tryList(store.ExecutionFilter{Kind: bad}) },
			"a metadata key":   func(bad string) error { return p.tryList(store.ExecutionFilter{Metadata: map[string]string{bad: "1"}}) },
			"a metadata value": func(bad string) error { return p.tryList(store.ExecutionFilter{Metadata: map[string]string{"a": bad}}) },
			"a pattern": func(bad string) error {
				_, err := p.d.Signals(p.Context(), l.ExecutionID, []string{bad}, 0, 1)
				return err
			},
			"a poll's queue": func(bad string) error {
				_, err := p.d.PollAgents(p.Context(), perdure.Poll{Queues: []string{bad}, Kinds: []string{"agent"}, Slots: 1})
				return err
			},
			"a poll's kind": func(bad string) error {
				_, err := p.d.PollTasks(p.Context(), perdure.Poll{Queues: []string{"default"}, Kinds: []string{bad}, Slots: 1})
				return err
			},
		} {
			for _, bad := range []string{"a\x00b", "a\xffb"} {
				if err := ask(bad); !perdure.IsCode(err, perdure.InvalidArgument) || errors.Unwrap(err) != nil {
					t.Errorf("%s of %q gave %v", name, bad, err)
				}
			}
		}
		p.everyText("a commit", 67, &perdure.Commit{}, func(v any) error {
			c := *v.(*perdure.Commit)
			c.Lease, c.Number = l, 1
			_, err := p.d.Commit(p.Context(), c)
			return err
		})
		p.everyText("a registration", 22, &perdure.Registration{}, func(v any) error {
			_, err := p.d.Register(p.Context(), *v.(*perdure.Registration))
			return err
		})
		p.everyText("a frame", 8, &perdure.Frame{}, func(v any) error {
			f := *v.(*perdure.Frame)
			f.Lease, f.AgentLease = &task, nil
			replies, err := p.d.Append(p.Context(), []perdure.Frame{f})
			if err == nil && replies[0].Err != nil {
				return replies[0].Err
			}
			return err
		})
	})
}

func (p *place) tryStart(r StartRequest) error {
	if r.Kind == "" {
		r.Kind = "agent"
	}
	_, err := p.e.Start(p.Context(), org, r)
	return err
}

func (p *place) trySignal(r SignalRequest) error {
	x, err := p.e.Start(p.Context(), org, StartRequest{Kind: "agent", Queue: "elsewhere"})
	p.must(err)
	_, err = p.e.Signal(p.Context(), org, x.ID, r)
	return err
}

func (p *place) tryDefine(d perdure.Definition) error {
	d.Slug, d.Models = "s", scripted
	_, err := p.e.Definitions.Create(p.Context(), org, d)
	return err
}

func (p *place) tryList(f store.ExecutionFilter) error {
	f.Limit = 10
	_, err := p.e.Read().Executions(p.Context(), org, f)
	return err
}

// everyText checks that a zero byte is refused in each text of a request. For each text, it calls
// the function `ask` with a request that has a zero byte only in this text. In the texts of errors
// and of blocks, zero bytes are accepted. The parameter `want` is the number of texts in which a
// zero byte must be refused.
func (p *place) everyText(what string, want int, request any, ask func(any) error) {
	p.Helper()
	t := reflect.TypeOf(request).Elem()
	texts := 0
	for _, path := range textPaths(t, nil, 0) {
		v := reflect.New(t)
		name := setText(v.Elem(), path, "a\x00b")
		err := ask(v.Interface())
		if perdure.IsCode(err, perdure.Internal) {
			p.Errorf("%s with a zero byte in %s gave %v", what, name, err)
		}
		if strings.Contains(name, "Error") || what == "a frame" && name == ".Text" {
			continue
		}
		texts++
		if !perdure.IsCode(err, perdure.InvalidArgument) || errors.Unwrap(err) != nil || !strings.Contains(err.Error(), "zero byte") {
			p.Errorf("%s with a zero byte in %s gave %v", what, name, err)
		}
	}
	if texts != want {
		p.Errorf("%s has %d texts, want %d", what, texts, want)
	}
}

// textPaths returns the path to each string in the type t. An element of a path is the index of a
// field, or -1 for the first element of a slice or the target of a pointer. The parameter `at` is
// the path to `t` itself.
func textPaths(t reflect.Type, at []int, depth int) [][]int {
	if depth > 6 {
		return nil // a wait contains waits, so the recursion must end
	}
	switch t.Kind() {
	case reflect.String:
		return [][]int{slices.Clone(at)}
	case reflect.Pointer, reflect.Slice:
		return textPaths(t.Elem(), append(slices.Clone(at), -1), depth+1)
	case reflect.Struct:
		var all [][]int
		for i := range t.NumField() {
			if t == reflect.TypeFor[perdure.Time]() {
				break
			}
			all = append(all, textPaths(t.Field(i).Type, append(slices.Clone(at), i), depth+1)...)
		}
		return all
	}
	return nil
}

func setText(v reflect.Value, path []int, text string) (name string) {
	for _, i := range path {
		switch {
		case i >= 0:
			name += "." + v.Type().Field(i).Name
			v = v.Field(i)
		case v.Kind() == reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		default:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			v = v.Index(0)
		}
	}
	v.SetString(text)
	return name
}

// TestContentsSayAnyCharacter checks on every store that contents with the JSON escape \u0000 are
// returned unchanged.
func TestContentsSayAnyCharacter(t *testing.T) {
	zero := json.RawMessage(`{"a":"x\u0000y","b":"\\u0000"}`)
	onEach(t, func(t *testing.T, p *place) {
		same := func(what string, got json.RawMessage) {
			t.Helper()
			if string(got) != string(zero) {
				t.Errorf("%s came back as %s", what, got)
			}
		}
		x, err := p.e.Start(t.Context(), org, StartRequest{Kind: "agent", Input: zero, Metadata: zero})
		p.must(err)
		_, err = p.e.Signal(t.Context(), org, x.ID, SignalRequest{Name: "n", Value: zero})
		p.must(err)
		claim := p.claim()
		same("the input", claim.Execution.Input)
		same("the metadata", claim.Execution.Metadata)
		same("the signal", claim.Signals[0].Value)
		entry, err := perdure.NewMessageEntry(perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{{Type: perdure.PartText, Text: "x\x00y"}}}})
		p.must(err)
		entry.Metadata = zero
		_, err = p.d.Commit(t.Context(), perdure.Commit{
			Lease: claim.Lease, Number: 1, Entries: []perdure.NewEntry{{Entry: entry}},
			Events:     []perdure.NewEvent{{Type: perdure.EventData, Fields: zero}},
			Steps:      []perdure.StepRecord{{Name: "s", Key: "s", Result: perdure.Inline(zero)}},
			Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline(zero)},
			Outcome:    perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline(zero)},
		})
		p.must(err)
		same("the output", p.execution(x.ID).Output)
		checkpoint, err := p.s.Checkpoint(t.Context(), x.ID, 0)
		p.must(err)
		same("the state", checkpoint.State)
		steps, err := p.s.Tasks(t.Context(), x.ID, []uuid.UUID{perdure.TaskID("s")}, false)
		p.must(err)
		same("a step's result", steps[0].Result)
		for e, err := range p.d.Entries(t.Context(), perdure.EntryQuery{ExecutionID: x.ID, Leaf: entry.ID}) {
			p.must(err)
			same("an entry's metadata", e.Metadata)
			if string(e.Content) != string(entry.Content) {
				t.Errorf("the entry came back as %s", e.Content)
			}
		}
		if err := p.tryList(store.ExecutionFilter{Query: "x"}); err != nil {
			t.Errorf("a search gave %v", err)
		}
	})
}

// TestMetadataHoldsNoHalfOfAPair checks that half of a surrogate pair in metadata is refused,
// because the store compares members of metadata as text.
func TestMetadataHoldsNoHalfOfAPair(t *testing.T) {
	b := newBench(t)
	for metadata, good := range map[string]bool{
		`{"b":"\ud83d\uDE00"}`: true, `{"b":"\\ud800"}`: true, `{"b":"\u0000\u00e9"}`: true, `{"b":"\\\ud83d\ude00\\\\udc00"}`: true,
		`{"b":"\ud800"}`: false, `{"b":"\uDC00"}`: false, `{"b":"\ud800\ud800"}`: false, `{"b":"\ud800\n\udc00"}`: false,
		`{"b":"\ud83d\ude00\ude00"}`: false, `{"\ud800":1}`: false, `{"b":"\\\ud800"}`: false, `{"b":{"c":["\ud800x"]}}`: false,
	} {
		_, err := b.e.Start(t.Context(), org, StartRequest{Kind: "agent", Metadata: json.RawMessage(metadata)})
		if good && err != nil || !good && !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("metadata %s gave %v", metadata, err)
		}
	}
}

// TestBlocksHoldZeroBytes checks that terminal output is stored with its zero bytes.
func TestBlocksHoldZeroBytes(t *testing.T) {
	onEach(t, func(t *testing.T, p *place) {
		l := p.start(StartRequest{})
		task := p.schedule(l, perdure.TaskOptions{})
		const shown = "x\x00y"
		replies, err := p.d.Append(t.Context(), []perdure.Frame{{Lease: &task, Type: perdure.EventTerminal, Text: shown}})
		p.must(err)
		if replies[0].Err != nil || replies[0].Held != int64(len(shown)) {
			t.Fatalf("the frame was answered %+v", replies[0])
		}
		blocks, _, err := p.s.OpenBlocks(t.Context(), l.ExecutionID)
		p.must(err)
		if len(blocks) != 1 || blocks[0].Content != shown {
			t.Errorf("the open blocks are %+v", blocks)
		}
		_, err = p.d.FinishTask(t.Context(), perdure.TaskFinish{WorkerID: p.worker, Lease: task, Result: perdure.Inline(json.RawMessage(`1`)), Blocks: []perdure.BlockEnd{
			{Key: perdure.BlockKey{TaskID: task.TaskID, Attempt: int64(task.Attempt)}, Length: int64(len(shown))},
		}})
		p.must(err)
		records, _, err := p.s.Log(t.Context(), l.ExecutionID, 0, 100)
		p.must(err)
		var all strings.Builder
		for _, r := range records {
			if r.Chunk != nil {
				all.WriteString(r.Chunk.Text)
			}
		}
		if all.String() != shown {
			t.Errorf("the log gives %q", all.String())
		}
	})
}
