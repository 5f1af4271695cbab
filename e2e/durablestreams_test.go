package e2e

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const suiteFolder = "durablestreams"

// suiteTest is a test of the suite in the report of vitest.
type suiteTest struct {
	FullName        string
	Status          string
	FailureMessages []string
}

// TestDurableStreamsConformance checks that the server passes the public conformance suite of the
// Durable Streams protocol. The tests in expected-failures.txt must fail, and all others must pass.
func TestDurableStreamsConformance(t *testing.T) {
	t.Parallel()
	suite, err := filepath.Abs(suiteFolder)
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(suite, "node_modules", ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		t.Fatal("the suite is not installed; run: make deps")
	}
	s := newDeployment(t, setup{origin: "https://example.com"}) // the origin that the suite uses
	report := filepath.Join(s.root, "report.json")
	run := launch(t, command{
		name: "the suite", dir: suite,
		argv: []string{node, filepath.Join("node_modules", "vitest", "vitest.mjs"), "run", "--reporter=json", "--outputFile=" + report},
		env:  append(os.Environ(), "PERDURE_URL="+s.url, "PERDURE_KEY="+s.token(filepath.Join(s.root, "data"))),
	})
	<-run.ended // vitest limits the time of every test
	expected := expectedFailures(t)
	for _, test := range suiteReport(t, report) {
		reason, listed := expected[test.FullName]
		delete(expected, test.FullName)
		switch {
		case test.Status == "passed" && listed:
			t.Errorf("%s passes, and is listed as a failure (%s)", test.FullName, reason)
		case test.Status == "failed" && !listed:
			t.Errorf("%s\n%s", test.FullName, strings.Join(test.FailureMessages, "\n"))
		case test.Status != "passed" && test.Status != "failed":
			t.Errorf("%s was not run: %s", test.FullName, test.Status)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		t.Errorf("%s is listed as a failure, and is no test of the suite", name)
	}
}

// suiteReport parses the report of vitest.
func suiteReport(t *testing.T, path string) []suiteTest {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		TestResults []struct {
			Message          string
			AssertionResults []suiteTest
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		t.Fatal(err)
	}
	var all []suiteTest
	for _, file := range report.TestResults {
		if file.Message != "" {
			t.Error(file.Message)
		}
		all = append(all, file.AssertionResults...)
	}
	if len(all) < 300 {
		t.Errorf("the suite ran only %d tests", len(all))
	}
	return all
}

// expectedFailures reads the list of expected failures, with a test's full name and the reason in
// each line.
func expectedFailures(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(suiteFolder, "expected-failures.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		name, reason, ok := strings.Cut(lines.Text(), " | ")
		if _, twice := all[name]; !ok || reason == "" || twice {
			t.Errorf("the line %q is not a name, ' | ' and the reason, or comes twice", lines.Text())
		}
		all[name] = reason
	}
	return all
}
