package store

// Reader reads a store. It consists of one interface for each group of users. Code that reads takes
// the smallest interface with the methods that it calls; only stores, and readers that wrap others,
// implement all of Reader.
//
// Every method that takes an org returns not_found for what belongs to another org. Reads are short
// transactions that see only committed data and never block a writer. Contents are loaded, blobs
// included, unless a method says otherwise. For a withheld content its reference is returned.
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
	// Lazy returns a reader on the same store whose methods always leave contents in blobs as
	// references.
	Lazy() Reader
}
