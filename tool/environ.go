package tool

import (
	"os"
	"strings"
)

// toolchainVars say where toolchains and their caches are. Commands get those
// that are set, so that a build in a workspace finds what is installed.
var toolchainVars = []string{
	"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPROXY", "GONOPROXY", "GOPRIVATE",
	"GOSUMDB", "GONOSUMDB", "GOTOOLCHAIN", "CGO_ENABLED", "CARGO_HOME", "RUSTUP_HOME",
	"JAVA_HOME", "GRADLE_USER_HOME", "NODE_PATH", "PNPM_HOME", "NPM_CONFIG_CACHE",
	"VIRTUAL_ENV", "PIP_CACHE_DIR", "UV_CACHE_DIR", "XDG_CACHE_HOME",
}

// environ is the whole environment of a command: PATH, HOME, LANG, TMPDIR,
// TERM=dumb, toolchainVars and the declared names that are set.
func environ(declared []string) []string {
	env := []string{
		"PATH=" + orElse(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin"),
		"LANG=" + orElse(os.Getenv("LANG"), "C.UTF-8"),
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

// isSecret reports whether no command may see a variable, declared or not: keys
// of providers, and everything of ours.
func isSecret(name string) bool {
	upper := strings.ToUpper(name)
	return strings.HasSuffix(upper, "_API_KEY") || strings.HasPrefix(upper, "PERDURE_")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
