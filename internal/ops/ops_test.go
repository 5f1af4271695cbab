package ops

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perdure/perdure/internal/health"
)

// Profiles are given to this machine alone: to no other address, to no name that
// was pointed here, and to no page of a browser.
func TestProfilesStayOnTheMachine(t *testing.T) {
	h := Handler(Config{
		Gatherer: NewRegistry("test"), Logger: slog.New(slog.DiscardHandler),
		Health: func(context.Context) health.Report { return health.Report{} },
	})
	for name, c := range map[string]struct {
		from, host, origin string
		profile            int
	}{
		"this machine":      {"127.0.0.1:5000", "127.0.0.1:9464", "", http.StatusOK},
		"by its name":       {"[::1]:5000", "localhost:9464", "", http.StatusOK},
		"another machine":   {"10.1.2.3:5000", "10.1.2.4:9464", "", http.StatusForbidden},
		"a name like ours":  {"127.0.0.1:5000", "evil.example:9464", "", http.StatusForbidden},
		"a page":            {"127.0.0.1:5000", "127.0.0.1:9464", "https://evil.example", http.StatusForbidden},
		"a Host that lies":  {"10.1.2.3:5000", "localhost", "", http.StatusForbidden},
		"an address like 0": {"0.0.0.0:5000", "localhost", "", http.StatusForbidden},
	} {
		for path, want := range map[string]int{
			"/debug/pprof/": c.profile, "/debug/pprof/heap": c.profile, "/debug/pprof/cmdline": c.profile, "/debug/pprof/symbol": c.profile,
			"/metrics": http.StatusOK, "/healthz": http.StatusOK, "/readyz": http.StatusOK,
		} {
			r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			r.RemoteAddr, r.Host = c.from, c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s: %s answers %d, want %d", name, path, w.Code, want)
			}
		}
	}
}
