package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
)

// killCount returns how often TestKilledAtRandomPoints kills a process.
func killCount() int {
	if longtest.All() {
		return 30
	}
	return 12
}

// TestKilledAtRandomPoints kills server and worker many times. It checks that a model call is repeated
// only after a kill during the call. Every finished tool has run once, and the conversation is the same
// as without kills.
func TestKilledAtRandomPoints(t *testing.T) {
	seed := seedOf(t)
	for _, dev := range []bool{false, true} {
		name := "server and worker"
		if dev {
			name = "dev"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := play(t, dev, nil)
			got := play(t, dev, rand.New(rand.NewPCG(seed, 0)))
			compareConversations(t, want, got)
		})
	}
}

// seedOf returns the seed that chooses the kills.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PERDURE_E2E_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PERDURE_E2E_SEED: %v", err)
		}
	}
	t.Logf("PERDURE_E2E_SEED=%d", seed)
	return seed
}

// playResult is the conversation of a run, and the run's tasks.
type playResult struct {
	lines []line
	tasks map[uuid.UUID]*taskTrace
}

// play runs the conversation of longScript and checks the result. If random is not nil, it kills
// processes during the run.
func play(t *testing.T, dev bool, random *rand.Rand) playResult {
	first, second := longScript()
	mock := startAimock(t, append(
		conversation("begin", 0, 8*time.Millisecond, first...),
		conversation("go on", len(first), 8*time.Millisecond, second...)...)...)
	s := newDeployment(t, setup{dev: dev, env: mock.environment("anthropic")})
	s.furnish(len(first) + len(second))
	tools := []string{"read-file", "write-file", "edit-file", "bash", "grep"}
	id := s.start(client.StartRequest{
		UserPrompt: "begin", Tools: &tools, Models: []perdure.ModelConfig{{Provider: "anthropic", ModelID: "claude-sonnet-4-5"}},
		Config: perdure.AgentConfig{Thinking: "low"},
	})
	f := s.follow(id)
	s.showIfFailed(f, id)
	killed := s.torment(id, random)
	s.idle(id, 2)
	if _, err := s.Cancel(t.Context(), id); err != nil { // the cancel ends the log
		t.Fatal(err)
	}
	followed := s.sameLog(f, id)
	turns := append(first, second...)
	tasks := trace(t, followed)
	checkModelCalls(t, mock.calls(), killed, tasks, len(turns))
	s.checkEffects(tasks, turns)
	if random == nil {
		checkNothingLost(t, followed, tasks)
	}
	t.Logf("%d kills, %d model calls for %d answers, the follower reconnected %d times, %d events",
		len(killed), len(mock.calls()), len(turns), f.breaks, len(followed))
	return playResult{lines: s.transcript(id), tasks: tasks}
}

// checkNothingLost checks a run without kills: each task finished at its first attempt, and no
// lease of the execution expired.
func checkNothingLost(t *testing.T, events []event, tasks map[uuid.UUID]*taskTrace) {
	t.Helper()
	checkFinished(t, tasks)
	for _, e := range events {
		if strings.Contains(e.data, `"woke":"lost"`) {
			t.Errorf("a claim was lost without a kill: %s", e.data)
		}
	}
}

// kill is one kill of a process.
type kill struct {
	at   time.Time
	name string
}

// torment kills server or worker with SIGKILL whenever the log has grown by some events, and restarts
// the process immediately. When the run waits for the user, torment sends the second message.
func (s *deployment) torment(id uuid.UUID, random *rand.Rand) []kill {
	s.t.Helper()
	var done []kill
	said, target := false, int64(0)
	again := func(x *perdure.Execution) {
		if len(done) == killCount() {
			random = nil
		}
		if random != nil {
			target = x.MaxSeq + 1 + random.Int64N(44*30/int64(killCount()))
		}
	}
	again(&perdure.Execution{})
	eventually(s.t, "all kills, and the second message", func() bool {
		s.supervise()
		x, err := s.Get(s.t.Context(), id)
		switch {
		case err != nil:
			return false // the server is still starting
		case random != nil && x.MaxSeq >= target:
			<-time.After(time.Duration(random.IntN(120)) * time.Millisecond) // not a wait for a condition: it chooses the moment of the kill
			done = append(done, s.killOne(random))
			again(x)
		case !said && x.Status == perdure.StatusWaiting && x.WaitReason == "signal":
			s.say(id, "go on")
			said = true
		}
		return said && random == nil
	})
	return done
}

func (s *deployment) killOne(random *rand.Rand) kill {
	victim := &s.server
	if s.worker != nil && random.IntN(2) == 1 {
		victim = &s.worker
	}
	k := kill{at: time.Now(), name: (*victim).name}
	s.restart(victim)
	return k
}

// sameLog checks that the seqs of the log have no gaps. It also checks that a client that followed
// the log through all kills has the same events as a client that reads the log now.
func (s *deployment) sameLog(f *follower, id uuid.UUID) []event {
	s.t.Helper()
	followed, err := fold(f.all(s.t))
	if err != nil {
		s.t.Errorf("followed: %v", err)
	}
	paged, wrong := fold(s.events(id))
	if wrong != nil {
		s.t.Errorf("read in pages: %v", wrong)
	}
	if err == nil && wrong == nil {
		for _, d := range differences(followed, paged) {
			s.t.Errorf("followed and read in pages differ: %s", d)
		}
	}
	return followed
}

// compareConversations compares two conversations. They may differ only in the results of interrupted
// tools, which report the interruption.
func compareConversations(t *testing.T, want, got playResult) {
	t.Helper()
	interrupted := map[string]bool{}
	for _, task := range got.tasks {
		if task.end == perdure.EventTaskInterrupted {
			interrupted[task.call] = true
		}
	}
	if len(got.tasks) != len(want.tasks) {
		t.Errorf("%d tasks, and %d without kills", len(got.tasks), len(want.tasks))
	}
	if len(got.lines) != len(want.lines) {
		t.Fatalf("without kills:\n%s\n\nwith kills:\n%s", plain(want.lines), plain(got.lines))
	}
	for i, l := range got.lines {
		switch {
		case interrupted[l.call]:
			if !strings.Contains(l.text, "error=true interrupted") {
				t.Errorf("the model is not told that the tool was interrupted: %s", l.text)
			}
		case l.text != want.lines[i].text:
			t.Errorf("line %d is %q, and %q without kills", i, l.text, want.lines[i].text)
		}
	}
}

// checkModelCalls checks aimock's journal: each answer was requested once, or repeated after a kill
// during the call.
func checkModelCalls(t *testing.T, calls []modelCall, killed []kill, tasks map[uuid.UUID]*taskTrace, turns int) {
	t.Helper()
	byTurn := make([][]modelCall, turns)
	for _, c := range calls {
		byTurn[c.turn()] = append(byTurn[c.turn()], c)
	}
	attempts := map[string]int{}
	for _, task := range tasks {
		if task.kind == "llm-request" {
			attempts[task.turn] += task.attempts
		}
	}
	var before []promptMessage
	for i, same := range byTurn {
		if len(same) == 0 {
			t.Errorf("turn %d: there was no call", i)
			continue
		}
		if most := attempts[fmt.Sprintf("turn_%d", i)]; len(same) > most {
			t.Errorf("turn %d: %d calls in %d attempts", i, len(same), most)
		}
		for j, c := range same[1:] {
			if !killedBetween(killed, same[j].at(), c.at()) {
				t.Errorf("turn %d: called at %s and again at %s, without a kill in between", i, clock(same[j].at()), clock(c.at()))
				for _, k := range killed {
					t.Logf("%s killed at %s", k.name, clock(k.at))
				}
			}
			if !reflect.DeepEqual(c.Body, same[0].Body) {
				t.Errorf("turn %d: the repeated call asks something else", i)
			}
		}
		prompt := same[0].Body.Messages
		if len(before) > 0 && (len(prompt) < len(before) || !reflect.DeepEqual(prompt[:len(before)], before)) {
			t.Errorf("turn %d: the prompt does not begin with the one before, and misses the cache", i)
		}
		before = prompt
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// killedBetween reports whether a kill occurred between a call and its repeat. On a busy machine
// aimock records a call some time after the call was sent, so a kill up to 250 ms before the
// recorded time counts.
func killedBetween(killed []kill, from, to time.Time) bool {
	const unnoticed = 250 * time.Millisecond
	for _, k := range killed {
		if !k.at.Before(from.Add(-unnoticed)) && !k.at.After(to.Add(time.Millisecond)) {
			return true
		}
	}
	return false
}
