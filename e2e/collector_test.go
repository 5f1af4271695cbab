package e2e

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collected "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives the spans of the processes, like an OpenTelemetry collector.
type collector struct {
	t   *testing.T
	url string

	mu    sync.Mutex // guards the fields below
	spans []span
	raw   bytes.Buffer // all received bytes
}

// span is a span that a process has exported.
type span struct {
	service, name string
	trace, id     string // in hexadecimal
	parent        string // "" for none
	links         []string
	attributes    map[string]any
}

// newCollector starts a collector on loopback.
func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t}
	s := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// environment returns the variables that make a process export its spans to the collector without
// long delays.
func (c *collector) environment(service string) []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url, "OTEL_SERVICE_NAME=" + service, "OTEL_BSP_SCHEDULE_DELAY=50"}
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed
	}
	var request collected.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &request); err != nil {
		c.t.Errorf("what is exported is no export: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(raw)
	for _, of := range request.GetResourceSpans() {
		service, _ := valuesOf(of.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				one := span{
					service: service, name: s.GetName(), trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()),
					parent: hex.EncodeToString(s.GetParentSpanId()), attributes: valuesOf(s.GetAttributes()),
				}
				for _, l := range s.GetLinks() {
					one.links = append(one.links, hex.EncodeToString(l.GetTraceId()))
				}
				c.spans = append(c.spans, one)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func valuesOf(all []*common.KeyValue) map[string]any {
	values := map[string]any{}
	for _, a := range all {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			values[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			values[a.GetKey()] = v.IntValue
		case *common.AnyValue_ArrayValue:
			var texts []string
			for _, item := range v.ArrayValue.GetValues() {
				texts = append(texts, item.GetStringValue())
			}
			values[a.GetKey()] = texts
		}
	}
	return values
}

// of returns the spans with the given name that a service has exported.
func (c *collector) of(service, name string) (found []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.service == service && s.name == name {
			found = append(found, s)
		}
	}
	return found
}

// all returns every span, and all received bytes.
func (c *collector) all() ([]span, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]span(nil), c.spans...), bytes.Clone(c.raw.Bytes())
}

// orphans returns a service's spans whose parent was not exported by any service.
func (c *collector) orphans(service string) []span {
	all, _ := c.all()
	known := map[string]bool{"": true}
	for _, s := range all {
		known[s.id] = true
	}
	return slices.DeleteFunc(all, func(s span) bool { return s.service != service || known[s.parent] })
}
