package group

import "time"

// Settle waits until all processes of the group have ended, but not longer than the time `grace`.
func (g *Group) Settle(grace time.Duration) {
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for g.Alive() > 0 {
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}
