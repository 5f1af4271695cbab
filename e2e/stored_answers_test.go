package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// answersKilled is the number of model answers whose worker is killed, in each variant of the test.
// The kill comes after the answer's last byte has arrived, and before the server has acknowledged the
// answer. PERDURE_ANSWER_KILLS overrides the number.
const answersKilled = 10

// together is the number of complete model answers, not yet acknowledged, at each kill.
const together = 5

// TestAnswersOutliveTheirWorker kills the worker after the last byte of a model's answer has
// arrived, and before the server acknowledges the answer. It checks that the model call is not
// repeated, and that the run completes.
func TestAnswersOutliveTheirWorker(t *testing.T) {
	total := answersKilled
	if text := os.Getenv("PERDURE_ANSWER_KILLS"); text != "" {
		var err error
		if total, err = strconv.Atoi(text); err != nil {
			t.Fatalf("PERDURE_ANSWER_KILLS: %v", err)
		}
	}
	for name, outage := range map[string]func(*deployment) (over func()){
		"the server hangs": func(s *deployment) func() {
			signalProcess(s.t, s.server, syscall.SIGSTOP)
			return func() { signalProcess(s.t, s.server, syscall.SIGCONT) }
		},
		"the server is down": func(s *deployment) func() {
			s.server.kill()
			return func() { s.server = launch(s.t, s.server.command) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAnswerDeployment(t)
			for a.bought < total {
				a.round(outage)
			}
			t.Logf("%d answers were complete when their worker was killed; none was bought twice", a.bought)
		})
	}
	t.Run("the server is there", func(t *testing.T) {
		t.Parallel()
		a := newAnswerDeployment(t)
		random := rand.New(rand.NewPCG(seedOf(t), 1))
		for range total {
			a.race(random)
		}
	})
}

func signalProcess(t *testing.T, p *process, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// answerDeployment is a deployment with a scripted model that counts its calls.
type answerDeployment struct {
	*deployment
	journal string
	bought  int // number of answers so far
}

func newAnswerDeployment(t *testing.T) *answerDeployment {
	dir := t.TempDir()
	script := "turn\n  thinking Let me see.\n  text One moment,\n  pause 300ms\n  text here is the whole answer.\n"
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &answerDeployment{journal: filepath.Join(t.TempDir(), "journal")}
	a.deployment = newDeployment(t, setup{env: []string{"PERDURE_SCRIPTS=" + dir, "PERDURE_SCRIPTED_JOURNAL=" + a.journal}})
	return a
}

// round kills the worker while its disk has complete answers that the server has not acknowledged,
// and checks that the runs end without another model call. The function `outage` keeps the server
// from acknowledging answers, and returns a function that ends the outage.
func (a *answerDeployment) round(outage func(*deployment) (over func())) {
	a.t.Helper()
	runs := a.startRuns(together)
	a.bought += together
	eventually(a.t, "the models are asked", func() bool { return a.calls() == a.bought })
	over := outage(a.deployment)
	eventually(a.t, "the answers are on the worker's disk", func() bool { return a.kept() == together })
	a.worker.kill()
	over()
	a.worker = launch(a.t, a.worker.command)
	a.finish(runs)
	eventually(a.t, "the disk is free of acknowledged answers", func() bool { return a.kept() == 0 })
}

// race kills the worker as soon as a model's answer is on the worker's disk. At that moment the
// server may or may not have received the answer. If the worker dies before it reads the
// acknowledgement, the answer stays on the disk until it expires.
func (a *answerDeployment) race(random *rand.Rand) {
	a.t.Helper()
	before := a.kept()
	runs := a.startRuns(1)
	a.bought++
	eventually(a.t, "the answer comes", func() bool { return a.kept() > before || a.over(runs) })
	for range random.IntN(2000) {
		a.kept() // reading the folder takes time, so the delay before the kill is random
	}
	a.worker.kill()
	a.worker = launch(a.t, a.worker.command)
	a.finish(runs)
}

func (a *answerDeployment) startRuns(n int) (ids []uuid.UUID) {
	a.t.Helper()
	for range n {
		ids = append(ids, a.start(client.StartRequest{
			UserPrompt: "Tell me.", OneShot: true, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}},
		}))
	}
	return ids
}

// finish waits until the runs have ended. It then checks their answers and the number of model calls.
func (a *answerDeployment) finish(runs []uuid.UUID) {
	a.t.Helper()
	for _, id := range runs {
		if x := a.ended(id); x.Status != perdure.StatusCompleted || !bytes.Contains(x.Output, []byte("here is the whole answer.")) {
			a.t.Fatalf("the run ended as %s", describe(x))
		}
	}
	if n := a.calls(); n != a.bought {
		a.t.Fatalf("%d model calls for %d answers", n, a.bought)
	}
}

func (a *answerDeployment) over(runs []uuid.UUID) bool {
	x, err := a.Get(a.t.Context(), runs[0])
	return err == nil && x.Status.Terminal()
}

// calls returns how many model calls a provider would have charged for.
func (a *answerDeployment) calls() int {
	raw, err := os.ReadFile(a.journal)
	if err != nil {
		return 0
	}
	return bytes.Count(raw, []byte("\n"))
}

// kept returns the number of answers on the worker's disk, and checks that only the owner can read their
// files. It leaves out empty files: the worker creates a file before it writes the answer.
func (a *answerDeployment) kept() (n int) {
	dir := filepath.Join(a.root, "worker", "worker", "results")
	files, _ := os.ReadDir(dir) // the folder is missing before the worker runs
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			continue
		}
		if info.Mode().Perm() != 0o600 {
			a.t.Error(fmt.Errorf("%s has the mode %s", f.Name(), info.Mode()))
		}
		if info.Size() > 0 {
			n++
		}
	}
	return n
}
