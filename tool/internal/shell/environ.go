package shell

import (
	"cmp"
	"os"
	"strings"
)

// toolchainVars are the environment variables that tell programs where toolchains and their caches are. A
// command gets those that are set, so that a build in a workspace finds the installed toolchains.
var toolchainVars = []string{
	"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPROXY", "GONOPROXY", "GOPRIVATE",
	"GOSUMDB", "GONOSUMDB", "GOTOOLCHAIN", "CGO_ENABLED", "CARGO_HOME", "RUSTUP_HOME",
	"JAVA_HOME", "GRADLE_USER_HOME", "NODE_PATH", "PNPM_HOME", "NPM_CONFIG_CACHE",
	"VIRTUAL_ENV", "PIP_CACHE_DIR", "UV_CACHE_DIR", "XDG_CACHE_HOME",
}

// Environ returns the whole environment of a command: PATH, HOME, LANG, TMPDIR, TERM=dumb, and each
// variable that is set and that toolchainVars or the argument `declared` lists.
func Environ(declared []string) []string {
	env := []string{
		"PATH=" + cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin"),
		"LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"),
		"TMPDIR=" + os.TempDir(),
		"TERM=dumb",
	}
	if home, err := os.UserHomeDir(); err == nil {
		env = append(env, "HOME="+home)
	}
	given := map[string]bool{"PATH": true, "LANG": true, "TMPDIR": true, "TERM": true, "HOME": true}
	for _, name := range append(toolchainVars[:len(toolchainVars):len(toolchainVars)], declared...) {
		value, set := os.LookupEnv(name)
		if !set || given[name] || isSecret(name) {
			continue
		}
		given[name] = true
		env = append(env, name+"="+value)
	}
	return env
}

// isSecret reports whether commands must not get the environment variable, even if it is declared.
// That is so for the keys of model providers and for all variables of Perdure.
func isSecret(name string) bool {
	upper := strings.ToUpper(name)
	return strings.HasSuffix(upper, "_API_KEY") || strings.HasPrefix(upper, "PERDURE_")
}
