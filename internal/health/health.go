// Package health reports whether a process can do its work, and why not.
package health

import (
	"context"
	"encoding/json"
	"net/http"
)

// Reason is a problem found by one check.
type Reason struct {
	// Check is the name of the check that found the problem, one word. Detail describes the
	// problem, without confidential data.
	Check  string `json:"check"`
	Detail string `json:"detail"`
}

// Report is the result of a check of a process.
type Report struct {
	// Unready are the reasons why the process cannot accept work; empty if it is ready.
	Unready []Reason
	// Degraded are problems that do not make the process unready.
	Degraded []Reason
	// Notes are facts that an operator may want to know but need not act on.
	Notes []Reason
}

// Ready reports whether the process accepts work.
func (r Report) Ready() bool { return len(r.Unready) == 0 }

// Check is a function that checks a process and returns a report. It must return within a few
// seconds.
type Check func(ctx context.Context) Report

// body is the JSON form of a report.
type body struct {
	Status   string   `json:"status"`
	Reasons  []Reason `json:"reasons,omitempty"`
	Degraded []Reason `json:"degraded,omitempty"`
	Notes    []Reason `json:"notes,omitempty"`
}

// Alive responds with 200, for a check whether the process runs.
func Alive(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, body{Status: "ok"}) }

// Handler responds with the report as JSON. The status is 200 if the process is ready, 503 if it
// is not.
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
	_ = json.NewEncoder(w).Encode(b) // fails only if the client has disconnected
}
