package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Secured creates a superuser who must log in with a password, and returns the URL of a database
// with that user and password. The user in the cluster's other URLs needs no password.
func (c *Cluster) Secured(database, password string) (string, error) {
	const user = "secured"
	if err := execute(context.Background(), c.URL("postgres"), "CREATE USER "+user+" SUPERUSER PASSWORD '"+strings.ReplaceAll(password, "'", "''")+"'"); err != nil {
		return "", err
	}
	rules := filepath.Join(c.data(), "pg_hba.conf")
	before, err := os.ReadFile(rules)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(rules, append([]byte("host all "+user+" all scram-sha-256\n"), before...), 0o600); err != nil {
		return "", err
	}
	if err := execute(context.Background(), c.URL("postgres"), "SELECT pg_reload_conf()"); err != nil {
		return "", err
	}
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", user, password, c.port, database), nil
}
