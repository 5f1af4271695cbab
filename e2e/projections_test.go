package e2e

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/log/logtest"
)

// noisy is the script of a run that takes some seconds, and streams thinking, text and tool output at the
// same time.
const noisy = `
pace 10ms
turn
  thinking Let me make some noise first, and then look at what came of it.
  text <<END
Three commands at once:

- one that counts
- one that counts *slowly*
- and one that fails
END
  call bash {"command": "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.1; done"}
  call bash {"command": "for i in 1 2 3 4 5; do echo slow $i; echo warn $i >&2; sleep 0.2; done"}
  call bash {"command": "echo no >&2; exit 3"}
turn
  text <<END
| what | how |
|------|-----|
| this | so  |

And a last word, which takes its time to be said to its very end.
END
`

// serverKills is how often the server is killed.
const serverKills = 3

// TestEveryProjectionAcrossSIGKILL kills the server repeatedly with SIGKILL during a run. It checks that
// readers of each representation of the log receive exactly what is stored at the end: nothing is lost,
// duplicated or different.
func TestEveryProjectionAcrossSIGKILL(t *testing.T) {
	scripts := t.TempDir()
	if err := os.WriteFile(filepath.Join(scripts, "noisy"), []byte(noisy), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newDeployment(t, setup{env: []string{"PERDURE_SCRIPTS=" + scripts}})
	tools := []string{"bash"}
	id := s.start(client.StartRequest{
		UserPrompt: "begin", OneShot: true, Tools: &tools, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "noisy"}},
	})
	seed, ctx := seedOf(t), within(t)
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(web.CloseIdleConnections)
	api := logtest.API{
		URL: func() string { return s.url }, Org: "default", Key: s.token(filepath.Join(s.root, "data")), Execution: id, Client: web,
	}
	readers := logtest.Attach(ctx, t, api, seed, func(error) error { return s.awaitServer(ctx, web) })
	s.killServer(id, rand.New(rand.NewPCG(seed, 1<<32)))
	if x := s.ended(id); x.Status != perdure.StatusCompleted {
		t.Errorf("the run is %s", describe(x))
	}
	readers.Compare(ctx)
}

// killServer kills and restarts the server several times, each time after the log has grown by some events.
func (s *deployment) killServer(id uuid.UUID, random *rand.Rand) {
	s.t.Helper()
	done, target := 0, int64(2)
	eventually(s.t, "all kills", func() bool {
		s.supervise()
		x, err := s.Get(s.t.Context(), id)
		switch {
		case err != nil:
			return false
		case x.Status.Terminal():
			s.t.Fatalf("the run ended after %d kills", done)
		case x.MaxSeq >= target:
			s.restart(&s.server)
			done, target = done+1, x.MaxSeq+1+random.Int64N(12)
		}
		return done == serverKills
	})
}

// awaitServer waits until the server responds to requests. It returns an error instead of ending the
// test, so that other goroutines can call it.
func (s *deployment) awaitServer(ctx context.Context, web *http.Client) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		if res, err := web.Do(req); err == nil {
			if err := res.Body.Close(); err != nil || res.StatusCode == http.StatusOK {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
