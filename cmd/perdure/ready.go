package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

func (a *app) readyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ready [URL]", Short: "Report whether a server can serve", GroupID: "serve",
		Long: `Asks /readyz of the server at URL, at --server, or of the one that owns the data
directory, and prints the answer. The exit code is 0 if it can serve, else 1: for
health checks of containers that have no other program.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			base := a.server
			if len(args) == 1 {
				base = args[0]
			}
			return a.ready(cmd.Context(), base)
		},
	}
}

// readyWithin is the time limit of the request.
const readyWithin = 5 * time.Second

func (a *app) ready(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if base == "" {
		data, err := a.dataDir()
		if err != nil {
			return err
		}
		base = "http://perdure"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(data, "perdure.sock"))
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/readyz", http.NoBody)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return usageError{perdure.HidePassword(base) + " is no address of a server", "give one like http://127.0.0.1:8080"}
	}
	if base == "http://perdure" {
		req.Host = "localhost"
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return &perdure.Error{Code: perdure.Unavailable, Message: "no server answers", Err: err}
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, strings.TrimSpace(cleanAll(string(said))))
	if resp.StatusCode != http.StatusOK {
		return exit{exitFailed}
	}
	return nil
}
