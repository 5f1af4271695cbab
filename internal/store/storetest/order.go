package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
)

var orderTests = map[string]func(*fixture){
	"commands of one execution keep their order":              keepsOrder,
	"a caller that goes while queued is not run":              goneWhileQueued,
	"a caller that goes after the start still learns the end": goneAfterStart,
	"urgent lanes come first and none starves":                lanesInOrder,
}

// held runs a command on the execution. The command's function Decide waits until `release` is
// called, and the committer waits for Decide. So all commands that a test queues before it calls
// `release` are in one batch.
func (f *fixture) held(id uuid.UUID) (release func()) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	once := sync.OnceFunc(func() { close(entered) }) // the store may run a decision again
	wg.Go(func() {
		_, err := f.s.Do(context.WithoutCancel(f.ctx), store.Command{Lane: store.LaneClaims, Org: "blocker", Execution: id, Decide: func(*store.State) (*store.Changes, error) {
			once()
			<-leave
			return nil, nil
		}})
		if err != nil {
			f.Errorf("the blocking command: %v", err)
		}
	})
	<-entered
	return sync.OnceFunc(func() { close(leave); wg.Wait() })
}

// queueing is a context that tells a test when a command is queued: its method Done calls the field
// `waits`. The store's Do calls Done only after it has queued the command.
type queueing struct {
	context.Context
	waits func()
}

func (q queueing) Done() <-chan struct{} {
	q.waits()
	return q.Context.Done()
}

// queue calls Do in a goroutine and returns when the command is queued. When Do returns, the
// goroutine passes the error of Do to the function `done`.
func (f *fixture) queue(ctx context.Context, wg *sync.WaitGroup, c store.Command, done func(err error)) {
	queued := make(chan struct{})
	wg.Go(func() {
		_, err := f.s.Do(queueing{ctx, sync.OnceFunc(func() { close(queued) })}, c)
		done(err)
	})
	<-queued
}

func (f *fixture) noError(err error) {
	if err != nil {
		f.Errorf("Do: %v", err)
	}
}

func keepsOrder(f *fixture) {
	id := f.start()
	release := f.held(id)
	defer release()
	var got []int
	var wg sync.WaitGroup
	for i := range 50 {
		f.queue(f.ctx, &wg, store.Command{Lane: store.LaneCommits, Org: org, Execution: id, Decide: func(*store.State) (*store.Changes, error) {
			got = append(got, i)
			return nil, nil
		}}, f.noError)
	}
	release()
	wg.Wait()
	if len(got) != 50 || !slices.IsSorted(got) {
		f.Errorf("the order is %v", got)
	}
}

func goneWhileQueued(f *fixture) {
	id := f.start()
	release := f.held(id)
	defer release()
	ctx, cancel := context.WithCancel(f.ctx)
	var wg sync.WaitGroup
	f.queue(ctx, &wg, store.Command{Lane: store.LaneCommits, Org: org, Execution: id, Decide: add(10)}, func(err error) {
		if !errors.Is(err, context.Canceled) {
			f.Errorf("the error is %v", err)
		}
	})
	cancel()
	wg.Wait()
	release()
	f.equal("the version", f.execution(id).Version, int64(1))
}

func goneAfterStart(f *fixture) {
	id := f.start()
	ctx, cancel := context.WithCancel(f.ctx)
	answers, err := f.s.Do(ctx, store.Command{Lane: store.LaneCommits, Org: org, Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
		cancel()
		return add(10)(s)
	}})
	f.must(err)
	f.equal("the answer", answers, []any{int64(11)})
	f.equal("the version", f.execution(id).Version, int64(11))
}

func lanesInOrder(f *fixture) {
	id := f.start()
	release := f.held(id)
	defer release()
	var got []store.Lane
	var wg sync.WaitGroup
	for _, lane := range []store.Lane{store.LaneSweeps, store.LaneChunks, store.LaneCommits, store.LaneClaims} {
		for range 300 {
			f.queue(f.ctx, &wg, store.Command{Lane: lane, Org: org, Execution: id, Decide: func(*store.State) (*store.Changes, error) {
				got = append(got, lane)
				return nil, nil
			}}, f.noError)
		}
	}
	release()
	wg.Wait()
	// Most of the first 300 commands are claims, but there are commands of every lane among these
	// 300.
	counts := map[store.Lane]int{}
	for _, lane := range got[:300] {
		counts[lane]++
	}
	if counts[store.LaneClaims] < 150 {
		f.Errorf("the first commands were %v, want mostly claims", counts)
	}
	for lane := range store.Lane(store.Lanes) {
		if counts[lane] == 0 {
			f.Errorf("lane %d starved: %v", lane, counts)
		}
	}
	if got[0] != store.LaneClaims {
		f.Errorf("the first command was of lane %d", got[0])
	}
}
