package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/pagecheck"
	"github.com/perdure/perdure/internal/sqlitelog"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// checkRest determines the pauses of the background check, in which the server can use the disk: a
// pause is checkRest times as long as the piece of the check before it.
const checkRest = 2

// soundness records whether the file is known to be intact, and runs the checks of the file.
type soundness struct {
	path   string
	mark   pagecheck.Mark
	logger *slog.Logger
	pause  func(ctx context.Context, took time.Duration) error
	// found is called if the background check finds damage.
	found func(error)

	state  pagecheck.State // state when the store was opened
	passed atomic.Bool
	pages  atomic.Uint32 // number of pages that are already checked
	of     atomic.Uint32
	stop   context.CancelFunc
	ended  chan struct{}
}

// look reads the mark file, which records how the store was closed. It must be called before
// anything is written. A remaining log also means an unclean shutdown: earlier versions of the
// program wrote no mark file.
func (s *soundness) look() error {
	state, err := s.mark.Read()
	if err != nil {
		return err
	}
	if log, err := sqlitelog.LogSize(s.path); state == pagecheck.Open || err == nil && log > 0 {
		state = max(state, pagecheck.Unchecked)
	}
	s.state = state
	return nil
}

// settle syncs the content of the log to the disk. It writes the mark file first: otherwise, a
// crash in between could leave no sign of the unclean shutdown, neither the mark file nor the log.
// If the disk is too full for the mark file, settle writes it at the end, because syncing the log
// may free space.
func (s *soundness) settle(reserve *disk.Reserve) error {
	if err := s.look(); err != nil {
		return err
	}
	now := max(s.state, pagecheck.Open)
	noRoom := s.mark.Write(now)
	if err := settleLog(s.path, reserve); err != nil {
		return err
	}
	if noRoom == nil {
		return nil
	}
	return s.mark.Write(now)
}

// start checks what must be intact before the store serves. It checks the whole file if the last
// check found damage, or if `before` is set and the state of the file is unknown. The state is
// unknown if the file was copied or not closed cleanly.
func (s *soundness) start(ctx context.Context, v connection.View, before bool) error {
	if err := s.check(ctx, (*pagecheck.File).Start); err != nil {
		return err
	}
	fits, _, err := fitsMark(v, s.path)
	if err != nil {
		return err
	}
	if !fits {
		s.state = max(s.state, pagecheck.Unchecked)
	}
	if s.state == pagecheck.Checked {
		s.passed.Store(true)
		return nil
	}
	if !before && s.state == pagecheck.Unchecked {
		return nil
	}
	if err := s.check(ctx, (*pagecheck.File).Whole); err != nil {
		return err
	}
	return s.pass()
}

// pass records in memory and in the mark file that the file is intact.
func (s *soundness) pass() error {
	s.passed.Store(true)
	return s.mark.Write(pagecheck.Open)
}

// CheckBeside implements [store.Checking].
func (s *Store) CheckBeside() { s.soundness.background() }

// background starts the check of the whole file, unless it is known to be intact.
func (s *soundness) background() {
	if s.passed.Load() {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended = stop, make(chan struct{})
	s.logger.Info("the store was not closed in order; its file is checked in the background")
	go func() {
		defer close(s.ended)
		s.run(ctx)
	}()
}

func (s *soundness) run(ctx context.Context) {
	err := s.check(ctx, func(f *pagecheck.File, ctx context.Context) error {
		f.Pause = s.pause
		return f.Whole(ctx)
	})
	switch {
	case err == nil:
		if err := s.pass(); err != nil {
			s.logger.Warn("it could not be noted that the store's file is sound", "err", err)
		}
		s.logger.Info("the store's file is sound", "pages", s.of.Load())
	case ctx.Err() != nil: // the store is being closed; the next start checks the file again
	case perdure.IsCode(err, perdure.Internal):
		s.found(err)
	default:
		s.logger.Warn("the store's file could not be checked; the next start tries again", "err", err)
	}
}

// check opens a connection and calls `how`, which checks the file over that connection. If `how`
// finds damage, check returns an error with code internal.
func (s *soundness) check(ctx context.Context, how func(*pagecheck.File, context.Context) error) error {
	c, err := connection.Open(ctx, s.path, connection.Reading, "query_only(1)", "cache_size(-256)")
	if err != nil {
		return damaged(s.path, err)
	}
	c.GiveWay()
	read := func(ctx context.Context, f func(pagecheck.Snapshot) error) error {
		return c.Snapshot(ctx, func(v connection.View) error { return f(moment{v}) })
	}
	file := &pagecheck.File{Read: read, Progress: func(pages, of uint32) {
		s.pages.Store(pages)
		s.of.Store(of)
	}}
	err = how(file, ctx)
	var found *pagecheck.Damage
	if errors.As(err, &found) || ctx.Err() == nil && connection.IsBroken(err) {
		err = damage(s.path, err)
	}
	return errors.Join(err, c.Close())
}

// end stops the background check and waits for its end.
func (s *soundness) end() {
	if s.stop != nil {
		s.stop()
		<-s.ended
	}
}

// closed records that the store was closed cleanly, if the file is known to be intact. For that, it
// removes the mark file.
func (s *soundness) closed() error {
	if !s.passed.Load() {
		return nil
	}
	return s.mark.Remove()
}

// rest pauses after a piece of the background check. The parameter `took` is the duration of that
// piece. If ctx ends, rest returns early with the cause of ctx.
func rest(ctx context.Context, took time.Duration) error {
	timer := time.NewTimer(checkRest * took)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unchecked implements [store.Checking].
func (s *Store) Unchecked() (store.CheckProgress, bool) {
	k := s.soundness
	const page = 4096
	return store.CheckProgress{Bytes: int64(k.pages.Load()) * page, Of: int64(k.of.Load()) * page}, !k.passed.Load()
}

// Failed implements [store.Failing].
func (s *Store) Failed() error {
	if err := s.committer.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// moment implements [pagecheck.Snapshot] with a consistent snapshot of the file.
type moment struct{ connection.View }

// Page implements [pagecheck.Snapshot].
func (m moment) Page(number uint32) (page []byte, err error) {
	_, err = m.One("SELECT data FROM sqlite_dbpage WHERE pgno = ?", []any{int64(number)}, &page)
	return page, err
}

// Roots implements [pagecheck.Snapshot].
func (m moment) Roots() (roots []uint32, err error) {
	err = m.Rows("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0", nil, func(row func(...any) error) error {
		var root int64
		err := row(&root)
		roots = append(roots, uint32(root))
		return err
	})
	return roots, err
}

// Quick implements [pagecheck.Snapshot].
func (m moment) Quick() (verdict string, err error) {
	_, err = m.One("PRAGMA quick_check(1)", nil, &verdict)
	return verdict, err
}

// foundDamage stops all writing, and records the damage for the next start.
func (c *committer) foundDamage(err error) {
	if noted := pagecheck.MarkOf(c.path).Write(pagecheck.Damaged); noted != nil {
		c.logger.Warn("the damage could not be noted for the next start", "err", noted)
	}
	c.fail(err)
}
