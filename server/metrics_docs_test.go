package server_test

import (
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/ops"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v4"
)

// catalogue is a Registerer that records descriptions of metrics, even of metrics without values.
type catalogue struct {
	labels map[string]string // labels of each metric, by its name
}

var described = regexp.MustCompile(`fqName: "([^"]+)", help: "[^"]+", unit: "", constLabels: {(.*?)}, variableLabels: {(.*?)}}|fqName: "([^"]+)", help: "[^"]+", constLabels: {(.*?)}, variableLabels: {(.*?)}}`)

func (c *catalogue) add(t *testing.T, collector prometheus.Collector) {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() { collector.Describe(descs); close(descs) }()
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Errorf("a metric is described as %s", d)
			continue
		}
		name, fixed, variable := m[1]+m[4], m[2]+m[5], m[3]+m[6]
		var labels []string
		for _, l := range strings.FieldsFunc(fixed+","+variable, func(r rune) bool { return r == ',' }) {
			label, _, _ := strings.Cut(l, "=")
			labels = append(labels, label)
		}
		slices.Sort(labels)
		c.labels[name] = strings.Join(labels, ", ")
	}
}

type catalogueRegisterer struct {
	*testing.T
	*catalogue
}

// Register implements prometheus.Registerer.
func (a catalogueRegisterer) Register(c prometheus.Collector) error { a.add(a.T, c); return nil }

// MustRegister implements prometheus.Registerer.
func (a catalogueRegisterer) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		a.add(a.T, c)
	}
}

// Unregister implements prometheus.Registerer.
func (a catalogueRegisterer) Unregister(prometheus.Collector) bool { return false }

// allMetrics returns the labels of each metric of a server and a worker, by the metric's name.
func allMetrics(t *testing.T) map[string]string {
	t.Helper()
	a := catalogueRegisterer{t, &catalogue{labels: map[string]string{}}}
	s, err := server.Open(t.Context(), server.Config{Data: t.TempDir(), Dev: true, Registerer: a, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	m, err := metrics.New(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Watch(worker.New(worker.Config{}), &react.Counters{}); err != nil {
		t.Fatal(err)
	}
	families, err := ops.NewRegistry("test").Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "perdure_build_info" {
			a.labels[f.GetName()] = "goversion, revision, version"
		}
	}
	return a.labels
}

var row = regexp.MustCompile("(?m)^\\| `(perdure_\\w+)` \\| (\\w+) \\|([^|]*)\\| ([^|]+) \\|$")

// TestEveryMetricIsDocumented checks that docs/operations.md lists every metric with its labels, and no
// other metric.
func TestEveryMetricIsDocumented(t *testing.T) {
	raw, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(raw), -1) {
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		listed[m[1]] = strings.Join(labels, ", ")
		if suffix := strings.HasSuffix(m[1], "_total"); suffix != (m[2] == "counter") {
			t.Errorf("%s is listed as a %s", m[1], m[2])
		}
	}
	there := allMetrics(t)
	for name, labels := range there {
		if got, ok := listed[name]; !ok || got != labels {
			t.Errorf("%s has the labels %q and is listed with %q (%v)", name, labels, got, ok)
		}
	}
	for name := range listed {
		if _, ok := there[name]; !ok {
			t.Errorf("%s is listed, and there is none", name)
		}
	}
	if len(there) < 30 {
		t.Errorf("only %d metrics were found", len(there))
	}
}

var inExpr = regexp.MustCompile(`perdure_\w+`)

// TestAlertsAskForMetricsThatExist checks that the alert rules use only metrics and labels that exist.
func TestAlertsAskForMetricsThatExist(t *testing.T) {
	raw, err := os.ReadFile("../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	there, rules := allMetrics(t), 0
	known := slices.Collect(maps.Keys(there))
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			rules++
			names := inExpr.FindAllString(r.Expr, -1)
			if r.Alert == "" || len(names) == 0 || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("the rule %+v is not whole", r)
			}
			for _, name := range names {
				if !slices.Contains(known, name) && !slices.Contains(known, strings.TrimSuffix(name, "_bucket")) {
					t.Errorf("%s asks for %s, which does not exist", r.Alert, name)
				}
			}
			for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(r.Expr, -1) {
				for _, label := range strings.Split(by[1], ", ") {
					base := strings.TrimSuffix(names[0], "_bucket")
					if label != "le" && label != "instance" && !slices.Contains(strings.Split(there[base], ", "), label) {
						t.Errorf("%s asks for the label %s of %s, which has %q", r.Alert, label, base, there[base])
					}
				}
			}
			if strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") {
				t.Errorf("%s: %s does not close what it opens", r.Alert, r.Expr)
			}
		}
	}
	if rules < 8 {
		t.Errorf("only %d rules were found", rules)
	}
}
