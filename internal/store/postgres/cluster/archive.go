package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// Archiving lists the settings with which a cluster archives its WAL. A base backup can then be
// recovered up to a later restore point.
var Archiving = []string{"archive_mode=on", "wal_level=replica", "archive_command=mkdir -p ../archive && cp %p ../archive/%f"}

// Backup is a base backup of a cluster that archives its WAL.
type Backup struct {
	of *Cluster // the cluster that was copied; recovery also reads its archive
	at *Cluster // the copy, which is not started yet
}

// BaseBackup copies the cluster while it is running. Backup.Recover starts the copy as another
// cluster. The method Stop of that cluster removes the copy.
func (c *Cluster) BaseBackup() (*Backup, error) {
	b := &Backup{of: c, at: &Cluster{}}
	if err := b.at.copyOf(c, false); err != nil {
		return nil, errors.Join(err, b.at.remove())
	}
	return b, nil
}

// RestorePoint creates a named restore point, and waits until everything before it is archived.
func (c *Cluster) RestorePoint(name string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // all results are read
	if _, err := conn.Exec(ctx, "SELECT pg_create_restore_point($1)", name); err != nil {
		return err
	}
	var last string
	if err := conn.QueryRow(ctx, "SELECT pg_walfile_name(pg_switch_wal())").Scan(&last); err != nil {
		return err
	}
	return c.Until("SELECT EXISTS (SELECT 1 FROM pg_stat_archiver WHERE last_archived_wal >= '" + last + "')")
}

// Recover starts the backup, recovered to the named restore point, and waits until the new cluster
// accepts writes.
func (b *Backup) Recover(point string) (*Cluster, error) {
	archive := filepath.Join(b.of.folder, "archive")
	b.at.extra = []string{"restore_command=cp " + archive + "/%f %p", "recovery_target_name=" + point, "recovery_target_action=promote"}
	signal := filepath.Join(b.at.data(), "recovery.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return nil, errors.Join(err, b.at.remove())
	}
	if b.at.owner != nil {
		if err := os.Chown(signal, int(b.at.owner.Uid), int(b.at.owner.Gid)); err != nil {
			return nil, errors.Join(err, b.at.remove())
		}
	}
	if err := b.at.Run(); err != nil {
		return nil, errors.Join(err, b.at.Stop())
	}
	if err := b.at.Until("SELECT NOT pg_is_in_recovery()"); err != nil {
		return nil, errors.Join(err, b.at.Stop())
	}
	return b.at, nil
}

// Dump writes a database to a file in pg_dump's custom format.
func (c *Cluster) Dump(database string) (file string, err error) {
	file = filepath.Join(c.folder, database+".dump")
	return file, c.run("pg_dump", "--format=custom", "--file="+file, "--dbname="+c.URL(database))
}

// Load creates a database from a dump.
func (c *Cluster) Load(file, database string) error {
	if err := execute(context.Background(), c.URL("postgres"), "CREATE DATABASE "+database+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return err
	}
	return c.run("pg_restore", "--exit-on-error", "--dbname="+c.URL(database), file)
}

func (c *Cluster) run(name string, args ...string) error {
	cmd, err := c.command(name, args...)
	if err != nil {
		return err
	}
	return told(cmd)
}

// told runs a command. If the command fails, the error contains the command's output.
func told(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}
