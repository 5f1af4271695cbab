package remote

import (
	"cmp"
	"context"
	"hash/maphash"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"google.golang.org/grpc/resolver"
)

const (
	unixPrefix = "unix:"
	// lookEvery is the minimum time between two lookups of a name, lookWithin the maximum time of
	// one.
	lookEvery  = time.Second
	lookWithin = 5 * time.Second
)

// addresses are the configured addresses of the servers of one store. A name may have several
// addresses.
type addresses struct {
	given []string
	// seed determines this client's order of the addresses, so that many clients are spread over
	// the servers.
	seed maphash.Seed
	// last receives the error of a lookup.
	last *lastError
	// found is the number of addresses in the last lookup.
	found *atomic.Int64
}

// several reports whether there is another server to switch to.
func (a addresses) several() bool { return a.found.Load() > 1 }

func parseAddresses(list string, last *lastError) (addresses, error) {
	a := addresses{seed: maphash.MakeSeed(), last: last, found: new(atomic.Int64)}
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			return a, perdure.FieldErrorf("addr", "the server's gRPC address is missing; give it as host:port, several separated by commas")
		}
		if !strings.HasPrefix(one, unixPrefix) {
			if _, _, err := net.SplitHostPort(one); err != nil {
				return a, perdure.FieldErrorf("addr", "%q cannot be dialled: it is not host:port", one)
			}
		}
		if !slices.Contains(a.given, one) {
			a.given = append(a.given, one)
		}
	}
	return a, nil
}

// private reports whether all traffic stays on this machine.
func (a addresses) private() bool { return !slices.ContainsFunc(a.given, public) }

func public(addr string) bool {
	if strings.HasPrefix(addr, unixPrefix) {
		return false
	}
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// hostOf returns the server name of addr for certificates.
func hostOf(addr string) string {
	if strings.HasPrefix(addr, unixPrefix) {
		return "localhost"
	}
	return addr
}

// look returns all addresses of the configured names. It returns the error of a name if there are
// no addresses at all.
func (a addresses) look(ctx context.Context) ([]resolver.Address, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	var all []resolver.Address
	var failed error
	for _, given := range a.given {
		found, err := lookup(ctx, given)
		if err != nil {
			failed = err
			continue
		}
		for _, addr := range found {
			all = append(all, resolver.Address{Addr: addr, ServerName: hostOf(given)})
		}
	}
	if len(all) == 0 {
		return nil, failed
	}
	rank := func(x resolver.Address) uint64 { return maphash.String(a.seed, x.Addr) }
	slices.SortFunc(all, func(x, y resolver.Address) int { return cmp.Compare(rank(x), rank(y)) })
	all = slices.CompactFunc(all, func(x, y resolver.Address) bool { return x.Addr == y.Addr })
	a.found.Store(int64(len(all)))
	return all, nil
}

func lookup(ctx context.Context, given string) ([]string, error) {
	host, port, err := net.SplitHostPort(given)
	if strings.HasPrefix(given, unixPrefix) || err == nil && (host == "" || net.ParseIP(host) != nil) {
		return []string{given}, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	for i := range found {
		found[i] = net.JoinHostPort(found[i], port)
	}
	return found, err
}

// scheme is the URL scheme of this resolver in the targets of connections.
const scheme = "perdure"

// Scheme implements resolver.Builder.
func (a addresses) Scheme() string { return scheme }

// OverrideAuthority implements resolver.AuthorityOverrider.
func (a addresses) OverrideAuthority(resolver.Target) string { return hostOf(a.given[0]) }

// Build implements resolver.Builder. The resolver looks up at once, and again after each lost
// connection.
func (a addresses) Build(_ resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &resolving{addresses: a, conn: conn, cancel: cancel, again: make(chan struct{}, 1), ended: make(chan struct{})}
	go r.run(ctx)
	return r, nil
}

// resolving resolves the addresses of one connection.
type resolving struct {
	addresses
	conn   resolver.ClientConn
	cancel context.CancelFunc
	again  chan struct{}
	ended  chan struct{}
}

func (r *resolving) run(ctx context.Context) {
	defer close(r.ended)
	for {
		all, err := r.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.last.set(err)
			r.conn.ReportError(err)
			r.ResolveNow(resolver.ResolveNowOptions{})
		default:
			// The connection's calls report its errors.
			_ = r.conn.UpdateState(resolver.State{Addresses: all})
		}
		pause := time.NewTimer(lookEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
		select {
		case <-r.again:
		case <-ctx.Done():
			return
		}
	}
}

// ResolveNow implements resolver.Resolver.
func (r *resolving) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// Close implements resolver.Resolver.
func (r *resolving) Close() {
	r.cancel()
	<-r.ended
}
