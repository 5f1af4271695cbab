package store

// Reader reads a store. It combines one interface for each group of callers. Code that reads should
// take the smallest interface with the methods that it calls; only stores, and wrappers of readers,
// implement all of Reader.
//
// Every method with a parameter org returns not_found for data of another org. Reads are short
// transactions that see only committed data and never block a writer. They load the contents of
// blobs, unless a method says otherwise. A withheld content is returned as a reference.
type Reader interface {
	ExecutionReader
	ClaimReader
	BlobReader
	LogReader
	ResponseReader
	CatalogReader
	TenantReader
	QuestionReader
	WebhookReader
	WorkerReader
	BulkReader
	SweepReader
	StreamReader
	Counter
	// Lazy returns a reader of the same store whose methods leave contents in blobs as references.
	Lazy() Reader
}
