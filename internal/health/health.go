// Package health says whether a process can do its work, and why not.
package health

import (
	"context"
	"encoding/json"
	"net/http"
)

// Reason is what is wrong with one thing.
type Reason struct {
	// Check is what was looked at, one word; Detail says what is wrong with it, in
	// words that may be shown to anybody.
	Check  string `json:"check"`
	Detail string `json:"detail"`
}

// Report is how a process does.
type Report struct {
	// Unready are the reasons not to send it work: none if it is ready.
	Unready []Reason
	// Degraded are those why it works less well than it should.
	Degraded []Reason
	// Notes are what an operator may want to know and need not act on.
	Notes []Reason
}

// Ready reports whether it takes work.
func (r Report) Ready() bool { return len(r.Unready) == 0 }

// Check looks at a process. It must answer within a few seconds.
type Check func(ctx context.Context) Report

// body is a report as JSON.
type body struct {
	Status   string   `json:"status"`
	Reasons  []Reason `json:"reasons,omitempty"`
	Degraded []Reason `json:"degraded,omitempty"`
	Notes    []Reason `json:"notes,omitempty"`
}

// Alive answers 200 while the process runs.
func Alive(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, body{Status: "ok"}) }

// Handler answers 200 if the process is ready, else 503, with the report.
func (c Check) Handler(w http.ResponseWriter, r *http.Request) {
	report := c(r.Context())
	if !report.Ready() {
		write(w, http.StatusServiceUnavailable, body{"unready", report.Unready, report.Degraded, report.Notes})
		return
	}
	write(w, http.StatusOK, body{"ready", nil, report.Degraded, report.Notes})
}

func write(w http.ResponseWriter, status int, b body) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(b) // who asked may have gone
}
