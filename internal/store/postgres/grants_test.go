package postgres

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// TestARevocationWaitsForReaders checks that a grant is not deleted while a command of another
// server has read it. So once the server has acknowledged the revocation of a grant, no question is
// answered by that grant.
func TestARevocationWaitsForReaders(t *testing.T) { eachPair(t, revokeWhileRead) }

func revokeWhileRead(t *testing.T, all []*Store) {
	id := begin(t, all[0])
	g := &perdure.ApprovalGrant{
		ID: uuid.New(), Org: org, Scope: perdure.GrantRun, Match: perdure.GrantTool, ExecutionID: &id, Subject: "bash",
		QuestionID: uuid.New(), Voters: []string{"ada"}, Needed: 1, CreatedAt: all[0].Now(), ExpiresAt: all[0].Now().Add(time.Hour),
	}
	if _, err := do(t.Context(), all[0], id, store.Needs{}, func(*store.State) (*store.Changes, error) { return &store.Changes{Grant: g}, nil }); err != nil {
		t.Fatal(err)
	}
	reading, release, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		_, err := do(t.Context(), all[0], id, store.Needs{Grants: true}, func(s *store.State) (*store.Changes, error) {
			if len(s.Grants) != 1 {
				t.Errorf("the command sees %d grants", len(s.Grants))
			}
			once.Do(func() { close(reading) })
			<-release
			return nil, nil
		})
		read <- err
	}()
	<-reading
	var tries atomic.Int64
	again, revoked := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := all[1].Do(t.Context(), store.Command{
			Name: "test", Lane: store.LaneCommits, Org: org,
			Needs: func(*perdure.Execution) store.Needs {
				if tries.Add(1) == 2 {
					close(again) // a second try shows that the first one found the lock
				}
				return store.Needs{Grant: &g.ID}
			},
			Decide: func(*store.State) (*store.Changes, error) { return &store.Changes{DropGrant: &g.ID}, nil },
		})
		revoked <- err
	}()
	var err error
	select {
	case <-again:
		close(release)
		err = <-revoked
	case err = <-revoked:
		t.Error("the grant was revoked while a command decided with it")
		close(release)
	}
	if err != nil {
		t.Error(err)
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
}
