package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// marked is a word that occurs in every content of the script in the constant privately, and in no
// name that the server stores.
const marked = "zebracrossing"

// privately is the script of a conversation of two messages. Each of its bash calls appends two
// marks to the file effects.txt: one when the call begins, and one when the call ends.
const privately = `
pace 4ms
turn
  thinking The zebracrossing comes first, I think, and then the rest of it.
  text I begin at the zebracrossing and go on from there to the other side.
  call bash {"command": "echo zebracrossing-1; echo begin-1 >> effects.txt; sleep 0.2; echo end-1 >> effects.txt"}
turn
  text One zebracrossing is behind me, and two more are to come after this.
  call bash {"command": "echo zebracrossing-2; echo begin-2 >> effects.txt; sleep 0.2; echo end-2 >> effects.txt"}
  call write-file {"path": "note.txt", "content": "zebracrossing"}
turn
  text The last zebracrossing of the first half lies before me now.
  call bash {"command": "echo zebracrossing-3; echo begin-3 >> effects.txt; sleep 0.2; echo end-3 >> effects.txt"}
turn
  text That is half of the zebracrossing.
turn
  text There it goes on, over the zebracrossing and over again.
  call bash {"command": "echo zebracrossing-4; echo begin-4 >> effects.txt; sleep 0.2; echo end-4 >> effects.txt"}
turn
  text All zebracrossings are behind us.
`

const privateTurns, privateEffects = 6, 8

// newPrivateDeployment starts a server, and a worker whose model plays the script `privately`.
func newPrivateDeployment(t *testing.T) (s *deployment, journal string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(privately), 0o600); err != nil {
		t.Fatal(err)
	}
	journal = filepath.Join(dir, "journal")
	return newDeployment(t, setup{env: []string{"PERDURE_SCRIPTS=" + dir, "PERDURE_SCRIPTED_JOURNAL=" + journal}}), journal
}

// begin starts a run with the model that plays the script `privately`.
func (s *deployment) begin(mode perdure.PersistenceMode) uuid.UUID {
	s.t.Helper()
	tools := []string{"bash", "write-file"}
	return s.start(client.StartRequest{
		UserPrompt: "begin with the " + marked, Tools: &tools, PersistenceMode: mode,
		Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}},
	})
}

// ask runs a command of perdure while the server runs, and returns its output.
func (s *deployment) ask(args ...string) string {
	s.t.Helper()
	p := s.command(args...)
	if code := p.exit(); code != 0 {
		s.t.Errorf("perdure %s ended with exit code %d:\n%s", args[0], code, p.output)
	}
	return p.output.String()
}

func (s *deployment) command(args ...string) *process {
	s.t.Helper()
	argv := append([]string{program(s.t)}, args...)
	return launch(s.t, command{name: "perdure " + args[0], env: s.env, dir: s.root, argv: append(argv, "--data", filepath.Join(s.root, "data"))})
}

// holding returns the database files of a folder that contain the word in the constant `marked`.
func holding(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no database in %s (%v)", dir, err)
	}
	var found []string
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(marked)) {
			found = append(found, filepath.Base(path))
		}
	}
	return found
}

// end stops a process with SIGTERM.
func end(p *process) {
	p.t.Helper()
	p.terminate()
	p.exit()
}

// TestLocalRunKilledAtRandomPoints checks that a LOCAL run whose worker and server are killed has
// the same conversation as a run without kills. The content of the LOCAL run is in the worker's
// database and not in the server's.
func TestLocalRunKilledAtRandomPoints(t *testing.T) {
	seed := seedOf(t)
	want := playPrivately(t, nil)
	got := playPrivately(t, rand.New(rand.NewPCG(seed, 1)))
	compareConversations(t, want, got)
}

// playPrivately plays the script `privately` as a LOCAL run. If random is not nil, it kills processes
// during the run.
func playPrivately(t *testing.T, random *rand.Rand) playResult {
	s, journal := newPrivateDeployment(t)
	id := s.begin(perdure.Local)
	f := s.follow(id)
	s.showIfFailed(f, id)
	killed := s.tormentLocal(id, random)
	s.idle(id, 2)
	lines := s.wholeTranscript(id)
	events, err := fold(s.events(id))
	if err != nil {
		t.Errorf("the log: %v", err)
	}
	tasks := trace(t, events)
	if random == nil {
		checkFinished(t, tasks)
	}
	calls, most := callsIn(t, journal), 1+len(killed)
	for i := range privateTurns {
		if n := calls[i+1]; n == 0 || n > most || len(killed) == 0 && n > 1 {
			t.Errorf("turn %d: %d calls of the model, with %d kills", i+1, n, len(killed))
		}
	}
	s.checkMarks(tasks)
	if _, err := s.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	end(s.worker)
	end(s.server)
	if found := holding(t, filepath.Join(s.root, "data")); len(found) > 0 {
		t.Errorf("what was said is in the server's %v", found)
	}
	if found := holding(t, filepath.Join(s.root, "worker", "worker")); !slices.Contains(found, "contents.db") {
		t.Errorf("what was said is in none but %v of the worker's files", found)
	}
	t.Logf("%d kills, %d model calls", len(killed), len(calls))
	return playResult{lines: lines, tasks: tasks}
}

// tormentLocal kills the worker three times and the server once, in any order. Each kill happens
// after the log has grown by some events, or when the run waits. When the run waits for the user,
// tormentLocal sends the second message.
func (s *deployment) tormentLocal(id uuid.UUID, random *rand.Rand) []kill {
	s.t.Helper()
	var victims []**process
	if random != nil {
		victims = []**process{&s.worker, &s.worker, &s.worker, &s.server}
		random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	}
	var done []kill
	said, target := false, int64(2)
	eventually(s.t, "all kills, and the second message", func() bool {
		s.supervise()
		x, err := s.Get(s.t.Context(), id)
		if err != nil {
			return false // the server is still starting
		}
		waits := x.Status == perdure.StatusWaiting && x.WaitReason == "signal"
		if len(victims) > 0 && (x.MaxSeq >= target || waits) {
			<-time.After(time.Duration(random.IntN(120)) * time.Millisecond) // not a wait for a condition: it chooses the moment of the kill
			done = append(done, kill{at: time.Now(), name: (*victims[0]).name})
			s.restart(victims[0])
			victims, target = victims[1:], x.MaxSeq+1+random.Int64N(14)
		}
		if !said && waits {
			s.sayAs(id, "second", "go on over the "+marked)
			said = true
		}
		return said && len(victims) == 0
	})
	return done
}

// wholeTranscript waits until the worker that has the content is connected, and returns the
// transcript.
func (s *deployment) wholeTranscript(id uuid.UUID) []line {
	s.t.Helper()
	eventually(s.t, "the content comes from its worker", func() bool {
		for e, err := range s.Entries(s.t.Context(), id) {
			if err != nil || bytes.Equal(e.Content, perdure.OnWorker) {
				return false
			}
		}
		return true
	})
	return s.transcript(id)
}

// callsIn returns the number of model calls by turn.
func callsIn(t *testing.T, journal string) map[int]int {
	t.Helper()
	c := console{t: t, journal: journal}
	return c.callsByTurn()
}

// checkMarks checks the marks in the file effects.txt: no mark may occur twice. If no tool was
// interrupted, no mark may be missing.
func (s *deployment) checkMarks(tasks map[uuid.UUID]*taskTrace) {
	s.t.Helper()
	effects := map[string]int{}
	for _, effect := range strings.Fields(s.read("effects.txt")) {
		if effects[effect]++; effects[effect] > 1 {
			s.t.Errorf("%s took place twice", effect)
		}
	}
	for _, task := range tasks {
		if task.end == perdure.EventTaskInterrupted {
			return
		}
	}
	if len(effects) != privateEffects {
		s.t.Errorf("%d effects took place: %v", len(effects), effects)
	}
}

// TestLocalRunWaitsForItsWorker checks that a LOCAL run is PENDING, and reports the reason, while
// its worker is down. Meanwhile another worker claims a REMOTE run, but not the LOCAL run. The
// LOCAL run continues when its worker has started again.
func TestLocalRunWaitsForItsWorker(t *testing.T) {
	s, _ := newPrivateDeployment(t)
	id := s.begin(perdure.Local)
	tail := s.command("tail", id.String())
	tail.says("I begin at the " + marked) // before the text is complete
	s.idle(id, 1)
	x := s.until(id, "the home", func(x *perdure.Execution) bool { return x.HomeID != nil })
	home := x.HomeID.String()
	away := s.worker
	away.kill()
	s.worker = nil // prevents an automatic restart
	other := s.employ("other")
	s.sayAs(id, "second", "go on over the "+marked)
	s.until(id, "the worker is missed", func(x *perdure.Execution) bool { return x.Status == perdure.StatusPending && x.Away != nil })
	s.idle(s.begin(perdure.Remote), 1)
	for _, args := range [][]string{{"show", id.String()}, {"runs"}} {
		text := s.ask(args...)
		if !strings.Contains(text, "queued (worker away)") {
			t.Errorf("perdure %s does not say that the worker is away:\n%s", args[0], text)
		}
	}
	if text := s.ask("show", id.String()); !strings.Contains(text, home) || !strings.Contains(text, "(content on worker)") || strings.Contains(text, marked) {
		t.Errorf("perdure show does not say where the content is:\n%s", text)
	}
	if x, err := s.Get(t.Context(), id); err != nil || x.Status != perdure.StatusPending || x.HomeID.String() != home {
		t.Errorf("without its worker the run is %+v, %v", x, err)
	}
	if found := holding(t, filepath.Join(s.root, "other", "worker")); len(found) > 0 {
		t.Errorf("the other worker has content in %v", found)
	}
	s.worker = launch(t, away.command)
	s.idle(id, 2)
	if _, err := s.Cancel(t.Context(), id); err != nil { // the cancel ends the log and its followers
		t.Fatal(err)
	}
	tail.exit()
	if text := tail.output.String(); !strings.Contains(text, "All "+marked) {
		t.Errorf("perdure tail does not show the end:\n%s", text)
	}
	end(other)
}

// TestLocalRunIsPromoted promotes a LOCAL run to REMOTE while the run waits. It checks that the run
// continues at a new worker with its whole conversation. Apart from the content of entries, the log
// after the promotion equals the log before, byte for byte. Readers can continue from several
// earlier cursors. No model call is repeated.
func TestLocalRunIsPromoted(t *testing.T) {
	s, journal := newPrivateDeployment(t)
	id := s.begin(perdure.Local)
	f := s.follow(id)
	s.showIfFailed(f, id)
	s.idle(id, 1)
	said := s.wholeTranscript(id)
	before, live := s.events(id), f.sofar()
	if text := s.ask("runs", "promote", id.String()); !strings.Contains(text, "is on the server now") {
		t.Errorf("perdure runs promote says %q", text)
	}
	if x, err := s.Get(t.Context(), id); err != nil || x.PersistenceMode != perdure.Remote || x.HomeID != nil {
		t.Fatalf("the run is %+v, %v", x, err)
	}
	end(s.worker)
	home := launch(t, s.worker.command) // the first worker again, which no longer needs the content
	home.says("needed here no longer")
	end(home)
	if found := holding(t, filepath.Join(s.root, "worker", "worker")); len(found) > 0 {
		t.Errorf("what was promoted is still in the worker's %v", found)
	}
	s.restart(&s.server) // the new server has nothing of the live log in memory
	s.reconnected(id)
	if got := s.transcript(id); plain(got) != plain(said) {
		t.Errorf("the conversation was\n%s\nand is\n%s", plain(said), plain(got))
	}
	samePages(t, "the log before and now", withoutEntries(before), withoutEntries(s.events(id)[:len(before)]))

	s.worker = s.employ("other")
	s.sayAs(id, "second", "go on over the "+marked)
	s.idle(id, 2)
	if _, err := s.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	whole := s.events(id)
	sameReading(t, f.all(t), whole)
	for _, from := range []int{0, 1, len(live) / 3, len(before) / 2, len(before) - 1} {
		samePages(t, fmt.Sprintf("after event %d", from), whole[from+1:], s.eventsAfter(id, whole[from].Cursor))
	}
	calls := callsIn(t, journal)
	for i := range privateTurns {
		if calls[i+1] != 1 {
			t.Errorf("turn %d: %d calls of the model", i+1, calls[i+1])
		}
	}
	checkPrompts(t, journal)
}

// reconnected waits until a killed server answers.
func (s *deployment) reconnected(id uuid.UUID) {
	s.t.Helper()
	eventually(s.t, "the server answers again", func() bool {
		_, err := s.Get(s.t.Context(), id)
		return err == nil
	})
}

// sofar returns the events that the follower has read so far.
func (f *follower) sofar() []client.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// samePages compares two readings of a log byte for byte.
func samePages(t *testing.T, what string, want, got []client.Event) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d events, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if want[i].Cursor != got[i].Cursor || want[i].Type != got[i].Type || !bytes.Equal(want[i].Data, got[i].Data) {
			t.Errorf("%s: at %d is %s %s, want %s %s", what, i, got[i].Type, got[i].Data, want[i].Type, want[i].Data)
		}
	}
}

// withoutEntries returns a copy of events in which events about entries have no data, because their
// data differs between LOCAL and REMOTE runs.
func withoutEntries(events []client.Event) []client.Event {
	places := slices.Clone(events)
	for i, e := range places {
		if e.Type == perdure.EventEntry {
			places[i].Data = nil
		}
	}
	return places
}

// sameReading checks that a client that followed a log has the same events as a client that reads the
// log now.
func sameReading(t *testing.T, followed, paged []client.Event) {
	t.Helper()
	one, wrong := fold(withHeads(followed))
	other, alsoWrong := fold(withHeads(paged))
	if wrong != nil || alsoWrong != nil {
		t.Errorf("followed: %v; read in pages: %v", wrong, alsoWrong)
	}
	for _, d := range differences(one, other) {
		t.Errorf("followed and read in pages differ: %s", d)
	}
}

// withHeads returns a copy of the events. Events about entries keep only the members that do not
// depend on where content is stored.
func withHeads(events []client.Event) []client.Event {
	heads := slices.Clone(events)
	for i, e := range heads {
		if e.Type != perdure.EventEntry {
			continue
		}
		var head struct {
			Seq              int64      `json:"seq"`
			AgentExecutionID uuid.UUID  `json:"agentExecutionId"`
			ID               uuid.UUID  `json:"id"`
			ParentID         *uuid.UUID `json:"parentId"`
			EntryType        string     `json:"entryType"`
			CreatedAt        string     `json:"createdAt"`
		}
		if json.Unmarshal(e.Data, &head) == nil {
			heads[i].Data, _ = json.Marshal(head) // the value was just decoded
		}
	}
	return heads
}

// checkPrompts checks that each prompt starts with the previous prompt, byte for byte.
func checkPrompts(t *testing.T, journal string) {
	t.Helper()
	raw, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for in := json.NewDecoder(bytes.NewReader(raw)); ; {
		var call struct{ SHA256, Previous string }
		if err := in.Decode(&call); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if call.Previous != last {
			t.Errorf("a prompt goes on from %q, and the one before is %q", call.Previous, last)
		}
		last = call.SHA256
	}
}
