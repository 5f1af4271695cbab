package postgres

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Settings are the settings of the database on which durability depends. If one of them is off, a
// power failure can lose or damage confirmed writes.
var Settings = []string{"fsync", "full_page_writes", "synchronous_commit"}

// settingsTime is the interval at which an open store reads Settings.
const settingsTime = time.Minute

// readSettings selects one row with a boolean column for each of Settings: whether the setting is
// off in this session.
const readSettings = "SELECT current_setting('fsync') = 'off', current_setting('full_page_writes') = 'off', current_setting('synchronous_commit') = 'off'"

// durability stores the result of the last read of Settings. It is safe for concurrent use.
type durability struct {
	logger *slog.Logger                   // may be nil
	told   func(setting string, off bool) // may be nil

	mu  sync.Mutex
	off map[string]bool
}

// read reads Settings over a connection. It logs and reports settings that have changed.
func (d *durability) read(ctx context.Context, conn rowQuerier) error {
	found := make([]bool, len(Settings))
	if err := conn.QueryRow(ctx, readSettings).Scan(&found[0], &found[1], &found[2]); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, name := range Settings {
		d.set(name, found[i])
	}
	return nil
}

func (d *durability) set(name string, off bool) {
	before, known := d.off[name]
	if d.off == nil {
		d.off = map[string]bool{}
	}
	d.off[name] = off
	if d.told != nil {
		d.told(name, off)
	}
	switch {
	case d.logger == nil || off == before:
	case off:
		d.logger.Warn("the database has a setting off without which a power failure can lose what was answered", "setting", name)
	case known:
		d.logger.Info("the database has the setting on again", "setting", name)
	}
}

// missing returns those of Settings that are off, in the order of Settings.
func (d *durability) missing() (off []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range Settings {
		if d.off[name] {
			off = append(off, name)
		}
	}
	return off
}

// checkAllowed returns an error if one of the names is not in Settings.
func checkAllowed(allowed []string) error {
	for _, name := range allowed {
		if !slices.Contains(Settings, name) {
			return perdure.Errorf(perdure.InvalidArgument, "%q is no setting that can be allowed to be off; those are %s", name, strings.Join(Settings, ", "))
		}
	}
	return nil
}

// checkSettings returns an error if one of Settings is off and is not in the list `allowed`. It
// must run before anything is written.
func (d *database) checkSettings(ctx context.Context, allowed []string) error {
	conn, err := d.connect(ctx)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = conn.Close(ctx) }() // all results are read
	off := slices.DeleteFunc(d.settings.missing(), func(name string) bool { return slices.Contains(allowed, name) })
	if len(off) == 0 {
		return nil
	}
	names := strings.Join(off, ", ")
	return perdure.Errorf(perdure.InvalidArgument,
		"the database has %s off: a power failure could lose or damage what was answered; turn it on, or allow it with --store-allow-off %s",
		names, strings.ReplaceAll(names, " ", ""))
}

// watchSettings reads Settings at each tick and logs errors, until stop is closed.
func (s *Store) watchSettings(ticks <-chan time.Time, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-ticks:
		}
		ctx, cancel := context.WithTimeout(context.Background(), processListTimeout)
		conn, err := s.pool.Acquire(ctx)
		if err == nil {
			err = s.db.settings.read(ctx, conn)
			conn.Release()
		}
		if err != nil {
			s.db.settings.logger.Warn("the database's settings cannot be read", "err", err)
		}
		cancel()
	}
}

// Degraded implements [store.Degrading].
func (s *Store) Degraded(context.Context) (reasons []store.Degradation) {
	for _, name := range s.db.settings.missing() {
		reasons = append(reasons, store.Degradation{
			Check: store.CheckDurability, Detail: "the database has " + name + " off: a power failure can lose or damage what was answered",
		})
	}
	return reasons
}

var _ rowQuerier = (*pgx.Conn)(nil)
