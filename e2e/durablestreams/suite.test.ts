import { runConformanceTests } from '@durable-streams/server-conformance-tests'

// The Go test that starts the server sets its URL.
runConformanceTests({ baseUrl: process.env.PERDURE_URL!, subscriptions: true })
