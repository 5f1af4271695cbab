# make help explains the targets.

GO ?= go
BIN := bin/perdure
TESTFLAGS ?= -race -timeout 30m $(SQLITEFLAGS)

# The race detector checks Perdure and its libraries, but not SQLite and its allocator. They are C
# code translated to Go with its own locks, and take three times as long if the detector checks
# each of their loads, stores and pointers.
UNCHECKED = -race=false -d=checkptr=0
SQLITEFLAGS = $(foreach package,sqlite/lib libc memory,'-gcflags=modernc.org/$(package)=$(UNCHECKED)')

# Everything but the race detector uses the flags of the released program (Dockerfile), so that each
# package is compiled once, and the released form is what is tested. The race detector needs cgo.
export CGO_ENABLED = 0
released = -trimpath -tags=grpcnotrace
export GOFLAGS := $(strip $(filter-out $(released),$(shell $(GO) env GOFLAGS)) $(released))

.PHONY: help
help: ## show this
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## build bin/perdure
	$(GO) build -o $(BIN) ./cmd/perdure

.PHONY: demo
demo: build ## a scripted agent repairs a program, is killed in the middle, and goes on
	$(GO) run ./examples/demo -perdure $(BIN)

.PHONY: deps
deps: ## install what the tests need and the machine lacks (Debian, Ubuntu)
	./scripts/deps.sh

.PHONY: check
check: ## format, vet and quick tests, on SQLite only; needs Go and git
	./scripts/check.sh

.PHONY: test
test: deps ## run all tests: unit, conformance, race detector, end to end
	$(GO) vet ./...
	./scripts/test.sh $(TESTFLAGS)
	$(MAKE) test-web

.PHONY: test-long
test-long: deps ## run whole what make test runs as a sample, for hours (docs/testing-perdure.md)
	./scripts/test-long.sh $(filter-out -timeout 30m,$(TESTFLAGS))

.PHONY: chaos
chaos: deps ## faults of every kind under 200 agents, for some twenty minutes (docs/testing-perdure.md)
	PERDURE_CHAOS=long PERDURE_CHAOS_REPORT=$(CURDIR)/bin/chaos $(GO) test ./e2e -run '^TestChaos' -count=1 -v -timeout 60m

.PHONY: test-web
test-web: deps build ## run the tests of web/, with the real server and a browser
	cd web && PERDURE_BIN=$(CURDIR)/$(BIN) npm test
	cd web && PERDURE_BIN=$(CURDIR)/$(BIN) npx playwright test

.PHONY: screenshots
screenshots: deps build ## renew docs/screenshots, in both themes, wide and on a phone
	cd web && PERDURE_BIN=$(CURDIR)/$(BIN) npm run screenshots

.PHONY: lint
lint: deps ## run the linters
	./scripts/lint.sh

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities; needs the database at vuln.go.dev
	./scripts/vulncheck.sh

.PHONY: pin
pin: ## pin the images of Dockerfile and compose.yaml to digests; needs a registry
	./scripts/pin.sh

.PHONY: generate
generate: deps ## generate the code of api/ from its .proto files, and web/'s types from the API
	./tools/buf/generate.sh
	./scripts/types.sh
