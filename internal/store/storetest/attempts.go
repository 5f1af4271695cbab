package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

func picksAttempts(f *fixture) {
	id := f.start()
	attempt := func(begun, sign time.Duration, o perdure.TaskOptions, edit ...func(*perdure.Task)) uuid.UUID {
		return f.leasedTask(id, time.Minute, append(edit, func(t *perdure.Task) {
			t.AttemptAt, t.SignAt, t.Options = f.ago(begun), f.ago(sign), o
		})...)
	}
	timeout := perdure.TaskOptions{AttemptTimeout: time.Minute}
	silence := perdure.TaskOptions{HeartbeatTimeout: time.Minute}
	known := map[string]uuid.UUID{
		"too long":      attempt(time.Hour, 0, timeout),
		"silent":        attempt(time.Hour, 30*time.Minute, silence),
		"in its grace":  attempt(time.Hour, 65*time.Second, silence),
		"gave a sign":   attempt(time.Hour, time.Second, silence),
		"has time":      attempt(time.Second, 0, timeout),
		"without bound": attempt(9*time.Hour, 9*time.Hour, perdure.TaskOptions{}),
		"pending":       attempt(9*time.Hour, 9*time.Hour, timeout, func(t *perdure.Task) { t.Status = perdure.TaskPending }),
	}
	pick := store.Pick{Kind: store.PickAttempts, Grace: 10 * time.Second}
	f.equal("the picked", names(known, f.picked("", pick)), []string{"too long", "silent"})
	f.equal("the picked of the org", names(known, f.picked(org, pick)), []string{"too long", "silent"})
	f.equal("the picked of another org", names(known, f.picked("other", pick)), nil)

	// SignAt is the time of the worker's last sign of life. The pick finds the attempt later if
	// SignAt is later.
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{} })
	silent := known["silent"]
	f.do(store.Command{
		Execution: id,
		Needs:     func(*perdure.Execution) store.Needs { return store.Needs{Tasks: []uuid.UUID{silent}} },
		Decide: func(s *store.State) (*store.Changes, error) {
			s.Tasks[silent].SignAt = s.Now
			return &store.Changes{Tasks: []*perdure.Task{s.Tasks[silent]}}, nil
		},
	})
	f.equal("the picked after a sign", names(known, f.picked("", pick)), []string{"too long"})
}
