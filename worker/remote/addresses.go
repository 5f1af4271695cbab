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
	// lookEvery is the minimum time between two lookups of the server's addresses, and lookWithin is the
	// maximum duration of one.
	lookEvery  = time.Second
	lookWithin = 5 * time.Second
)

// addresses are the configured addresses of servers that share one store. The type is also the gRPC
// resolver, because one host name may have several IP addresses.
type addresses struct {
	given []string
	// seed determines the order in which this client tries the addresses. It is random, so that the clients
	// are spread over the servers.
	seed maphash.Seed
	// last stores the error of the newest lookup that failed. Dial reports this error.
	last *lastError
	// found is the number of addresses that the last lookup found.
	found *atomic.Int64
}

// several reports whether the last lookup found more than one address, so that the client can switch to
// another server.
func (a addresses) several() bool { return a.found.Load() > 1 }

// parseAddresses parses a list of addresses, separated by commas. Errors: invalid_argument.
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

// private reports whether all configured addresses are on this machine.
func (a addresses) private() bool { return !slices.ContainsFunc(a.given, public) }

func public(addr string) bool {
	if strings.HasPrefix(addr, unixPrefix) {
		return false
	}
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// hostOf returns the server name that the certificate of the server at addr must have.
func hostOf(addr string) string {
	if strings.HasPrefix(addr, unixPrefix) {
		return "localhost"
	}
	return addr
}

// lookup looks up all configured addresses, and returns the IP addresses in the order in which this client
// tries them. It returns an error only if it finds none.
func (a addresses) lookup(ctx context.Context) ([]resolver.Address, error) {
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

// scheme is the URL scheme by which gRPC finds this resolver.
const scheme = "perdure"

// Scheme implements resolver.Builder.
func (a addresses) Scheme() string { return scheme }

// OverrideAuthority implements resolver.AuthorityOverrider.
func (a addresses) OverrideAuthority(resolver.Target) string { return hostOf(a.given[0]) }

// Build implements resolver.Builder. The resolver looks up the addresses at once, and again after each lost
// connection.
func (a addresses) Build(_ resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &addressResolver{addresses: a, conn: conn, cancel: cancel, again: make(chan struct{}, 1), ended: make(chan struct{})}
	go r.run(ctx)
	return r, nil
}

// addressResolver is the gRPC resolver of one connection.
type addressResolver struct {
	addresses
	conn   resolver.ClientConn
	cancel context.CancelFunc
	again  chan struct{}
	ended  chan struct{}
}

func (r *addressResolver) run(ctx context.Context) {
	defer close(r.ended)
	for {
		all, err := r.lookup(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.last.set(err)
			r.conn.ReportError(err)
			r.ResolveNow(resolver.ResolveNowOptions{})
		default:
			// The error of UpdateState is ignored, because the calls of the connection report it.
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
func (r *addressResolver) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// Close implements resolver.Resolver.
func (r *addressResolver) Close() {
	r.cancel()
	<-r.ended
}
