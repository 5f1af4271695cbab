import { runConformanceTests } from '@durable-streams/server-conformance-tests'

// Where the server is comes from the test that starts it.
runConformanceTests({ baseUrl: process.env.PERDURE_URL!, subscriptions: true })
