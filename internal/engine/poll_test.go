package engine

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// asked is a store that records Pick.Limit of each command, which is the maximum number of
// executions or tasks that the command may choose.
type asked struct {
	store.Store
	limits []int
}

func (a *asked) Do(ctx context.Context, c store.Command) ([]any, error) {
	if c.Pick != nil {
		a.limits = append(a.limits, c.Pick.Limit)
	}
	return a.Store.Do(ctx, c)
}

// TestPollsAreBounded checks that a poll or commit that names too many queues or kinds is refused,
// and that the number of claims for one poll is limited, however many free slots the worker offers.
// This protects the committer, which does all writes.
func TestPollsAreBounded(t *testing.T) {
	b := newBench(t)
	seen := &asked{Store: b.s}
	b.use(seen)
	named := func(n int) []string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("n", i)
		}
		return names
	}
	for _, test := range []struct {
		queues, kinds int
		says          string
	}{
		{101, 1, "100"},
		{1, 201, "200"},
		{10, 101, "1000"},
		{100, 10, ""},
		{5, 200, ""},
	} {
		p := perdure.Poll{WorkerID: b.worker, Queues: named(test.queues), Kinds: named(test.kinds), Slots: math.MaxInt}
		held := b.started()
		for what, ask := range map[string]func() error{
			"executions": func() error { _, err := b.d.PollAgents(t.Context(), p); return err },
			"tasks":      func() error { _, err := b.d.PollTasks(t.Context(), p); return err },
			"a commit": func() error {
				_, err := b.d.Commit(t.Context(), perdure.Commit{
					Lease: held.claim.Lease, Number: 1, Offer: perdure.TaskOffer{Queues: p.Queues, Kinds: p.Kinds, Slots: p.Slots},
				})
				return err
			},
		} {
			err := ask()
			if test.says == "" && err != nil || test.says != "" && (!perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("%s for %d queues and %d kinds gave %v", what, test.queues, test.kinds, err)
			}
		}
	}
	for _, limit := range seen.limits {
		if limit > perdure.MaxPollSlots {
			t.Errorf("%d were looked for, of which %d are the most", limit, perdure.MaxPollSlots)
		}
	}
	if len(seen.limits) == 0 {
		t.Error("nothing was looked for")
	}
}
