package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/llmtest"
)

// secretsDeployment is a server and a worker that are given secrets of every kind. Its model servers repeat
// the secrets that they receive.
type secretsDeployment struct {
	canaries
	web            *http.Client
	url, rpc, ops  string
	key            string // key of the role admin
	root           string
	server, worker *process
	spans          *collector
	models         map[string]*llmtest.Server // servers of models, by the provider that calls them
	answers        bytes.Buffer               // all responses to requests of the test
}

// TestSecretsAreNowhere checks that no secret of the server or worker is in a log, response, metric or
// span, or in the stored data of either kind of store. This must also hold for failures: a model server
// repeats the key it received, a key is refused, or NATS is unavailable.
func TestSecretsAreNowhere(t *testing.T) {
	t.Run("file", func(t *testing.T) { secretsOf(t, "json", nil) })
	t.Run("postgres", func(t *testing.T) {
		begun := newCluster(t)
		secretsOf(t, "text", func(v *secretsDeployment) (flags []string, url string) {
			secured, err := begun.Secured("postgres", v.one("the database's password"))
			if err != nil {
				t.Fatal(err)
			}
			return []string{"--store", secured, "--nats", "nats://me:" + v.one("the password for NATS") + "@127.0.0.1:1"}, begun.URL("postgres")
		})
	})
}

func secretsOf(t *testing.T, format string, database func(*secretsDeployment) (flags []string, url string)) {
	v := &secretsDeployment{canaries: newCanaries(t), root: t.TempDir(), spans: newCollector(t)}
	var flags []string
	var url string
	if database != nil {
		flags, url = database(v)
	}
	v.serve(format, flags)
	v.employ(format)
	v.runs()
	v.strangers()
	v.everything()
	v.stop()
	if !bytes.Contains(v.answers.Bytes(), []byte("what is no secret")) || !strings.Contains(v.worker.output.String(), "an execution goes on here") {
		t.Error("not even what is to be there is found")
	}
	v.absent("an answer", v.answers.Bytes())
	v.absent("the log of the server", []byte(v.server.output.String()))
	v.absent("the log of the worker", []byte(v.worker.output.String()))
	_, raw := v.spans.all()
	v.absent("a span", raw)
	if len(raw) == 0 {
		t.Error("no span has come")
	}
	v.absentBelow(filepath.Join(v.root, "worker"))
	if url == "" {
		v.absentBelow(filepath.Join(v.root, "data"), "token")
	} else {
		v.absentInDatabase(url)
	}
	v.belong()
}

// serve starts the server with TLS and creates the keys.
func (v *secretsDeployment) serve(format string, flags []string) {
	v.Helper()
	cert, key, trust := v.certificate(v.root)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}
	v.Cleanup(transport.CloseIdleConnections)
	v.web = &http.Client{Transport: transport, Timeout: patience}
	web, rpc := freeAddress(v.T), freeAddress(v.T)
	v.url, v.rpc = "https://"+web, rpc
	argv := append([]string{
		program(v.T), "server", "--data", filepath.Join(v.root, "data"), "--addr", web, "--grpc-addr", rpc, "--ops-addr", "127.0.0.1:0",
		"--tls-cert", cert, "--tls-key", key, "--log-level", "debug", "--log-format", format,
	}, flags...)
	v.server = launch(v.T, command{name: "server", argv: argv, dir: v.root, env: append(environment(v.root), v.spans.environment("server")...)})
	v.ops = opsOf(v.server)
	v.server.says("  data")
	token, err := os.ReadFile(filepath.Join(v.root, "data", "token"))
	if err != nil {
		v.Fatal(err)
	}
	v.key = strings.TrimSpace(string(token))
	v.secrets["the token"] = v.key
	for _, role := range []string{"admin", "client", "worker"} {
		var made struct{ ID, Key string }
		// This is the only response that may contain the key's secret.
		if err := json.Unmarshal(v.request("POST", "/api/orgs/default/keys", `{"name":"one","role":"`+role+`"}`), &made); err != nil {
			v.Fatal(err)
		}
		v.secrets["the key of the "+role] = made.Key
		if role == "admin" {
			v.key = made.Key
		}
	}
	v.answers.Reset()
}

// employ starts the worker. Its model servers repeat the key of each call in all their output.
func (v *secretsDeployment) employ(format string) {
	v.Helper()
	env := append(environment(v.root), v.spans.environment("worker")...)
	v.models = map[string]*llmtest.Server{}
	says := func(provider string, wire llmtest.Wire, variable string, answers func(key string) []llmtest.Answer) {
		key := v.one("the key of " + provider)
		v.models[provider] = llmtest.NewServer(v.T, wire, answers(key)...)
		env = append(env, variable+"="+key)
	}
	body := func(key string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"no: ` + key + `"}}`
	}
	says("anthropic", llmtest.Anthropic, "ANTHROPIC_API_KEY", func(key string) []llmtest.Answer {
		echoes := "it was " + strings.Join(llmtest.Echoes(key), " or ")
		return []llmtest.Answer{
			{Calls: []llmtest.Call{
				{ID: "toolu_1", Name: "bash", Arguments: `{"command":"env; cat /proc/self/environ; cat /proc/$PPID/environ; set"}`},
				{ID: "toolu_2", Name: "bash", Arguments: `{"command":"echo ` + echoes + `"}`},
			}},
			{Thinking: echoes, Signature: "c2lnbmVk", Text: append(strings.Split(echoes, ""), " Done.")},
		}
	})
	says("openai", llmtest.OpenAI, "OPENAI_API_KEY", func(key string) []llmtest.Answer { return []llmtest.Answer{{Status: 400, Body: body(key)}} })
	says("gemini", llmtest.Gemini, "GEMINI_API_KEY", func(key string) []llmtest.Answer {
		return []llmtest.Answer{{Text: []string{"half"}, Event: `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no: ` + key + `"}}`}}
	})
	says("own", llmtest.OpenAI, "OWN_MODEL_SECRET", func(key string) []llmtest.Answer { return []llmtest.Answer{{Status: 401, Body: body(key)}} })
	env = append(
		env, "ANTHROPIC_BASE_URL="+v.models["anthropic"].URL, "OPENAI_BASE_URL="+v.models["openai"].URL+"/v1", "GOOGLE_GEMINI_BASE_URL="+v.models["gemini"].URL,
		"PERDURE_KEY="+v.secrets["the key of the worker"], "SOME_TOKEN="+v.one("a variable that no tool is to see"),
	)
	if err := os.Mkdir(filepath.Join(v.root, "workspace"), 0o700); err != nil {
		v.Fatal(err)
	}
	v.worker = launch(v.T, command{name: "worker", env: env, dir: v.root, argv: []string{
		program(v.T), "worker", "--server", v.rpc, "--tls-ca", filepath.Join(v.root, "cert.pem"), "--data", filepath.Join(v.root, "worker"),
		"--workspace", filepath.Join(v.root, "workspace"), "--ops-addr", "127.0.0.1:0", "--log-level", "debug", "--log-format", format,
		"--allow-endpoint", v.models["own"].URL + "/v1=OWN_MODEL_SECRET",
	}})
	v.worker.says("  bash")
}

// request sends a request with the admin's key, and records the answer.
func (v *secretsDeployment) request(method, path, body string, headers ...string) []byte {
	v.Helper()
	raw := v.as(v.key, method, path, body, headers...)
	return raw
}

func (v *secretsDeployment) as(key, method, path, body string, headers ...string) []byte {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), method, v.url+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := v.web.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	raw := readSome(res.Body)
	if err := res.Header.Write(&v.answers); err != nil {
		v.Fatal(err)
	}
	v.answers.Write(raw)
	return raw
}

// runs starts a run with each model server, and waits for the end of its turn.
func (v *secretsDeployment) runs() {
	v.Helper()
	for provider, model := range map[string]string{
		"anthropic": `{"provider":"anthropic","modelId":"m"}`, "openai": `{"provider":"openai","modelId":"m"}`, "gemini": `{"provider":"gemini","modelId":"m"}`,
		"own": `{"provider":"openai","modelId":"m","baseUrl":"` + v.models["own"].URL + `/v1","apiKeyEnv":"OWN_MODEL_SECRET"}`,
	} {
		v.request("POST", "/api/orgs/default/agent-definitions", `{"name":"`+provider+`","models":[`+model+`]}`)
		var x perdure.Execution
		if err := json.Unmarshal(v.request("POST", "/api/orgs/default/agent-executions", `{"userPrompt":"what is no secret","models":[`+model+`]}`), &x); err != nil {
			v.Fatal(err)
		}
		path := "/api/orgs/default/agent-executions/" + x.ID.String()
		eventually(v.T, provider+" has answered", func() bool {
			if err := json.Unmarshal(v.request("GET", path, ""), &x); err != nil {
				v.Fatal(err)
			}
			return x.Status == perdure.StatusWaiting && x.WaitReason == "signal"
		})
		said := string(v.request("GET", path+"/events?limit=1000", ""))
		if provider != "anthropic" && !strings.Contains(said, `"error"`) || provider == "anthropic" && !strings.Contains(said, "Done.") {
			v.Errorf("the run of %s came to %s", provider, said)
		}
		for _, part := range []string{"/entries?all=true", "/tasks", "/checkpoints", "/snapshot", "/events?limit=1000"} {
			v.request("GET", path+part, "")
		}
		v.request("DELETE", path, "") // ends its streams
		v.request("GET", path+"/stream/consolidated", "")
		v.request("GET", path+"/stream?render=html", "")
	}
}

// strangers sends requests with wrong secrets, and with correct secrets in wrong places.
func (v *secretsDeployment) strangers() {
	v.Helper()
	const list = "/api/orgs/default/agent-executions"
	wrong := v.one("a wrong key")
	for _, key := range []string{wrong, v.secrets["the key of the worker"], v.secrets["the key of the client"] + "x"} {
		v.as(key, "GET", list, "")
		v.as(key, "GET", "/api/orgs/other/agent-executions", "")
		v.as(key, "POST", "/api/orgs/default/keys", `{"name":"`)
		v.as(key, "POST", "/v1/responses", `{`)
		v.as(key, "GET", "/v1/stream/none", "")
	}
	client := v.secrets["the key of the client"]
	for _, query := range []string{"?token=", "?key=", "?api_key=", "?access_token=", "?after="} {
		v.as(wrong, "GET", list+query+client, "")
	}
	v.as(client, "GET", list+"?cursor="+wrong, "")
	v.as("", "GET", list, "", "Authorization", "Basic "+client)
	v.as("", "GET", list, "", "X-Api-Key", client)
	v.as("", "GET", list, "", "Cookie", "perdure="+client)
	v.as("", "POST", "/api/login", `{"key":"`+wrong+`"}`)
	v.as("", "POST", "/api/login", `{"key":"`+client+`x"}`)
	v.as(client, "POST", list, `{"userPrompt":"go","models":[{"provider":"openai","modelId":"m","apiKeyEnv":"`+wrong+`"}]}`)
	v.as(client, "POST", list, `{"userPrompt":"go","models":[{"provider":"openai","modelId":"m","baseUrl":"https://me:`+wrong+`@x/v1"}]}`)
}

// everything reads, over the API, all data that the other steps of the test have not read. It also
// reads the metrics and profiles.
func (v *secretsDeployment) everything() {
	v.Helper()
	for _, path := range []string{"/api/orgs/default/keys", "/api/orgs/default/audit", "/api/orgs/default/agent-definitions", "/api/orgs/default/agent-executions", "/openapi.json", "/readyz"} {
		v.request("GET", path, "")
	}
	for name, at := range map[string]string{"data": v.ops, "worker": opsOf(v.worker)} {
		for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
			v.absent(path+" of "+name, []byte(pageAt(v.T, at+path)))
		}
		// /debug/pprof/cmdline is not read, because it contains what the operator typed.
		stacks := pageAt(v.T, strings.Replace(at, "://", "://x:"+v.opsToken(name)+"@", 1)+"/debug/pprof/goroutine?debug=2")
		if !strings.Contains(stacks, "goroutine 1 [") {
			v.Errorf("the profile of %s is %.200s", name, stacks)
		}
		v.absent("the stacks of "+name, []byte(stacks))
	}
}

// opsToken reads the token for profiles from a data directory.
func (v *secretsDeployment) opsToken(data string) string {
	v.Helper()
	raw, err := os.ReadFile(filepath.Join(v.root, data, "ops-token"))
	if err != nil {
		v.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// stop stops the worker and then the server, so that they write all their logs and data.
func (v *secretsDeployment) stop() {
	for _, p := range []*process{v.worker, v.server} {
		p.terminate()
		p.exit()
	}
}

// belong checks that each model server received the key of its provider, and no other secret. A test whose
// keys were never sent would prove nothing.
func (v *secretsDeployment) belong() {
	v.Helper()
	for provider, server := range v.models {
		requests := server.Requests()
		if len(requests) == 0 {
			v.Errorf("%s was not called", provider)
		}
		for _, r := range requests {
			var sent bytes.Buffer
			if err := r.Header.Write(&sent); err != nil {
				v.Fatal(err)
			}
			for what, secret := range v.secrets {
				if belongs := what == "the key of "+provider; strings.Contains(sent.String(), secret) != belongs || bytes.Contains(r.Raw, []byte(secret)) {
					v.Errorf("%s was sent %s, or not, where it should be %v", provider, what, belongs)
				}
			}
		}
	}
}

// TestRefusalsHoldNoSecret checks that errors about wrong or unreachable values of a command do not
// contain the secrets in these values, at any log level.
func TestRefusalsHoldNoSecret(t *testing.T) {
	v := newCanaries(t)
	cert, key, _ := v.certificate(t.TempDir())
	_, other, _ := v.certificate(t.TempDir())
	begun := newCluster(t)
	secured, err := begun.Secured("postgres", v.one("the right password"))
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := v.secrets["the right password"], v.one("a wrong password")
	refused := strings.Replace(secured, right, wrong, 1)
	here := []string{"--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}
	secret := v.one("another secret")
	for _, c := range []struct {
		name string
		args []string
		env  string
		says string
	}{
		{"server with a wrong password", append([]string{"server", "--store", refused}, here...), "", "password"},
		{"migrate with a wrong password", []string{"migrate", "--store", refused}, "", "password"},
		{"check with a wrong password", []string{"store", "check", "--store", refused}, "", "password"},
		{"copy with a wrong password", []string{"store", "copy", "--to", refused}, "", ""},
		{"keys with a wrong password", []string{"keys", "list", "--store", refused}, "", "password"},
		{"no such database", []string{"migrate", "--store", strings.Replace(secured, "/postgres?", "/nonesuch?", 1)}, "", "nonesuch"},
		{"nobody there", []string{"migrate", "--store", "postgres://me:" + secret + "@127.0.0.1:1/x?connect_timeout=2"}, "", "cannot be reached"},
		{"a port that is none", []string{"migrate", "--store", "postgres://me:" + secret + "@127.0.0.1:port/x"}, "", ""},
		{"a password that is cut off", []string{"migrate", "--store", "postgres://me:" + secret + "%zz@127.0.0.1/x"}, "", ""},
		{"a password with a slash", []string{"migrate", "--store", "postgres://me:" + secret + "/x@127.0.0.1/x"}, "", ""},
		{"an option that is none", []string{"migrate", "--store", "postgres://me:" + secret + "@127.0.0.1/x?sslmode=sometimes"}, "", ""},
		{"another database", []string{"server", "--store", "mysql://root:" + secret + "@db/x"}, "", "postgres://"},
		{"another NATS", []string{"server", "--store", secured, "--nats", "http://me:" + secret + "@127.0.0.1"}, "", "nats://"},
		{"a NATS that is cut off", []string{"server", "--store", secured, "--nats", "nats://me:" + secret + "%zz@127.0.0.1"}, "", ""},
		{"an endpoint with a password", []string{"run", "--allow-endpoint", "https://me:" + secret + "@models.example/v1=K", "--model", "openai/m", "hi"}, "OPENAI_API_KEY=x", "baseUrl"},
		{"an endpoint that is none", []string{"run", "--model", "openai/m", "hi"}, "OPENAI_BASE_URL=ftp://me:" + secret + "@x", "baseUrl"},
		{"a server with a password", []string{"runs", "--server", "http://me:" + secret + "@127.0.0.1:1"}, "", "127.0.0.1:1"},
		{"a server that is none", []string{"runs", "--server", "ftp://me:" + secret + "@127.0.0.1:1"}, "", "no address"},
		{"a server that is cut off", []string{"runs", "--server", "http://me:" + secret + "%zz@127.0.0.1:1"}, "", "no address"},
		{"a key for nobody", []string{"runs", "--server", "http://127.0.0.1:1", "--key", secret}, "", "127.0.0.1:1"},
		{"a key with a line in it", []string{"runs", "--server", "http://127.0.0.1:1", "--key", "x\n" + secret}, "", ""},
		{"a worker's server with a password", []string{"worker", "--server", "https://me:" + secret + "@127.0.0.1:1"}, "", "gRPC"},
		{"a worker's key with a line in it", []string{"worker", "--server", "127.0.0.1:1", "--key", "x\n" + secret}, "", ""},
		{"another certificate's key", append([]string{"server", "--tls-cert", cert, "--tls-key", other}, here...), "", ""},
		{"the key in the certificate's place", append([]string{"server", "--tls-cert", key, "--tls-key", cert}, here...), "", ""},
		{"a proxy with a password", []string{"runs", "--server", "http://models.example"}, "HTTP_PROXY=http://me:" + secret + "@127.0.0.1:1", ""},
		{"a proxy that is cut off", []string{"runs", "--server", "http://models.example"}, "HTTP_PROXY=http://me:" + secret + "%zz@127.0.0.1:1", ""},
		{"a server to be ready", []string{"ready", "http://me:" + secret + "@127.0.0.1:1"}, "", ""},
		{"a server to be ready that is none", []string{"ready", "me:" + secret + "@127.0.0.1:1"}, "", "no address"},
		{"a collector with a password", []string{"runs"}, "OTEL_EXPORTER_OTLP_ENDPOINT=http://me:" + secret + "@127.0.0.1:1", ""},
		{"a collector over gRPC", []string{"runs"}, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc OTEL_EXPORTER_OTLP_ENDPOINT=http://me:" + secret + "@127.0.0.1:1", ""},
		{"a collector that is cut off", []string{"runs"}, "OTEL_EXPORTER_OTLP_ENDPOINT=http://me:" + secret + "%zz@127.0.0.1:1", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"a collector that is none", []string{"runs"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + secret, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{"a collector's header", []string{"runs"}, "OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_HEADERS=" + secret, "OTEL_EXPORTER_OTLP_HEADERS"},
		{"a collector's header that is cut off", []string{"runs"}, "OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=" + secret + "%zz", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			console := newConsole(t)
			console.env = append(console.env, strings.Fields(c.env)...)
			p := console.perdure(append(c.args, "--log-level", "debug")...)
			wait, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			select {
			case <-p.ended:
			case <-wait.Done(): // the command repeats its attempts until then
				p.kill()
			}
			said := p.output.String()
			canaries{t, v.secrets}.absent("what is said", []byte(said))
			if !strings.Contains(said, c.says) {
				t.Errorf("%q does not say %q", said, c.says)
			}
			if c.says != "" && p.cmd.ProcessState.Success() {
				t.Errorf("it ends well: %s", said)
			}
		})
	}
}
