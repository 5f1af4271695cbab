package setup

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
)

// secretFlags are the flags whose values are paths of files with secrets.
var secretFlags = []string{"tls-key", "nats-creds"}

// secretVariables are environment variables that contain paths of files with secrets. Libraries of
// this program read them.
var secretVariables = []string{
	"PGPASSFILE", "PGSSLKEY", "PGSERVICEFILE", "GOOGLE_APPLICATION_CREDENTIALS",
	"OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
}

// SecretFiles returns the paths of files with secrets that flags and environment variables name.
// Tools may not access these files. A path may not exist.
func SecretFiles(flags *pflag.FlagSet) []string {
	var paths []string
	add := func(path string) {
		if abs, err := filepath.Abs(path); path != "" && err == nil && !slices.Contains(paths, abs) {
			paths = append(paths, abs)
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if name := VariableOf(f); name != "" {
			add(os.Getenv(name + "_FILE"))
		}
		if slices.Contains(secretFlags, f.Name) {
			add(f.Value.String())
		}
		if f.Name == "store" {
			if u, err := url.Parse(f.Value.String()); err == nil {
				add(u.Query().Get("sslkey"))
				add(u.Query().Get("passfile"))
			}
		}
	})
	for _, name := range secretVariables {
		add(os.Getenv(name))
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(filepath.Join(home, ".pgpass"))
		add(filepath.Join(home, ".postgresql", "postgresql.key"))
	}
	return paths
}
