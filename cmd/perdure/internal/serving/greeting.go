package serving

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/server"
)

// printAddresses prints the addresses of the server and, for perdure dev, how to sign in.
func (s *serverCommand) printAddresses(own *server.Server, kind connection.OwnerKind) {
	say := func(what, value string) { _ = s.Stdout.Linef("  %-11s %s", what, value) }
	local := own.HTTPScheme() + "://" + own.HTTPAddress() + "/"
	open := local
	if s.publicURL != "" {
		open = strings.TrimSuffix(s.publicURL, "/") + "/"
	}
	if kind == connection.OwnerDev {
		fmt.Fprintln(s.Stdout, "perdure dev")
		s.printSignIn(own, open, say)
	} else {
		fmt.Fprintln(s.Stdout, "perdure server")
	}
	if kind != connection.OwnerDev || open != local {
		say("http", local)
	}
	say("workers", own.GRPCAddress()+" (gRPC)")
	if own.OpsAddress() != "" {
		say("ops", "http://"+own.OpsAddress()+"/metrics")
	}
	say("data", own.Data)
	if kind == connection.OwnerDev {
		say("workspace", s.worker.Workspace)
		say("bash", s.worker.Confinement(own.Data))
	}
}

// printSignIn prints how to sign in. It prints the token only to a terminal: a file or a pipe may
// be kept and read by others.
func (s *serverCommand) printSignIn(own *server.Server, open string, say func(what, value string)) {
	if terminal.IsTerminal(s.Stdout) {
		say("open", open+"?token="+url.QueryEscape(own.Token()))
		return
	}
	say("open", open)
	say("sign in", "with the token in "+server.TokenFile(own.Data))
}

// printUnfinished lists unfinished runs that commands have executed with their own workers, except
// runs that wait for a signal. The worker of this command does not continue these runs, because each
// run works in a directory of its own.
func (s *serverCommand) printUnfinished(ctx context.Context, own *server.Server) {
	c := client.Socket(own.Socket(), own.Token())
	defer c.Close()
	left := 0
	for x, err := range c.List(ctx, client.ExecutionFilter{Status: []perdure.Status{perdure.StatusPending, perdure.StatusWaiting}}) {
		if err != nil || left > 100 {
			break
		}
		if connection.IsPrivate(x) && x.WaitReason != "signal" {
			left++
			_ = s.Stdout.Linef("  left        perdure resume %s%s", x.ID, s.ServerFlags)
		}
	}
}
