package connection

import (
	"context"
	"io"
	"iter"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// movableDispatch is a connection of a worker that moves to another server while the worker runs. The
// worker's tools continue, and the worker keeps its leases, because both servers have the same store.
type movableDispatch struct {
	reconnected chan struct{} // gets a value after each move, and after each reconnect to the current server
	hangUp      func()        // ends the connection to the current server

	mu      sync.RWMutex // guards current
	current perdure.Dispatch
}

func newMovableDispatch(d perdure.Dispatch, hangUp func()) *movableDispatch {
	m := &movableDispatch{reconnected: make(chan struct{}, 1)}
	m.use(d, hangUp)
	return m
}

// use passes later calls to the server of d. The function `hangUp` ends the connection to that
// server.
func (m *movableDispatch) use(d perdure.Dispatch, hangUp func()) {
	m.mu.Lock()
	m.current = d
	m.mu.Unlock()
	done := make(chan struct{})
	if line, ok := d.(interface{ Reconnected() <-chan struct{} }); ok { // worker.Line
		go m.forward(line.Reconnected(), done)
	}
	m.hangUp = func() { close(done); hangUp() }
}

// forward reports the reconnects to one server to the worker until the channel `done` is closed.
func (m *movableDispatch) forward(reconnects, done <-chan struct{}) {
	for {
		select {
		case <-reconnects:
			m.tell()
		case <-done:
			return
		}
	}
}

func (m *movableDispatch) tell() {
	select {
	case m.reconnected <- struct{}{}:
	default: // the worker has not yet received the value before
	}
}

// move ends the connection to the former server, and passes later calls to another server. The worker
// repeats calls that fail with unavailable in the meantime. Calls of move and close do not overlap.
func (m *movableDispatch) move(d perdure.Dispatch, hangUp func()) {
	m.hangUp()
	m.use(d, hangUp)
	m.tell()
}

// close ends the connection to the current server.
func (m *movableDispatch) close() {
	m.hangUp()
	m.hangUp = func() {}
}

// Reconnected implements worker.Line.
func (m *movableDispatch) Reconnected() <-chan struct{} { return m.reconnected }

// at returns the connection to the current server.
func (m *movableDispatch) at() perdure.Dispatch {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.current
}

// Register implements perdure.Dispatch, like the methods below.
func (m *movableDispatch) Register(ctx context.Context, r perdure.Registration) (perdure.Settings, error) {
	return m.at().Register(ctx, r)
}

func (m *movableDispatch) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	return m.at().PollAgents(ctx, p)
}

func (m *movableDispatch) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	return m.at().PollTasks(ctx, p)
}

func (m *movableDispatch) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	return m.at().Heartbeat(ctx, h)
}

func (m *movableDispatch) WatchLeases(ctx context.Context, worker uuid.UUID, changed func()) error {
	return m.at().WatchLeases(ctx, worker, changed)
}

func (m *movableDispatch) Release(ctx context.Context, r perdure.Release) error {
	return m.at().Release(ctx, r)
}

func (m *movableDispatch) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	return m.at().Commit(ctx, c)
}

func (m *movableDispatch) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	return m.at().FinishTask(ctx, f)
}

func (m *movableDispatch) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	return m.at().Append(ctx, frames)
}

func (m *movableDispatch) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	return m.at().Entries(ctx, q)
}

func (m *movableDispatch) Execution(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	return m.at().Execution(ctx, id)
}

func (m *movableDispatch) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	return m.at().Tasks(ctx, execution, ids)
}

func (m *movableDispatch) Questions(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	return m.at().Questions(ctx, execution, ids)
}

func (m *movableDispatch) StreamedText(ctx context.Context, execution, task uuid.UUID) (perdure.StreamedText, error) {
	return m.at().StreamedText(ctx, execution, task)
}

func (m *movableDispatch) Ended(ctx context.Context, q perdure.EndedQuery) (perdure.EndedPage, error) {
	return m.at().Ended(ctx, q)
}

func (m *movableDispatch) Signals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	return m.at().Signals(ctx, execution, patterns, after, limit)
}

func (m *movableDispatch) PutBlob(ctx context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	return m.at().PutBlob(ctx, owner, length, content)
}

func (m *movableDispatch) GetBlob(ctx context.Context, execution, blob uuid.UUID) (io.ReadCloser, error) {
	return m.at().GetBlob(ctx, execution, blob)
}

func (m *movableDispatch) ServeContents(ctx context.Context, worker uuid.UUID, source perdure.ContentSource) error {
	return m.at().ServeContents(ctx, worker, source)
}
