package cluster

import (
	"os"
	"os/exec"
)

// RestoreBackup stops the cluster without informing its clients, and starts it with the files of a
// backup instead of the cluster's files. It writes no recovery.signal, so the database does not
// start a new timeline.
func (c *Cluster) RestoreBackup(b *Backup) error {
	if err := c.Crash(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.data()); err != nil {
		return err
	}
	if err := told(exec.Command("cp", "-a", b.at.data(), c.data())); err != nil {
		return err
	}
	return c.Run()
}

// Remove deletes a backup that was not started.
func (b *Backup) Remove() error { return b.at.remove() }
