package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is the result of a run of workloads.
type Report struct {
	Machine  Machine  `json:"machine"`
	Settings Settings `json:"settings"`
	Results  []Result `json:"results"`
}

// Settings are the settings with which the workloads of a report ran.
type Settings struct {
	Short  bool   `json:"short"`
	Rounds int    `json:"rounds"`
	Folder string `json:"folder"` // of the databases
	// StorePlain reports that the stores ran without their optimizations.
	StorePlain bool `json:"storePlain,omitempty"`
}

// Result is the result of one case of a workload. It is a line of the workload's table.
type Result struct {
	Workload string  `json:"workload"`
	Case     string  `json:"case"`
	Store    string  `json:"store"`
	Worker   string  `json:"worker"`
	Figures  Figures `json:"figures"`
}

// Figures are named values in the order in which they are printed. A name ends with its unit.
type Figures []Figure

// Figure is a named value.
type Figure struct {
	Name  string
	Value float64
}

func (f *Figures) add(name string, value float64) { *f = append(*f, Figure{name, value}) }

// delays sorts the durations, and adds some of their quantiles to f.
func (f *Figures) delays(name string, all []time.Duration) {
	slices.Sort(all)
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
		f.add(strings.TrimSpace(name+" "+q.name)+" ms", millis(quantile(all, q.at)))
	}
}

// Get returns the value with the name, and reports whether there is one.
func (f Figures) Get(name string) (float64, bool) {
	i := slices.IndexFunc(f, func(one Figure) bool { return one.Name == name })
	if i < 0 {
		return 0, false
	}
	return f[i].Value, true
}

// MarshalJSON returns an object with the figures in their order.
func (f Figures) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range f {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), strconv.FormatFloat(one.Value, 'f', -1, 64)...)
	}
	return append(b, '}'), nil
}

// Print writes the report as Markdown: the machine, and a table for each workload.
func (r *Report) Print(out io.Writer) {
	r.Machine.print(out)
	for _, w := range Workloads() {
		r.table(out, w)
	}
}

func (m Machine) print(out io.Writer) {
	fmt.Fprintf(out, "%d cores (%s), %d MB, Linux %s, %s, revision %s\n", m.Cores, m.CPU, m.MemoryMB, m.Kernel, m.Go, m.Revision)
	fmt.Fprintf(out, "flush of 4 KiB %.2f ms (p99 %.2f), load before %s", m.FlushMS, m.FlushP99, m.Load)
	if m.Postgres != "" {
		fmt.Fprintf(out, ", PostgreSQL %s", m.Postgres)
	}
	fmt.Fprintln(out)
	if m.InMemory {
		fmt.Fprintln(out, "the folder is in memory: flushes cost nothing")
	}
}

func (r *Report) table(out io.Writer, w Workload) {
	var rows []Result
	var columns []string
	for _, row := range r.Results {
		if row.Workload != w.Name {
			continue
		}
		rows = append(rows, row)
		for _, f := range row.Figures {
			if !slices.Contains(columns, f.Name) {
				columns = append(columns, f.Name)
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s: %s\n\n| store | worker | case | %s |\n|---|---|---|%s\n", w.Name, w.About, strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(out, "| %s | %s | %s |", row.Store, row.Worker, row.Case)
		for _, name := range columns {
			value, there := row.Figures.Get(name)
			fmt.Fprintf(out, " %s |", number(value, there))
		}
		fmt.Fprintln(out)
	}
}

// number formats a value with at least three significant digits.
func number(v float64, there bool) string {
	switch {
	case !there:
		return ""
	case v == 0 || v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
