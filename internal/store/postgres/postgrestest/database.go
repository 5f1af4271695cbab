package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
)

// shared is the PostgreSQL cluster that all tests of this test binary use, and its databases.
var shared struct {
	sync.Mutex
	cluster  *cluster.Cluster
	template string
	admin    string   // URL of the database through which others are created
	made     []string // names of created databases
	free     []string // URLs of unused databases
}

// Main runs the tests of a package and stops the cluster, if one was started. It returns the exit
// code.
func Main(m *testing.M) int {
	code := m.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Stop stops the cluster of this test binary. If the tests use the server in PERDURE_TEST_POSTGRES
// instead, it drops the databases that were created there.
func Stop() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return drop(context.Background())
	}
	begun := shared.cluster
	shared.cluster, shared.template, shared.made, shared.free = nil, "", nil, nil
	return begun.Stop()
}

// drop drops the databases that were created on the server in PERDURE_TEST_POSTGRES.
func drop(ctx context.Context) error {
	if shared.template == "" {
		return nil
	}
	for _, name := range append(shared.made, shared.template) {
		if err := execute(ctx, shared.admin, "DROP DATABASE "+name); err != nil {
			return err
		}
	}
	shared.template, shared.made, shared.free = "", nil, nil
	return nil
}

// Database returns the URL of a database for this test, with the tables that its parameter
// `migrate` creates. `migrate` is called once for all databases of the test binary. After the test,
// the database may be emptied and used by another test. With the flag -short, which is for machines
// without PostgreSQL, Database skips the test.
func Database(t testing.TB, migrate func(ctx context.Context, url string) error) string {
	t.Helper()
	database := open(t, migrate, take)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		shared.Lock()
		defer shared.Unlock()
		if shared.template == "" {
			return // Stop was called before the end of the test
		}
		if err := empty(ctx, database); err != nil {
			t.Errorf("the test's database is not empty again: %v", err)
			return
		}
		shared.free = append(shared.free, database)
	})
	return database
}

// NewDatabase returns the URL of a new database, like [Database]. No other test uses that database,
// so the test may change its tables and statistics.
func NewDatabase(t testing.TB, migrate func(ctx context.Context, url string) error) string {
	t.Helper()
	return open(t, migrate, create)
}

// open creates the template database if it does not exist, and returns the result of `provide`.
func open(t testing.TB, migrate func(ctx context.Context, url string) error, provide func(ctx context.Context) (string, error)) string {
	t.Helper()
	longtest.Skip(t, "PostgreSQL")
	ctx := context.WithoutCancel(t.Context())
	shared.Lock()
	defer shared.Unlock()
	if err := begin(ctx, migrate); err != nil {
		t.Fatal(err)
	}
	database, err := provide(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// take returns the URL of a database that an earlier test has used and emptied, or of a new one if
// there is none. It prefers a used database, because emptying one is faster than creating one.
func take(ctx context.Context) (string, error) {
	if n := len(shared.free); n > 0 {
		last := shared.free[n-1]
		shared.free = shared.free[:n-1]
		return last, nil
	}
	return create(ctx)
}

func create(ctx context.Context) (string, error) {
	name := fmt.Sprintf("%s_%d", shared.template, len(shared.made)+1)
	if err := execute(ctx, shared.admin, "CREATE DATABASE "+name+" TEMPLATE "+shared.template); err != nil {
		return "", err
	}
	shared.made = append(shared.made, name)
	return other(shared.admin, name), nil
}

// empty deletes all rows of the database and changes its epoch.
func empty(ctx context.Context, database string) error {
	return execute(ctx, database, `DO $$ DECLARE name TEXT; BEGIN
		SET LOCAL session_replication_role = replica;
		SET LOCAL lock_timeout = '10s';
		FOR name IN SELECT table_name FROM information_schema.tables
			WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('goose_db_version', 'store')
		LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
		UPDATE store SET epoch = (random() * 1e15)::bigint;
	END $$`)
}

// begin starts the cluster and creates the template database from which the databases of the tests
// are copied.
func begin(ctx context.Context, migrate func(ctx context.Context, url string) error) error {
	if shared.template != "" {
		return nil
	}
	if shared.admin = os.Getenv("PERDURE_TEST_POSTGRES"); shared.admin == "" {
		begun, err := cluster.Start()
		if err != nil {
			return err
		}
		shared.cluster, shared.admin = begun, begun.URL("postgres")
	}
	template := "perdure_" + strings.ReplaceAll(uuid.NewString()[:13], "-", "")
	if err := execute(ctx, shared.admin, "CREATE DATABASE "+template+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return err
	}
	if err := migrate(ctx, other(shared.admin, template)); err != nil {
		return err
	}
	shared.template = template
	return nil
}

// other returns the URL of another database on the same server.
func other(admin, name string) string {
	u, err := url.Parse(admin)
	if err != nil {
		return admin // connecting to it reports the error
	}
	u.Path = "/" + name
	return u.String()
}

func execute(ctx context.Context, url, query string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // all results are read
	_, err = conn.Exec(ctx, query)
	return err
}
