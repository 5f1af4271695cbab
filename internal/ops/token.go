package ops

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/internal/disk"
)

// TokenFile returns the path of the file with the token for profiles of the process (pprof). The
// file is in the data directory, which tools cannot read.
func TokenFile(data string) string { return filepath.Join(data, "ops-token") }

// OpenToken returns the token for profiles. If the token file does not exist, it creates one with a
// new token.
func OpenToken(data string) (string, error) {
	path := TokenFile(data)
	raw, err := os.ReadFile(path)
	if token := strings.TrimSpace(string(raw)); err == nil && token != "" {
		return token, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	return token, disk.WriteFile(path, []byte(token+"\n"))
}

// withToken serves requests that contain the token: as a Bearer token, or as the password of Basic
// authentication, which go tool pprof takes from a URL. If the token is "", it refuses all
// requests.
func withToken(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token == "" || !sameToken(tokenOf(r), token) {
			w.Header().Set("WWW-Authenticate", `Basic realm="profiles"`)
			http.Error(w, "profiles need the token in the file ops-token of the data directory, as a Bearer token or a password", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func tokenOf(r *http.Request) string {
	if token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found {
		return token
	}
	_, password, _ := r.BasicAuth()
	return password
}

// sameToken compares hashes, so that the time of the comparison reveals nothing about the token.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
