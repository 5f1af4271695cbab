package cluster

import (
	"os"
	"os/exec"
)

// PutBack ends the cluster without a word to its clients, and starts it with the
// files of a backup in the place of its own. Nothing tells it to begin a new
// timeline: there is no recovery.signal.
func (c *Cluster) PutBack(b *Backup) error {
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
