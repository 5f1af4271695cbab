package builtin

import (
	"context"
	"errors"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker/local"
)

// waitFor waits for a worker's end. It ignores the error.
func waitFor(ended <-chan error) {
	for range ended {
		return
	}
}

// exitOnStoreFailure ends the process if the worker's store fails before the worker has ended. The
// worker can no longer store its work, but would keep the leases on that work until they expire.
// The next process recovers as after a crash.
func (w *Worker) exitOnStoreFailure(kept *local.Store, ended <-chan struct{}) {
	select {
	case <-kept.Failed():
		err := kept.Err()
		w.Logger.Error("the worker's store failed; the process ends", "error", err)
		setup.ExitNow(err)
	case <-ended:
	}
}

// controlGroups returns the control groups that limit commands. It returns nil if the system has
// not delegated its control group to this process; a watcher in this process then limits commands.
func (w *Worker) controlGroups() *tool.ControlGroups {
	groups, err := tool.OpenControlGroups()
	if err != nil {
		w.Logger.Info("a watcher holds the limits of commands", "no control groups", err)
		return nil
	}
	w.Logger.Info("control groups hold the limits of commands")
	return groups
}

// Start runs the worker in the background until the returned function `stop` is called. Start
// returns once the worker is registered at the server. `stop` may be called more than once.
func (w *Worker) Start(ctx context.Context, d perdure.Dispatch, data string) (stop func(), err error) {
	kept, err := openContentStore(data, w.Home, w.CheckBefore)
	if err != nil {
		return nil, err
	}
	w.ID = kept.WorkerID()
	setup.ListDataDir(data)
	// From here on, renaming a directory above the data directory does not give tools access to it.
	if err := errors.Join(tool.HoldDataDir(data), tool.HoldSecrets(w.secretPaths(data))); err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	if err := w.checkConfinement(data); err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	scratch, err := tool.OpenScratch()
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	groups := w.controlGroups()
	running, err := w.newWorker(d, data, kept, scratch, groups)
	if err != nil {
		return nil, errors.Join(err, groups.Close(), scratch.Close(), kept.Close())
	}
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := running.Run(live)
		if closed := kept.Close(); closed != nil {
			w.Logger.Error("the worker's store did not close well", "error", closed)
		}
		if closed := scratch.Close(); closed != nil {
			w.Logger.Warn("temporary folders of runs are left", "error", closed)
		}
		if closed := groups.Close(); closed != nil {
			w.Logger.Warn("control groups of commands are left", "error", closed)
		}
		ended <- err
	}()
	go w.exitOnStoreFailure(kept, live.Done())
	select {
	case <-running.Registered():
		return sync.OnceFunc(func() {
			cancel()
			waitFor(ended)
		}), nil
	case err := <-ended:
		cancel()
		return nil, err
	case <-ctx.Done():
		cancel()
		waitFor(ended)
		return nil, context.Cause(ctx)
	}
}
