package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Set changes a setting of the running server with ALTER SYSTEM and a reload, and waits until new
// connections use it.
func (c *Cluster) Set(name, value string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for _, query := range []string{"ALTER SYSTEM SET " + name + " = '" + value + "'", "SELECT pg_reload_conf()"} {
		if err := execute(ctx, c.URL("postgres"), query); err != nil {
			return err
		}
	}
	for {
		has, err := c.setting(ctx, name)
		if err != nil {
			return fmt.Errorf("%s does not become %s: %w", name, value, err)
		}
		if has == value {
			return nil
		}
	}
}

// setting returns the value of a setting in a new connection.
func (c *Cluster) setting(ctx context.Context, name string) (value string, err error) {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	return value, errors.Join(err, conn.Close(ctx))
}
