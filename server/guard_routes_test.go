package server_test

import "github.com/perdure/perdure"

// route describes an operation of the HTTP API for the access tests. The tests fail for an
// operation that is not in the table.
type route struct {
	// needs is the lowest role whose key may call the operation; "" means that the operation needs no
	// key.
	needs perdure.KeyRole
	// body and ctype are the request's body and content type. If body is "", the request has no
	// body. If ctype is "", the content type is JSON.
	body, ctype string
	query       string
	headers     []string // additional headers, in pairs
	// ids names the type of object whose id replaces {id} in the path; "" means an execution.
	ids string
}

const (
	asApprover = perdure.KeyApprover
	asClient   = perdure.KeyClient
	asAdmin    = perdure.KeyAdmin
	// asOperator means that the operation needs the token of the data directory. An API key is not
	// sufficient.
	asOperator = perdure.KeyRole("operator")
)

// routes are all operations, by method and path as in the OpenAPI document. The operations after
// the line of dashes are not in that document.
var routes = map[string]route{
	"POST /api/login":  {body: `{"key":"KEY"}`},
	"POST /api/logout": {},
	"GET /healthz":     {},
	"GET /readyz":      {},

	"GET /api/orgs":                {needs: asOperator},
	"POST /api/orgs":               {needs: asOperator, body: `{"id":"new"}`},
	"GET /api/orgs/{org}":          {needs: asOperator},
	"POST /api/orgs/{org}/disable": {needs: asOperator},
	"POST /api/orgs/{org}/enable":  {needs: asOperator},

	"GET /api/orgs/{org}/agent-definitions":         {needs: asClient},
	"POST /api/orgs/{org}/agent-definitions":        {needs: asClient, body: `{"name":"UNIQUE","models":[{"provider":"scripted","modelId":"m"}]}`},
	"GET /api/orgs/{org}/agent-definitions/{id}":    {needs: asClient, ids: "definition"},
	"PUT /api/orgs/{org}/agent-definitions/{id}":    {needs: asClient, ids: "definition", body: `{"name":"UNIQUE","models":[{"provider":"scripted","modelId":"m"}]}`},
	"DELETE /api/orgs/{org}/agent-definitions/{id}": {needs: asClient, ids: "definition"},

	"GET /api/orgs/{org}/agent-executions":                             {needs: asClient},
	"POST /api/orgs/{org}/agent-executions":                            {needs: asClient, body: `{"kind":"agent"}`},
	"POST /api/orgs/{org}/agent-executions/prune":                      {needs: asAdmin, body: `{"executions":"1d","dryRun":true}`},
	"GET /api/orgs/{org}/agent-executions/{id}":                        {needs: asClient},
	"DELETE /api/orgs/{org}/agent-executions/{id}":                     {needs: asClient, ids: "spare"},
	"GET /api/orgs/{org}/agent-executions/{id}/checkpoints":            {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/checkpoints/latest":     {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/checkpoints/{seq}":      {needs: asClient},
	"POST /api/orgs/{org}/agent-executions/{id}/interrupt":             {needs: asClient, body: `{"reason":"enough"}`},
	"POST /api/orgs/{org}/agent-executions/{id}/compact":               {needs: asClient, body: `{"instructions":"keep"}`},
	"PUT /api/orgs/{org}/agent-executions/{id}/content":                {needs: asClient, body: `"content"`},
	"GET /api/orgs/{org}/agent-executions/{id}/calls/{callId}":         {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/calls/{callId}/request": {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/content/{sha256}":       {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/context":                {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/entries":                {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/entries/{entryId}":      {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/events":                 {needs: asClient},
	"POST /api/orgs/{org}/agent-executions/{id}/promote":               {needs: asClient},
	"POST /api/orgs/{org}/agent-executions/{id}/signal":                {needs: asClient, body: `{"signalName":"s","signalValue":1}`},
	"GET /api/orgs/{org}/agent-executions/{id}/signals":                {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/snapshot":               {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/stream":                 {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/stream/consolidated":    {needs: asClient},
	"GET /api/orgs/{org}/agent-executions/{id}/tasks":                  {needs: asClient},
	"POST /api/orgs/{org}/agent-executions/actions":                    {needs: asClient, body: `{"action":"cancel","filter":{"kind":"none"}}`},
	"POST /api/orgs/{org}/agent-executions/actions/count":              {needs: asClient, body: `{"action":"cancel","filter":{"kind":"none"}}`},
	"GET /api/orgs/{org}/agent-executions/actions/{id}":                {needs: asClient, ids: "bulk action"},
	"GET /api/orgs/{org}/audit":                                        {needs: asAdmin},
	"GET /api/orgs/{org}/kinds":                                        {needs: asClient},
	"GET /api/orgs/{org}/providers":                                    {needs: asClient},
	"GET /api/orgs/{org}/tools":                                        {needs: asClient},
	"GET /api/orgs/{org}/keys":                                         {needs: asAdmin},
	"POST /api/orgs/{org}/keys":                                        {needs: asAdmin, body: `{"name":"k","role":"client"}`},
	"PATCH /api/orgs/{org}/keys/{id}":                                  {needs: asAdmin, ids: "key", body: `{"limits":{"maxRunning":5}}`},
	"DELETE /api/orgs/{org}/keys/{id}":                                 {needs: asAdmin, ids: "key"},
	"GET /api/orgs/{org}/questions":                                    {needs: asApprover},
	"GET /api/orgs/{org}/questions/stream":                             {needs: asApprover},
	"GET /api/orgs/{org}/questions/{id}":                               {needs: asApprover, ids: "question"},
	"GET /api/orgs/{org}/questions/{id}/details":                       {needs: asApprover, ids: "question"},
	"POST /api/orgs/{org}/questions/{id}/answer":                       {needs: asApprover, ids: "question", body: `{"verdict":"deny"}`},
	"GET /api/orgs/{org}/questions/{id}/links":                         {needs: asAdmin, ids: "linked question"},
	"POST /api/orgs/{org}/questions/{id}/links":                        {needs: asAdmin, ids: "linked question", body: `{"keyId":"VOTER"}`},
	"DELETE /api/orgs/{org}/questions/{id}/links":                      {needs: asAdmin, ids: "linked question"},
	"GET /api/orgs/{org}/approval-grants":                              {needs: asClient},
	"DELETE /api/orgs/{org}/approval-grants/{id}":                      {needs: asClient, ids: "grant"},
	"GET /api/orgs/{org}/sessions":                                     {needs: asClient},
	"DELETE /api/orgs/{org}/sessions/{id}":                             {needs: asClient, ids: "session"},
	"GET /api/orgs/{org}/retention":                                    {needs: asClient},
	"PUT /api/orgs/{org}/retention":                                    {needs: asAdmin, body: `{"logs":"30d"}`},

	"GET /api/orgs/{org}/workers":                                       {needs: asClient},
	"GET /api/orgs/{org}/queues":                                        {needs: asClient},
	"POST /api/orgs/{org}/queues/pause":                                 {needs: asAdmin, body: `{"queue":"later"}`},
	"POST /api/orgs/{org}/queues/resume":                                {needs: asAdmin, body: `{"queue":"later"}`},
	"GET /api/orgs/{org}/webhooks":                                      {needs: asAdmin},
	"POST /api/orgs/{org}/webhooks":                                     {needs: asAdmin, body: `{"url":"https://127.0.0.1:1/x"}`},
	"GET /api/orgs/{org}/webhooks/{id}":                                 {needs: asAdmin, ids: "webhook"},
	"PUT /api/orgs/{org}/webhooks/{id}":                                 {needs: asAdmin, ids: "webhook", body: `{"url":"https://127.0.0.1:1/x"}`},
	"DELETE /api/orgs/{org}/webhooks/{id}":                              {needs: asAdmin, ids: "spare webhook"},
	"POST /api/orgs/{org}/webhooks/{id}/rotate":                         {needs: asAdmin, ids: "webhook", body: `{}`},
	"POST /api/orgs/{org}/webhooks/{id}/test":                           {needs: asAdmin, ids: "webhook"},
	"GET /api/orgs/{org}/webhooks/{id}/deliveries":                      {needs: asAdmin, ids: "webhook"},
	"GET /api/orgs/{org}/webhooks/{id}/deliveries/{deliveryId}":         {needs: asAdmin, ids: "webhook"},
	"POST /api/orgs/{org}/webhooks/{id}/deliveries/{deliveryId}/resend": {needs: asAdmin, ids: "webhook"},

	// ---
	"GET /":             {},
	"GET /ai/":          {}, // the pages, without data
	"GET /docs":         {},
	"GET /openapi.json": {},
	"GET /q/{token}":    {}, // the token in the path permits access
	"POST /q/{token}":   {ctype: "application/x-www-form-urlencoded"},

	"GET /api/orgs/{org}/agent-executions/{id}/ws": {needs: asClient, headers: []string{
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==",
	}},
	"GET /v1/stream/executions/{id}":                       {needs: asClient, query: "offset=-1"},
	"GET /v1/stream/{path}":                                {needs: asClient, query: "offset=-1"},
	"HEAD /v1/stream/{path}":                               {needs: asClient},
	"PUT /v1/stream/{path}":                                {needs: asClient, ctype: "text/plain"},
	"POST /v1/stream/{path}":                               {needs: asClient, ctype: "text/plain", body: "more"},
	"DELETE /v1/stream/{path}":                             {needs: asClient},
	"POST /v1/responses":                                   {needs: asClient, body: `{"model":"scripted/m","input":"hi","background":true}`},
	"POST /v1/responses/compact":                           {needs: asClient, body: `{"model":"scripted/m"}`}, // a compaction would wait for the model
	"GET /v1/responses":                                    {needs: asClient},                                 // without an upgrade
	"GET /v1/responses/{response}":                         {needs: asClient},
	"DELETE /v1/responses/{response}":                      {needs: asClient},
	"POST /v1/responses/{response}/cancel":                 {needs: asClient},
	"GET /v1/responses/{response}/input_items":             {needs: asClient},
	"POST /v1/conversations":                               {needs: asClient, body: `{"items":[{"role":"user","content":"hi"}]}`},
	"GET /v1/conversations/{conversation}":                 {needs: asClient},
	"POST /v1/conversations/{conversation}":                {needs: asClient, body: `{"metadata":{"k":"v"}}`},
	"DELETE /v1/conversations/{conversation}":              {needs: asClient},
	"GET /v1/conversations/{conversation}/items":           {needs: asClient},
	"POST /v1/conversations/{conversation}/items":          {needs: asClient, body: `{"items":[{"role":"user","content":"hi"}]}`},
	"GET /v1/conversations/{conversation}/items/{item}":    {needs: asClient},
	"DELETE /v1/conversations/{conversation}/items/{item}": {needs: asClient},
	"GET /v1/models":                                       {needs: asClient},
	"GET /v1/models/{slug}":                                {needs: asClient},
}

// beside lists the patterns that the server registers and that are not keys of the map `routes`.
// Its values are the operations in `routes` that such a pattern serves.
var beside = map[string][]string{
	"GET /{$}":                                   {"GET /"},
	"/v1/stream/":                                {"GET /v1/stream/executions/{id}", "GET /v1/stream/{path}", "HEAD /v1/stream/{path}", "PUT /v1/stream/{path}", "POST /v1/stream/{path}", "DELETE /v1/stream/{path}"},
	"GET /v1/responses/{id}":                     {"GET /v1/responses/{response}"},
	"DELETE /v1/responses/{id}":                  {"DELETE /v1/responses/{response}"},
	"POST /v1/responses/{id}/cancel":             {"POST /v1/responses/{response}/cancel"},
	"GET /v1/responses/{id}/input_items":         {"GET /v1/responses/{response}/input_items"},
	"GET /v1/conversations/{id}":                 {"GET /v1/conversations/{conversation}"},
	"POST /v1/conversations/{id}":                {"POST /v1/conversations/{conversation}"},
	"DELETE /v1/conversations/{id}":              {"DELETE /v1/conversations/{conversation}"},
	"GET /v1/conversations/{id}/items":           {"GET /v1/conversations/{conversation}/items"},
	"POST /v1/conversations/{id}/items":          {"POST /v1/conversations/{conversation}/items"},
	"GET /v1/conversations/{id}/items/{item}":    {"GET /v1/conversations/{conversation}/items/{item}"},
	"DELETE /v1/conversations/{id}/items/{item}": {"DELETE /v1/conversations/{conversation}/items/{item}"},
	"GET /v1/models/{id...}":                     {"GET /v1/models/{slug}"},
}
