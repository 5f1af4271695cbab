package ops

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/perdure/perdure/internal/health"
)

// TestProfilesStayOnTheMachine checks that a request for profiles is refused if it comes from
// another machine or a web page, or if the Host header is not an address of this machine. Metrics
// and health checks are not refused.
func TestProfilesStayOnTheMachine(t *testing.T) {
	h := Handler(Config{
		Gatherer: NewRegistry("test"), Logger: slog.New(slog.DiscardHandler),
		Health: func(context.Context) health.Report { return health.Report{} }, Token: "of operators",
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
			r.Header.Set("Authorization", "Bearer of operators")
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

// TestProfilesNeedTheToken checks that a request for a profile needs the token, and that a request
// for metrics does not. Only the owner can read the token file. OpenToken returns the same token
// each time.
func TestProfilesNeedTheToken(t *testing.T) {
	data := t.TempDir()
	token, err := OpenToken(data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := OpenToken(data); err != nil || again != token {
		t.Errorf("another start has another token: %q, %v", again, err)
	}
	if info, err := os.Stat(TokenFile(data)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	ask := func(token, path string, with func(r *http.Request)) int {
		h := Handler(Config{
			Gatherer: NewRegistry("test"), Logger: slog.New(slog.DiscardHandler), Token: token,
			Health: func(context.Context) health.Report { return health.Report{} },
		})
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.RemoteAddr, r.Host = "127.0.0.1:5000", "127.0.0.1:9464"
		with(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	bearer := func(s string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s) }
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/goroutine?debug=2"} {
		for name, c := range map[string]struct {
			token string
			with  func(*http.Request)
			want  int
		}{
			"nothing":          {token, func(*http.Request) {}, http.StatusUnauthorized},
			"another":          {token, bearer("x" + token), http.StatusUnauthorized},
			"an empty one":     {token, bearer(""), http.StatusUnauthorized},
			"none is known":    {"", bearer(""), http.StatusUnauthorized},
			"the token":        {token, bearer(token), http.StatusOK},
			"as a password":    {token, func(r *http.Request) { r.SetBasicAuth("any", token) }, http.StatusOK},
			"a wrong password": {token, func(r *http.Request) { r.SetBasicAuth(token, "") }, http.StatusUnauthorized},
		} {
			if got := ask(c.token, path, c.with); got != c.want {
				t.Errorf("%s with %s answers %d, want %d", path, name, got, c.want)
			}
		}
	}
	if got := ask(token, "/metrics", func(*http.Request) {}); got != http.StatusOK {
		t.Errorf("/metrics answers %d", got)
	}
}
