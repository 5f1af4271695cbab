package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var listTests = map[string]func(*fixture){
	"executions are listed newest first, in pages":     listsExecutions,
	"executions are filtered":                          filtersExecutions,
	"what a list shows beside the rows":                outlinesOfAPage,
	"entries, tasks and checkpoints come oldest first": listsOldestFirst,
	"tasks come in the order asked":                    tasksInOrder,
	"heads of what has ended come in pages":            endedInPages,
	"the newest record before a moment":                endedBefore,
	"a reader that gives up leaves the store readable": givesUp,
	"a cursor that is none is refused":                 badCursors,
}

// pages reads a whole list in pages. A page has at most `size` items.
func pages[T any](f *fixture, size int, read func(cursor string, limit int) (store.Page[T], error)) []T {
	f.Helper()
	var all []T
	for cursor := ""; ; {
		page, err := read(cursor, size)
		f.must(err)
		if len(page.Items) > size {
			f.Errorf("a page of %d holds %d", size, len(page.Items))
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		if page.Next == cursor {
			f.Fatal("a page's next one is itself")
		}
		cursor = page.Next
	}
}

func listsExecutions(f *fixture) {
	var want []uuid.UUID
	for range 7 {
		want = append(want, f.start())
	}
	f.start(func(x *perdure.Execution) { x.Org = "other" })
	slices.Reverse(want)
	for _, size := range []int{1, 3, 7, 100} {
		var got []uuid.UUID
		for _, x := range pages(f, size, func(cursor string, limit int) (store.Page[*perdure.Execution], error) {
			return f.s.Executions(f.ctx, org, store.ExecutionFilter{Cursor: cursor, Limit: limit})
		}) {
			got = append(got, x.ID)
			if x.Input != nil || x.MaxSeq != 1 {
				f.Errorf("a listed execution has the input %s and the newest seq %d", x.Input, x.MaxSeq)
			}
		}
		f.equal(fmt.Sprint("the list in pages of ", size), got, want)
	}
}

func filtersExecutions(f *fixture) {
	definition := perdure.Definition{ID: uuid.New(), Org: org, Name: "d", Slug: "d", CreatedAt: milestone(1), UpdatedAt: milestone(1), Version: 1}
	f.do(store.Command{Decide: func(*store.State) (*store.Changes, error) { return &store.Changes{Definition: &definition}, nil }})
	known := map[string]uuid.UUID{
		"strange": f.start(func(x *perdure.Execution) { // metadata with characters that a PostgreSQL text cannot store, and with similar text
			x.CreatedAt = milestone(500)
			x.Metadata = json.RawMessage(`{"all":"\u0000\ud800\udc00\ud800\\\u0000\udc00\\\\u0000\\ud800\udc00\u00e9","text":"\\u0000\\ud800","pair":"\ud83d\uDE00","plain":"yes","k\u0000":"1"}`)
			x.Input = json.RawMessage(`{"a":"\u0000 \ud800 strange"}`)
		}),
		"plain": f.start(func(x *perdure.Execution) { x.CreatedAt = milestone(1000) }),
		"odd": f.start(func(x *perdure.Execution) {
			x.Kind, x.DefinitionID, x.CreatedAt = "Odd-Kind", &definition.ID, milestone(2000)
			x.Metadata = json.RawMessage(`{"team":"core","n":5,"on":true,"a.b":"c"}`)
			x.Input = json.RawMessage(`{"userPrompt":"Say \"Grüße\" to <Bob>"}`)
		}),
		"done": f.start(func(x *perdure.Execution) {
			x.Status, x.CompletedAt, x.CreatedAt = perdure.StatusCompleted, ptr(milestone(1)), milestone(3000)
			x.Metadata = json.RawMessage(`{"team":"web","long":"` + strings.Repeat("v", 300) + `"}`)
			x.Input = json.RawMessage(`"` + strings.Repeat("j", 40_000) + ` far away"`)
		}),
		"local": f.start(func(x *perdure.Execution) {
			x.Kind, x.PersistenceMode, x.Status, x.CreatedAt, x.Metadata = "elsewhere", perdure.Local, perdure.StatusWaiting, milestone(1500), json.RawMessage(`["team"]`)
			x.WaitReason, x.Wait = "signal", &perdure.Wait{Signal: "s"}
		}),
		"failed turn": f.start(func(x *perdure.Execution) {
			x.Kind, x.Status, x.CreatedAt = perdure.ReactKind, perdure.StatusWaiting, milestone(1700)
			x.WaitReason, x.Wait = "signal", ptr(perdure.WaitAny(perdure.WaitSignal(perdure.UserMessage), perdure.WaitSignal(perdure.RetrySignal)))
		}),
		"like it": f.start(func(x *perdure.Execution) {
			x.Kind, x.Status, x.CreatedAt = perdure.ReactKind, perdure.StatusWaiting, milestone(1700)
			x.WaitReason, x.Wait = "signal", ptr(perdure.WaitAny(perdure.WaitSignal(`a"signal":"retry"`), perdure.WaitSignal("RETRY"), perdure.WaitSignal("retry2")))
		}),
	}
	for _, c := range []struct {
		what   string
		filter store.ExecutionFilter
		want   []string
	}{
		{"nothing", store.ExecutionFilter{}, []string{"like it", "failed turn", "local", "done", "odd", "plain", "strange"}},
		{"status", store.ExecutionFilter{Status: []perdure.Status{perdure.StatusCompleted}}, []string{"done"}},
		{"statuses", store.ExecutionFilter{Status: []perdure.Status{perdure.StatusCompleted, perdure.StatusPending}}, []string{"done", "odd", "plain", "strange"}},
		{"kind", store.ExecutionFilter{Kind: "Odd-Kind"}, []string{"odd"}},
		{"kinds", store.ExecutionFilter{Kinds: []string{"Odd-Kind", "unknown"}}, []string{"odd"}},
		{"no kinds", store.ExecutionFilter{Kinds: []string{}}, nil},
		{"definition", store.ExecutionFilter{DefinitionID: &definition.ID}, []string{"odd"}},
		{"created after", store.ExecutionFilter{CreatedAfter: ptr(milestone(1000))}, []string{"like it", "failed turn", "local", "done", "odd"}},
		{"created before", store.ExecutionFilter{CreatedBefore: ptr(milestone(2000))}, []string{"like it", "failed turn", "local", "plain", "strange"}},
		{"metadata text", store.ExecutionFilter{Metadata: map[string]string{"team": "core"}}, []string{"odd"}},
		{"metadata number", store.ExecutionFilter{Metadata: map[string]string{"n": "5", "team": "core"}}, []string{"odd"}},
		{"metadata boolean", store.ExecutionFilter{Metadata: map[string]string{"on": "true"}}, []string{"odd"}},
		{"metadata with a dot", store.ExecutionFilter{Metadata: map[string]string{"a.b": "c"}}, []string{"odd"}},
		{"metadata of none", store.ExecutionFilter{Metadata: map[string]string{"team": "x"}}, nil},
		{"metadata beside what no text holds", store.ExecutionFilter{Metadata: map[string]string{"plain": "yes"}}, []string{"strange"}},
		{"metadata with escaped backslashes", store.ExecutionFilter{Metadata: map[string]string{"text": `\u0000\ud800`}}, []string{"strange"}},
		{"metadata with a pair of surrogates", store.ExecutionFilter{Metadata: map[string]string{"pair": "😀"}}, []string{"strange"}},
		{"query beside what no text holds", store.ExecutionFilter{Query: "strange"}, []string{"strange"}},
		{"query by kind", store.ExecutionFilter{Query: "odd-k"}, []string{"odd"}},
		{"query by input", store.ExecutionFilter{Query: `to <bob>`}, []string{"odd"}},
		{"query with quotes", store.ExecutionFilter{Query: `"Grüße"`}, []string{"odd"}},
		{"query in a large input", store.ExecutionFilter{Query: `jjjj`}, []string{"done"}},
		{"query by id", store.ExecutionFilter{Query: known["plain"].String()}, []string{"plain"}},
		{"query by a part of the id", store.ExecutionFilter{Query: known["plain"].String()[:18]}, []string{"plain"}},
		{"query beyond what is looked into", store.ExecutionFilter{Query: `far away`}, nil},
		{"query of a LOCAL execution by kind", store.ExecutionFilter{Query: `elsewhere`}, []string{"local"}},
		{"metadata too long to be indexed", store.ExecutionFilter{Metadata: map[string]string{"long": strings.Repeat("v", 300), "team": "web"}}, []string{"done"}},
		{"metadata and status", store.ExecutionFilter{Metadata: map[string]string{"team": "web"}, Status: []perdure.Status{perdure.StatusCompleted, perdure.StatusFailed}}, []string{"done"}},
		{"live statuses", store.ExecutionFilter{Status: []perdure.Status{perdure.StatusWaiting, perdure.StatusRunning, perdure.StatusCancelling}}, []string{"like it", "failed turn", "local"}},
		{"failed turn", store.ExecutionFilter{FailedTurn: true}, []string{"failed turn"}},
		{"failed turn and statuses", store.ExecutionFilter{FailedTurn: true, Status: []perdure.Status{perdure.StatusWaiting, perdure.StatusFailed}}, []string{"failed turn"}},
		{"failed turn and another status", store.ExecutionFilter{FailedTurn: true, Status: []perdure.Status{perdure.StatusCompleted}}, nil},
		{"all at once", store.ExecutionFilter{Kind: "agent", Status: []perdure.Status{perdure.StatusPending}, Query: "agent"}, []string{"plain", "strange"}},
	} {
		page, err := f.s.Executions(f.ctx, org, c.filter)
		f.must(err)
		var got []uuid.UUID
		for _, x := range page.Items {
			got = append(got, x.ID)
		}
		f.equal("the list by "+c.what, names(known, got), c.want)
	}
}

func listsOldestFirst(f *fixture) {
	id := f.start()
	entries := f.chain(id, 5)
	var tasks, withSteps []uuid.UUID
	for i := range 6 {
		t := wholeTask(id)
		t.Step = i%2 == 1
		f.putTask(t)
		withSteps = append(withSteps, t.ID)
		if !t.Step {
			tasks = append(tasks, t.ID)
		}
		f.change(id, func(s *store.State) *store.Changes {
			s.Execution.CheckpointSeq = int64(i + 1)
			return &store.Changes{Execution: s.Execution, Checkpoint: &perdure.Checkpoint{Sequence: int64(i + 1), State: json.RawMessage(`{}`), CreatedAt: s.Now}}
		})
	}
	for _, size := range []int{1, 2, 5, 100} {
		f.equal("the entries", pages(f, size, func(cursor string, limit int) (store.Page[perdure.Entry], error) {
			return f.s.AllEntries(f.ctx, id, cursor, limit)
		}), entries)
		for _, steps := range []bool{false, true} {
			var got []uuid.UUID
			for _, t := range pages(f, size, func(cursor string, limit int) (store.Page[*perdure.Task], error) {
				return f.s.ListTasks(f.ctx, id, steps, cursor, limit)
			}) {
				got = append(got, t.ID)
				f.equal("a listed task's result", string(t.Result), "null")
			}
			want := tasks
			if steps {
				want = withSteps
			}
			f.equal("the tasks", got, want)
		}
		var numbers []int64
		for _, c := range pages(f, size, func(cursor string, limit int) (store.Page[*perdure.Checkpoint], error) {
			return f.s.Checkpoints(f.ctx, id, cursor, limit)
		}) {
			numbers = append(numbers, c.Sequence)
		}
		f.equal("the checkpoints", numbers, []int64{1, 2, 3, 4, 5, 6})
	}
}

func tasksInOrder(f *fixture) {
	id := f.start()
	a, b := wholeTask(id), wholeTask(id)
	open := &perdure.Task{ID: uuid.New(), ExecutionID: id, Org: org, Kind: "k", Queue: "q", Status: perdure.TaskPending, CreatedAt: milestone(1)}
	held := *open
	held.ID, held.Status, held.WorkerID, held.ClaimID, held.LeaseUntil = uuid.New(), perdure.TaskRunning, ptr(uuid.New()), uuid.New(), f.s.Now()
	for _, t := range []*perdure.Task{a, b, open, &held} {
		f.putTask(t)
	}
	got, err := f.s.Tasks(f.ctx, id, []uuid.UUID{b.ID, uuid.New(), a.ID, b.ID}, false)
	f.must(err)
	f.equal("the tasks", got, []*perdure.Task{b, nil, a, b})
	elsewhere, err := f.s.Tasks(f.ctx, f.start(), []uuid.UUID{a.ID}, false)
	f.must(err)
	f.equal("the tasks of another execution", elsewhere, []*perdure.Task{nil})
	f.equal("the open tasks", f.look(id, store.Needs{OpenTasks: true}).Tasks, map[uuid.UUID]*perdure.Task{open.ID: open, held.ID: &held})
	f.equal("the held tasks", f.look(id, store.Needs{HeldTasks: true}).Tasks, map[uuid.UUID]*perdure.Task{held.ID: &held})
}

// givesUp cancels reads at different moments. It checks that the store can read and write
// afterwards.
func givesUp(f *fixture) {
	id := f.start(func(x *perdure.Execution) { x.Input = jsonText(2 << 20) })
	all := f.chain(id, 300)
	for i := range 60 {
		ctx, cancel := context.WithTimeout(f.ctx, time.Duration(i)*50*time.Microsecond)
		_, err := f.s.Executions(ctx, org, store.ExecutionFilter{Query: "not in there"})
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			f.Fatalf("a read that was given up: %v", err)
		}
		for _, err = range f.s.Path(ctx, id, all[299].ID, nil, 0, false) {
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				f.Fatalf("a path that was given up: %v", err)
			}
		}
		cancel()
	}
	f.samePath("the path afterwards", f.path(id, all[299].ID, nil, 0, false), all)
	f.chain(id, 1)
}

func badCursors(f *fixture) {
	id := f.start()
	for _, cursor := range []string{"!", "-1", "00", "zzzzzzzzzzzzzzzzzzzzzz", "a b"} {
		_, err := f.s.Executions(f.ctx, org, store.ExecutionFilter{Cursor: cursor})
		f.wantCode(err, perdure.InvalidArgument)
		_, err = f.s.AllEntries(f.ctx, id, cursor, 1)
		f.wantCode(err, perdure.InvalidArgument)
		_, err = f.s.Checkpoints(f.ctx, id, cursor, 1)
		f.wantCode(err, perdure.InvalidArgument)
		_, err = f.s.ListSignals(f.ctx, id, cursor, 1)
		f.wantCode(err, perdure.InvalidArgument)
	}
}

// BoundedLists checks lists of a store that examines at most 10 executions per page. Pages may be
// short or empty, but all pages together must be the whole list.
func BoundedLists(t *testing.T, s store.Store) {
	f := &fixture{T: t, s: s, ctx: t.Context()}
	var rare, waiting []uuid.UUID
	for i := range 64 {
		id := f.start(func(x *perdure.Execution) {
			if i%30 == 2 {
				x.Kind, x.Metadata = "rare", json.RawMessage(`{"team":"core"}`)
			}
			if i%2 == 0 {
				x.Status, x.WakeReason = perdure.StatusWaiting, ""
			}
			if i%4 == 1 {
				x.Status, x.CompletedAt = perdure.StatusFailed, ptr(milestone(1))
			}
		})
		if i%30 == 2 {
			rare = append(rare, id)
		}
		if i%2 == 0 {
			waiting = append(waiting, id)
		}
	}
	slices.Reverse(rare)
	slices.Reverse(waiting)
	for _, c := range []struct {
		what        string
		filter      store.ExecutionFilter
		want        []uuid.UUID
		least, most int
	}{
		{"kind", store.ExecutionFilter{Kind: "rare"}, rare, 7, 8},
		{"nothing there is", store.ExecutionFilter{Kind: "none"}, nil, 7, 8},
		{"query", store.ExecutionFilter{Query: "rare"}, rare, 3, 24},
		{"metadata", store.ExecutionFilter{Metadata: map[string]string{"team": "core"}}, rare, 1, 1},
		{"metadata and kind", store.ExecutionFilter{Metadata: map[string]string{"team": "core"}, Kind: "rare"}, rare, 1, 1},
		{"metadata that nobody has", store.ExecutionFilter{Metadata: map[string]string{"team": "x"}}, nil, 1, 1},
		{"status of more than one page examines", store.ExecutionFilter{Status: []perdure.Status{perdure.StatusWaiting}}, waiting, 6, 8},
		{"status of none", store.ExecutionFilter{Status: []perdure.Status{perdure.StatusRunning}}, nil, 1, 1},
		{"status and kind", store.ExecutionFilter{Status: []perdure.Status{perdure.StatusFailed}, Kind: "rare"}, nil, 2, 3},
	} {
		n := 0
		var got []uuid.UUID
		for _, x := range pages(f, 5, func(cursor string, limit int) (store.Page[*perdure.Execution], error) {
			n++
			c.filter.Cursor, c.filter.Limit = cursor, limit
			return s.Executions(f.ctx, org, c.filter)
		}) {
			got = append(got, x.ID)
		}
		f.equal("the list by "+c.what, got, c.want)
		if n < c.least || n > c.most {
			t.Errorf("the list by %s has %d pages, want %d to %d", c.what, n, c.least, c.most)
		}
	}
}
