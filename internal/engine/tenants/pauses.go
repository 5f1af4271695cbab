package tenants

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/sharedread"
	"github.com/perdure/perdure/internal/store"
)

// pauseCache caches the paused queues of orgs for at most OrgTTL.
type pauseCache struct {
	reads sharedread.Reads[string, map[string]bool]

	mu    sync.Mutex // guards the fields below
	known map[string]pausedQueues
	// cleared counts how often the cache was cleared. A read that began before a clear must not be
	// cached after it.
	cleared int64
}

type pausedQueues struct {
	names map[string]bool
	until time.Time
}

func (c *pauseCache) get(org string, now time.Time) (names map[string]bool, ok bool, cleared int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.known[org]
	return p.names, ok && !now.After(p.until), c.cleared
}

func (c *pauseCache) remember(org string, p pausedQueues, cleared int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cleared != c.cleared {
		return
	}
	if c.known == nil || len(c.known) >= maxCachedRows {
		c.known = map[string]pausedQueues{}
	}
	c.known[org] = p
}

func (c *pauseCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.cleared++
}

// PausedQueues returns the paused queues of an org, as they were at most a second ago. A pause that
// was made on this server is included at once. Callers must not modify the map.
func (t *Tenants) PausedQueues(ctx context.Context, org string) (map[string]bool, error) {
	now := time.Now()
	names, ok, cleared := t.pauses.get(org, now)
	if ok {
		return names, nil
	}
	names, err := t.pauses.reads.Get(ctx, org, func(ctx context.Context) (map[string]bool, error) {
		all, err := t.store.QueuePauses(ctx, org)
		names := make(map[string]bool, len(all))
		for _, p := range all {
			names[p.Queue] = true
		}
		return names, err
	})
	if err != nil {
		return nil, err
	}
	t.pauses.remember(org, pausedQueues{names, now.Add(OrgTTL)}, cleared)
	return names, nil
}

// ForgetPauses clears the cache, so that the next call of PausedQueues for an org reads the store.
func (t *Tenants) ForgetPauses() { t.pauses.clear() }

// PauseQueue pauses a queue: no more executions and tasks of the queue are claimed. Work that was
// claimed before continues. If the queue is paused already, nothing changes. Errors:
// invalid_argument, conflict.
func (t *Tenants) PauseQueue(ctx context.Context, org, queue string) (*perdure.QueuePause, error) {
	value, err := t.changePause(ctx, org, queue, perdure.AuditQueuePaused, tenant.PauseQueue)
	p, _ := value.(*perdure.QueuePause)
	return p, err
}

// ResumeQueue ends the pause of a queue, if it is paused. Errors: invalid_argument.
func (t *Tenants) ResumeQueue(ctx context.Context, org, queue string) error {
	_, err := t.changePause(ctx, org, queue, perdure.AuditQueueResumed, tenant.ResumeQueue)
	return err
}

func (t *Tenants) changePause(ctx context.Context, org, queue string, action perdure.AuditAction, decide func(*store.State, tenant.Change, string) (*store.Changes, error)) (any, error) {
	if err := perdure.CheckQueueName("queue", queue); err != nil {
		return nil, err
	}
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: action}
	return t.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Frees: true, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Pause: queue} },
		Decide: func(s *store.State) (*store.Changes, error) { return decide(s, by, queue) },
	})
}
