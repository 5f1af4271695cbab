package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Standby creates a standby of this cluster with streaming replication, and waits until the standby
// is streaming.
func (c *Cluster) Standby() (*Cluster, error) {
	s := &Cluster{}
	if err := s.copyOf(c, true); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.Run(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := c.Until("SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE state = 'streaming')"); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// copyOf makes c a copy of a running cluster. If `follow` is set, the copy is a standby that
// replicates later changes.
func (c *Cluster) copyOf(primary *Cluster, follow bool) error {
	if err := c.place(); err != nil {
		return err
	}
	backup, err := c.command("pg_basebackup", "-D", c.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "perdure",
		"-X", "stream", "-c", "fast", "--no-sync")
	if err != nil {
		return err
	}
	if follow {
		backup.Args = append(backup.Args, "-R")
	}
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	return nil
}

// Synchronous makes every later COMMIT of this cluster wait until a standby has flushed the
// transaction to the standby's disk.
func (c *Cluster) Synchronous() error {
	ctx := context.Background()
	for _, query := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := execute(ctx, c.URL("postgres"), query); err != nil {
			return err
		}
	}
	return c.Until("SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')")
}

// Promote promotes a standby, so that it accepts writes.
func (c *Cluster) Promote() error {
	return execute(context.Background(), c.URL("postgres"), "SELECT pg_promote()")
}

// Both returns a URL that names the same database on both clusters. The driver then uses the cluster
// that accepts writes.
func Both(a, b *Cluster, database string) string {
	return fmt.Sprintf("postgres://perdure@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable&target_session_attrs=read-write", a.port, b.port, database)
}

// Until repeats a query until its boolean result is true. It gives up after startTime.
func (c *Cluster) Until(query string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // all results are read
	for so := false; !so; {
		if err := conn.QueryRow(ctx, query+" FROM pg_sleep(0.02)").Scan(&so); err != nil {
			return err
		}
	}
	return nil
}

func execute(ctx context.Context, url, query string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}
