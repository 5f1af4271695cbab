package react_test

import (
	"context"
	"io"
	"iter"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

// killSwitch kills a process at a given call, and counts the calls until then.
type killSwitch struct {
	killPoint
	died chan struct{}

	mu             sync.Mutex // guards the fields below
	calls, commits map[string]int
	hit, dead      bool
}

func newKillSwitch(p killPoint) *killSwitch {
	return &killSwitch{killPoint: p, died: make(chan struct{}), calls: map[string]int{}, commits: map[string]int{}}
}

// next counts a call. It returns how the call is interrupted, or "" if it is not. The result `dead`
// says whether the process was dead before the call.
func (f *killSwitch) next(layer, name string) (h interruption, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return "", true
	}
	counts := f.calls
	if layer == "store" {
		counts = f.commits
	}
	counts[name]++
	if layer != f.layer || name != f.name || counts[name] != f.nth {
		return "", false
	}
	f.hit = true
	if f.how == before {
		f.die()
	}
	return f.how, false
}

// die kills the process. The caller has locked f.mu.
func (f *killSwitch) die() {
	if !f.dead {
		f.dead = true
		close(f.died)
	}
}

func (f *killSwitch) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.die()
}

func (f *killSwitch) met() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

// plan decides how a commit of the store is interrupted.
func (f *killSwitch) plan(_ int, c store.Command) storetest.Fault {
	h, dead := f.next("store", c.Name)
	switch {
	case dead || h == before:
		return storetest.FailBefore
	case h == after:
		// The store executes this commit, but the process dies before it receives the reply. The
		// process is marked as dead before the commit, so that nobody receives the reply.
		f.end()
		return storetest.LoseAnswer
	}
	return storetest.NoFault
}

// killedDispatch is the dispatch of a worker that dies at a given call.
type killedDispatch struct {
	perdure.Dispatch
	fate *killSwitch
}

// deadProcess returns the error of all calls of a dead process. The worker then ends its work.
func deadProcess() error { return perdure.Errorf(perdure.LeaseLost, "the process is dead") }

func through[T any](m *killedDispatch, name string, call func() (T, error)) (T, error) {
	var none T
	h, dead := m.fate.next("rpc", name)
	if dead || h == before {
		return none, deadProcess()
	}
	answer, err := call()
	switch h {
	case lost:
		return none, perdure.Errorf(perdure.Unavailable, "planned: the answer was lost")
	case after:
		m.fate.end()
	}
	m.fate.mu.Lock()
	defer m.fate.mu.Unlock()
	if m.fate.dead {
		return none, deadProcess()
	}
	return answer, err
}

func (m *killedDispatch) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	return through(m, "PollAgents", func() ([]perdure.AgentClaim, error) { return m.Dispatch.PollAgents(ctx, p) })
}

func (m *killedDispatch) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	return through(m, "PollTasks", func() ([]perdure.TaskClaim, error) { return m.Dispatch.PollTasks(ctx, p) })
}

func (m *killedDispatch) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	return through(m, "Commit", func() (perdure.CommitReply, error) { return m.Dispatch.Commit(ctx, c) })
}

func (m *killedDispatch) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	return through(m, "FinishTask", func() (perdure.FinishReply, error) { return m.Dispatch.FinishTask(ctx, f) })
}

func (m *killedDispatch) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	return through(m, "Append", func() ([]perdure.FrameReply, error) { return m.Dispatch.Append(ctx, frames) })
}

func (m *killedDispatch) Release(ctx context.Context, r perdure.Release) error {
	_, err := through(m, "Release", func() (any, error) { return nil, m.Dispatch.Release(ctx, r) })
	return err
}

func (m *killedDispatch) Execution(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	return through(m, "Execution", func() (*perdure.Execution, error) { return m.Dispatch.Execution(ctx, id) })
}

func (m *killedDispatch) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	return through(m, "Tasks", func() ([]*perdure.Task, error) { return m.Dispatch.Tasks(ctx, execution, ids) })
}

func (m *killedDispatch) Signals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	return through(m, "Signals", func() ([]perdure.Signal, error) { return m.Dispatch.Signals(ctx, execution, patterns, after, limit) })
}

func (m *killedDispatch) PutBlob(ctx context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	return through(m, "PutBlob", func() (perdure.BlobRef, error) { return m.Dispatch.PutBlob(ctx, owner, length, content) })
}

// Entries reads the whole path before it returns the first entry. So if the process dies at this
// call, the worker loses the complete reply, not a part of it.
func (m *killedDispatch) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		all, err := through(m, "Entries", func() ([]perdure.Entry, error) {
			var all []perdure.Entry
			for e, err := range m.Dispatch.Entries(ctx, q) {
				if err != nil {
					return nil, err
				}
				all = append(all, e)
			}
			return all, nil
		})
		if err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}
