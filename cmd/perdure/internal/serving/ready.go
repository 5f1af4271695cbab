package serving

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
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newReadyCommand(a *setup.App) *cobra.Command {
	return &cobra.Command{
		Use: "ready [URL]", Short: "Report whether a server can serve", GroupID: "serve",
		Example: "  perdure ready\n  perdure ready http://127.0.0.1:8080",
		Long: `Asks /readyz of the server at URL, at --server, or of the one that owns the data
directory, and prints the answer. The exit code is 0 if it can serve, else 1: for
health checks of containers that have no other program.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			base := a.Server
			if len(args) == 1 {
				base = args[0]
			}
			return ready(cmd.Context(), a, base)
		},
	}
}

// readyWithin is the time limit of the request to /readyz.
const readyWithin = 5 * time.Second

func ready(ctx context.Context, a *setup.App, base string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if base == "" {
		data, err := a.DataDir()
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
		return setup.NewUsageError(perdure.HidePassword(base)+" is no address of a server", "give one like http://127.0.0.1:8080")
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
	fmt.Fprintln(a.Stdout, strings.TrimSpace(terminal.Clean(string(said))))
	if resp.StatusCode != http.StatusOK {
		return setup.ExitWith(setup.ExitFailed)
	}
	return nil
}
