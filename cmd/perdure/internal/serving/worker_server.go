package serving

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/remote"
)

// dial connects the worker to the server. If the server is not reachable yet, dial waits, so that workers
// and servers can be started in any order.
func (w *workerCommand) dial(ctx context.Context, o remote.Options) (*remote.Client, error) {
	const most = 5 * time.Second
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, most) {
		d, err := remote.Dial(ctx, o)
		if !perdure.IsCode(err, perdure.Unavailable) {
			return d, err
		}
		_ = w.Stderr.Linef("perdure: %s; trying again in %s", terminal.ErrorMessage(err), pause)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// fillAddress sets the options that the user has not given. It reads their values from the data
// directory of a running server.
func (w *workerCommand) fillAddress(o *remote.Options, data string) error {
	switch {
	case strings.Contains(o.Addr, "://"):
		return setup.NewUsageError("--server "+perdure.HidePassword(o.Addr)+" is no gRPC address", "give host:port, such as 127.0.0.1:9090")
	case o.Addr != "" && o.Token == "" && !isLocal(o.Addr):
		return setup.NewUsageError("the API key is missing", "give one of the role worker with --key or PERDURE_KEY; perdure keys create --role worker NAME makes one")
	}
	if o.Addr == "" {
		owner, err := &connection.Owner{}, error(nil)
		if data != "" {
			owner, err = connection.ReadOwner(data)
		}
		if err != nil || owner.GRPC == "" {
			return setup.NewUsageError("there is no server to work for", "start perdure server, or give the gRPC address of another with --server or PERDURE_GRPC")
		}
		o.Addr = owner.GRPC
		if o.TLS == nil && owner.Certificate != "" {
			if o.TLS, err = setup.TrustCertificate(owner.Certificate); err != nil {
				return err
			}
		}
	}
	if o.Token == "" && data != "" {
		raw, err := os.ReadFile(server.TokenFile(data))
		if err != nil {
			return perdure.Errorf(perdure.Unauthenticated, "there is no API key; give one of the role worker with --key or PERDURE_KEY")
		}
		o.Token = strings.TrimSpace(string(raw))
	}
	return nil
}

// isLocal reports whether all addresses in the list are on this machine. The worker may then use the token
// of the data directory as its key.
func isLocal(list string) bool {
	for addr := range strings.SplitSeq(list, ",") {
		here := func(prefix string) bool { return strings.HasPrefix(strings.TrimSpace(addr), prefix) }
		if !slices.ContainsFunc([]string{"127.", "localhost:", "[::1]:", "unix:"}, here) {
			return false
		}
	}
	return true
}
