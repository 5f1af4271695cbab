package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/perdure/perdure"
)

// Kill is one kill of a worker that was working on runs.
type Kill struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"` // by the database's clock
	// Runs are the ids of the runs whose agent or task the worker was executing.
	Runs []string `json:"runs"`
}

// Takeover says for how long a run made no progress after its worker was killed.
type Takeover struct {
	Worker string        `json:"worker"`
	Run    string        `json:"run"`
	Took   time.Duration `json:"took"`
}

// progress are the types of events that show that a worker works on the run.
var progress = []perdure.EventType{
	perdure.EventStarted, perdure.EventResumed, perdure.EventCheckpoint, perdure.EventEntry,
	perdure.EventTaskStarted, perdure.EventTaskCompleted, perdure.EventCompleted,
}

// Takeovers returns, for each run of a killed worker, the time from the kill to the next event in
// the run's log that shows progress. It leaves out runs whose log has no such event after the kill,
// such as cancelled runs.
func Takeovers(kills []Kill, runs []Run) []Takeover {
	byID := map[string]Run{}
	for _, r := range runs {
		byID[r.ID] = r
	}
	var all []Takeover
	for _, k := range kills {
		for _, id := range k.Runs {
			log := byID[id].Log
			i := slices.IndexFunc(log, func(e Event) bool { return e.At.After(k.At) && slices.Contains(progress, e.Type) })
			if i >= 0 {
				all = append(all, Takeover{Worker: k.Name, Run: id, Took: log[i].At.Sub(k.At)})
			}
		}
	}
	return all
}

// Report is the result of one execution of the chaos suite.
type Report struct {
	Seed      uint64        `json:"seed"`
	Store     string        `json:"store"`
	Servers   int           `json:"servers"`
	Plain     []bool        `json:"plain"` // by server: without the store's optimizations
	Workers   int           `json:"workers"`
	Runs      int           `json:"runs"`
	Turns     int           `json:"turns"`
	Took      time.Duration `json:"took"`
	Lease     time.Duration `json:"lease"`
	Faults    []Fault       `json:"faults"`
	Counts    Counts        `json:"counts"`
	Takeovers []Takeover    `json:"takeovers"`
	Median    time.Duration `json:"takeoverMedian"`
	Max       time.Duration `json:"takeoverMax"`
	Notes     []string      `json:"notes"`
	Wrong     []string      `json:"wrong"`
}

// Counts are totals over all runs.
type Counts struct {
	Events, ModelCalls, ModelAnswers, Tools, Interrupted, Skipped int
	Messages, Refused                                             int // accepted; and refused because the run had ended
	Readers, Reconnects                                           int
}

// Measure computes the fields that follow from the runs and from the fields that are already set.
func (r *Report) Measure(runs []Run) {
	for _, run := range runs {
		c := &check{Run: run, tasks: map[string]*task{}, byCall: map[string]*task{}, results: map[string]string{}}
		c.log()
		c.transcript()
		r.Counts.Events += len(run.Log)
		r.Counts.ModelCalls += len(run.Calls)
		r.Counts.ModelAnswers += c.turns
		for _, t := range c.order {
			switch {
			case t.kind == modelTask:
			case t.end == perdure.EventTaskInterrupted:
				r.Counts.Interrupted++
			default:
				r.Counts.Tools++
			}
		}
		for _, how := range c.results {
			if how == skipped {
				r.Counts.Skipped++
			}
		}
		for _, s := range run.Sent {
			if s.Accepted {
				r.Counts.Messages++
			} else {
				r.Counts.Refused++
			}
		}
	}
	var took []time.Duration
	for _, t := range r.Takeovers {
		took = append(took, t.Took)
	}
	if slices.Sort(took); len(took) > 0 {
		r.Median, r.Max = took[len(took)/2], took[len(took)-1]
	}
}

// Table returns the report as a table of text for people.
func (r *Report) Table() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	c := r.Counts
	row("seed", "%d", r.Seed)
	row("fleet", "%d servers (%d plain), %d workers, %s, leases of %s", r.Servers, r.plain(), r.Workers, r.Store, r.Lease)
	row("load", "%d runs of %d turns in %s", r.Runs, r.Turns, r.Took.Round(time.Second))
	row("faults", "%s", r.faults())
	row("events", "%d, read by %d readers that reconnected %d times", c.Events, c.Readers, c.Reconnects)
	row("model", "%d calls for %d answers", c.ModelCalls, c.ModelAnswers)
	row("tools", "%d finished, %d interrupted, %d skipped", c.Tools, c.Interrupted, c.Skipped)
	row("messages", "%d accepted, %d refused because the run had ended", c.Messages, c.Refused)
	row("takeover", "median %s, max %s, of %d after kills of workers", r.Median.Round(time.Millisecond), r.Max.Round(time.Millisecond), len(r.Takeovers))
	row("wrong", "%d", len(r.Wrong))
	_ = w.Flush() // a write to a Builder never fails
	return out.String()
}

// plain returns how many of the servers ran with the optimizations of their store switched off.
func (r *Report) plain() (n int) {
	for _, is := range r.Plain {
		if is {
			n++
		}
	}
	return n
}

// faults returns a text with the total number of faults and the number of each kind.
func (r *Report) faults() string {
	counts := map[Kind]int{}
	var kinds []string
	for _, f := range r.Faults {
		if counts[f.Kind]++; counts[f.Kind] == 1 {
			kinds = append(kinds, string(f.Kind))
		}
	}
	slices.Sort(kinds)
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", k, counts[Kind(k)])
	}
	return fmt.Sprintf("%d: %s", len(r.Faults), strings.Join(kinds, ", "))
}

// Write writes the report to the folder, as chaos.json and chaos.txt.
func (r *Report) Write(dir string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "chaos.json"), append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "chaos.txt"), []byte(r.Table()), 0o644)
}
