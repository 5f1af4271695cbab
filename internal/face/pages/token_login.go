package pages

import (
	"net/http"
	"net/url"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

// tokenLogin signs a browser in with the token in the URL that dev mode prints. One half of the
// session's secret is sent as the cookie, and the other half in the fragment of a redirect to the
// page. Browsers do not send fragments to servers, and the page removes the fragment from the
// address bar.
func (s *server) tokenLogin(w http.ResponseWriter, r *http.Request) {
	b := s.BrowserIn(w, r)
	_, halves, key, err := s.SignIn(r.Context(), r.URL.Query().Get("token"), b)
	if perdure.IsCode(err, perdure.Unauthenticated) {
		problem.New(perdure.Unauthenticated, "the token in the address is not this server's; use the address that it printed at its start").Write(w)
		return
	}
	if err != nil {
		s.ProblemOf(r.Context(), err).Write(w)
		return
	}
	http.SetCookie(w, b.Hold(halves.Cookie))
	w.Header().Set("Cache-Control", "no-store")
	fragment := url.Values{"session": {halves.Page}, "org": {key.Org}}.Encode()
	http.Redirect(w, r, s.firstPage()+"#"+fragment, http.StatusSeeOther)
}
