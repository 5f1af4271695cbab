package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm/scripted"
)

// steps is the script of a run without a server. The test kills perdure run during the tool of the
// run's second turn, and perdure resume during the text of the third turn.
const steps = `
turn
  text First step.
  call bash {"command": "echo one >> effects.txt"}
turn
  text Second step.
  call bash {"command": "echo two >> effects.txt; printf 'working-%s\\n' two; sleep 60; echo never >> effects.txt"}
turn
  expect interrupted
  pace 100ms
  text alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo
  call bash {"command": "echo three >> effects.txt"}
turn
  text All done.
`

func TestRunKilledAndResumed(t *testing.T) {
	c := newConsole(t)
	c.write("steps.script", steps)
	run := c.perdure("run", "--json", "--model", "scripted/steps.script", "Do the steps")
	run.says("working-two")
	run.kill()
	id := regexp.MustCompile(`"agentExecutionId":\s*"([0-9a-f-]{36})"`).FindStringSubmatch(run.output.String())
	if id == nil {
		t.Fatal("the output names no run")
	}
	again := c.perdure("resume", "--json", id[1])
	again.says("delta")
	again.kill()
	last := c.perdure("resume", "--json", id[1])
	if code := last.exit(); code != 0 {
		t.Fatalf("perdure resume ended with exit code %d", code)
	}
	c.checkResult(last.output.String())
	if got := c.read("effects.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("the effects are %q", got)
	}
	// The second kill happened during the model call of the third turn, so that call was made
	// twice.
	if got, want := c.callsByTurn(), map[int]int{1: 1, 2: 1, 3: 2, 4: 1}; len(got) != len(want) || got[1] != 1 || got[2] != 1 || got[3] != 2 || got[4] != 1 {
		t.Errorf("the model was called %v times by turn, not %v", got, want)
	}
}

// console is a shell in which perdure runs without a server.
type console struct {
	t       *testing.T
	dir     string // contains the scripts, and is the workspace
	journal string
	env     []string
	// newer is set after the test has stored a newer version number in the database. This program
	// does not open such a database.
	newer bool
}

func newConsole(t *testing.T, env ...string) *console {
	t.Helper()
	c := &console{t: t, dir: t.TempDir()}
	root := t.TempDir()
	t.Cleanup(func() {
		path := filepath.Join(root, "data", "perdure.db")
		if _, err := os.Stat(path); err == nil && !c.newer { // a refused command creates no database
			opentest.File(t, path)
		}
	})
	c.journal = filepath.Join(root, "journal")
	c.env = environment(root, append(env,
		"PERDURE_DATA="+filepath.Join(root, "data"), "PERDURE_SCRIPTS="+c.dir, "PERDURE_SCRIPTED_JOURNAL="+c.journal)...)
	return c
}

// perdure starts a command.
func (c *console) perdure(args ...string) *process {
	c.t.Helper()
	return launch(c.t, command{name: "perdure " + args[0], argv: append([]string{program(c.t)}, args...), env: c.env, dir: c.dir})
}

func (c *console) write(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *console) read(name string) string {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(raw)
}

// callsByTurn returns the number of model calls in the journal, by turn.
func (c *console) callsByTurn() map[int]int {
	c.t.Helper()
	raw, err := os.ReadFile(c.journal)
	if err != nil {
		c.t.Fatal(err)
	}
	calls := map[int]int{}
	for line := range strings.Lines(string(raw)) {
		var call scripted.Call
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			c.t.Fatal(err)
		}
		calls[call.Turn]++
	}
	return calls
}

// checkResult checks the last line of the output, which reports how the run ended.
func (c *console) checkResult(output string) {
	c.t.Helper()
	var last string
	for in := bufio.NewScanner(strings.NewReader(output)); in.Scan(); {
		last = in.Text()
	}
	for _, want := range []string{`"COMPLETED"`, "All done."} {
		if !strings.Contains(last, want) {
			c.t.Errorf("the result %q does not hold %s", last, want)
		}
	}
}
