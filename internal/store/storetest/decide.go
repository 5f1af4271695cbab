package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var decideTests = map[string]func(*fixture){
	"a refused command changes nothing":                       refusedAlone,
	"a refused command leaves its neighbours alone":           refusedAmongOthers,
	"a panic in a decision is its caller's error alone":       panicAlone,
	"a command that breaks the tables fails alone":            brokenAmongOthers,
	"what a decision does to its state is no change":          stateIsACopy,
	"a command sees what the one before it wrote":             seesTheOneBefore,
	"an execution of another org is as good as none":          orgHidden,
	"an execution that exists cannot be made again":           madeTwice,
	"a decision without changes answers nothing":              nothingChanged,
	"a caller that has gone before the start changes nothing": goneBefore,
}

var errRefused = errors.New("refused by the rule")

func add(n int64) func(*store.State) (*store.Changes, error) {
	return func(s *store.State) (*store.Changes, error) {
		s.Execution.Version += n
		return &store.Changes{Execution: s.Execution, Answer: s.Execution.Version}, nil
	}
}

func refusedAlone(f *fixture) {
	id := f.start()
	_, err := f.s.Do(f.ctx, store.Command{Execution: id, Org: org, Decide: func(s *store.State) (*store.Changes, error) {
		s.Execution.Version = 99
		return &store.Changes{Execution: s.Execution}, errRefused
	}})
	if !errors.Is(err, errRefused) {
		f.Errorf("the caller got %v, want the rule's own error", err)
	}
	f.equal("the version", f.execution(id).Version, int64(1))
}

// together runs commands concurrently, so that some of them probably share a transaction. The result
// contains the error of each command, in the order of commands.
func (f *fixture) together(commands []store.Command) []error {
	errs := make([]error, len(commands))
	var wg sync.WaitGroup
	for i, c := range commands {
		wg.Go(func() { _, errs[i] = f.s.Do(f.ctx, c) })
	}
	wg.Wait()
	return errs
}

// mixed runs commands on separate executions. Most commands are valid. The others have `bad` as
// their function Decide, and must fail. mixed checks that the store commits all valid commands and
// no others, and calls the function `check` with the error of each failed command.
func (f *fixture) mixed(bad func(s *store.State) (*store.Changes, error), check func(err error)) {
	f.Helper()
	const n = 40
	var commands []store.Command
	var ids []uuid.UUID
	for i := range n {
		c := store.Command{Lane: store.LaneCommits, Org: org, Execution: f.start(), Decide: add(10)}
		if i%7 == 3 {
			c.Decide = bad
		}
		ids, commands = append(ids, c.Execution), append(commands, c)
	}
	for i, err := range f.together(commands) {
		version := f.execution(ids[i]).Version
		if i%7 == 3 {
			check(err)
			f.equal("the version after a bad command", version, int64(1))
			continue
		}
		f.must(err)
		f.equal("the version after a good command", version, int64(11))
	}
}

func refusedAmongOthers(f *fixture) {
	f.mixed(func(s *store.State) (*store.Changes, error) {
		s.Execution.Version = 99
		return nil, errRefused
	}, func(err error) {
		if !errors.Is(err, errRefused) {
			f.Errorf("the refused command got %v", err)
		}
	})
}

func panicAlone(f *fixture) {
	f.mixed(func(s *store.State) (*store.Changes, error) {
		s.Execution.Version = 99
		panic("a bug in a rule")
	}, func(err error) { f.wantCode(err, perdure.Internal) })

	_, err := f.s.Do(f.ctx, store.Command{
		Execution: uuid.New(), Org: org,
		Needs:  func(*perdure.Execution) store.Needs { panic("a bug in the needs") },
		Decide: func(*store.State) (*store.Changes, error) { return nil, nil },
	})
	f.wantCode(err, perdure.Internal)
}

// brokenAmongOthers checks commands that append an entry whose parent does not exist. Only these
// commands must fail, not the other commands of the same transaction.
func brokenAmongOthers(f *fixture) {
	f.mixed(func(s *store.State) (*store.Changes, error) {
		s.Execution.Version = 99
		e := perdure.Entry{
			ID: uuid.New(), ParentID: ptr(uuid.New()), Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: json.RawMessage(`{}`), CreatedAt: s.Now,
		}
		return &store.Changes{Execution: s.Execution, Entries: []store.Entry{{Entry: e}}}, nil
	}, func(err error) { f.wantCode(err, perdure.Internal) })
}

func stateIsACopy(f *fixture) {
	task := uuid.New()
	id := f.start(func(x *perdure.Execution) {
		x.Status, x.WaitReason, x.Metadata = perdure.StatusWaiting, "task", json.RawMessage(`{}`)
		x.Wait = &perdure.Wait{Any: []perdure.Wait{{Task: &task}}}
	})
	t := wholeTask(id)
	f.putTask(t)
	before := f.execution(id)
	f.do(store.Command{
		Execution: id,
		Needs:     func(*perdure.Execution) store.Needs { return store.Needs{Tasks: []uuid.UUID{t.ID}} },
		Decide: func(s *store.State) (*store.Changes, error) {
			s.Execution.Version, s.Execution.Wait.Any[0].Met = 99, true
			*s.Execution.Wait.Any[0].Task = uuid.Nil
			*s.Tasks[t.ID].WorkerID, s.Tasks[t.ID].Status = uuid.Nil, perdure.TaskPending
			s.Head.LastSeq = 99
			return nil, nil
		},
	})
	f.equal("the execution", f.execution(id), before)
	f.equal("the execution decided on", f.look(id, store.Needs{}).Execution.Wait, before.Wait)
	f.equal("the task", f.task(id, t.ID), t)
}

func seesTheOneBefore(f *fixture) {
	id := f.start()
	var commands []store.Command
	for range 100 {
		commands = append(commands, store.Command{Lane: store.LaneCommits, Org: org, Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
			l := logOf(s)
			l.event(s, perdure.EventResumed)
			s.Execution.Version++
			return &store.Changes{Execution: s.Execution, Head: &l.head, Records: l.records}, nil
		}})
	}
	for _, err := range f.together(commands) {
		f.must(err)
	}
	x := f.execution(id)
	f.equal("the version", x.Version, int64(101))
	f.equal("the newest seq", x.MaxSeq, int64(101))
}

func orgHidden(f *fixture) {
	id := f.start()
	_, err := f.s.Execution(f.ctx, "other", id)
	f.wantCode(err, perdure.NotFound)
	f.do(store.Command{Org: "other", Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
		if s.Execution != nil || s.Head != (store.Head{}) {
			f.Errorf("another org sees %+v, %+v", s.Execution, s.Head)
		}
		return nil, nil
	}})
	page, err := f.s.Executions(f.ctx, "other", store.ExecutionFilter{})
	f.must(err)
	f.equal("another org's list", len(page.Items), 0)
}

func madeTwice(f *fixture) {
	id := f.start()
	_, err := f.s.Do(f.ctx, store.Command{Org: "other", Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
		x := wholeExecution(id)
		x.Org = "other"
		return &store.Changes{Execution: x}, nil
	}})
	f.wantCode(err, perdure.AlreadyExists)
	f.equal("the owner", f.execution(id).Org, org)
}

func nothingChanged(f *fixture) {
	id := f.start()
	answers := f.do(store.Command{Execution: id, Decide: func(*store.State) (*store.Changes, error) { return nil, nil }})
	if len(answers) != 1 || answers[0] != nil {
		f.Errorf("the answers are %v, want one nil", answers)
	}
	answers = f.do(store.Command{Execution: id, Decide: func(*store.State) (*store.Changes, error) { return &store.Changes{Answer: 5}, nil }})
	if len(answers) != 1 || answers[0] != 5 {
		f.Errorf("the answers are %v, want 5", answers)
	}
}

func goneBefore(f *fixture) {
	id := f.start()
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := f.s.Do(ctx, store.Command{Org: org, Execution: id, Decide: add(10)})
	if !errors.Is(err, context.Canceled) {
		f.Errorf("the error is %v", err)
	}
	f.equal("the version", f.execution(id).Version, int64(1))
}
