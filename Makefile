# Works with GNU make from 3.81 on (the one macOS has) and a POSIX shell. `make help` lists the targets.

GO ?= go
BIN := bin

# RACE=1 runs the tests with the race detector, which needs a C compiler; a machine with only Go and make has none.
RACE ?=
ifneq ($(RACE),)
RACE_FLAG := -race
TEST_CGO := 1
else
TEST_CGO := 0
endif

# TESTFLAGS is added to every go test: make unit TESTFLAGS='-run TestClaim -v'.
TESTFLAGS ?=

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

CONTROLPLANE_MODULE := $(addprefix test/controlplane/,go.mod go.sum build.sh)
CONTROLPLANE_SOURCES := $(filter-out %_test.go,$(wildcard test/controlplane/*.go test/controlplane/*/*.go))

# Packages that need a control plane, and are left out of the unit tests.
CLUSTER_PACKAGES := /test/(integration|e2e)(/|$$)

export GO

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z][a-z0-9-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/libretto, and bin/libretto-worker, which it runs scripts in
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN)/ ./cmd/...

.PHONY: controlplane
controlplane: $(BIN)/controlplane $(BIN)/kubectl ## Build bin/controlplane and bin/kubectl (minutes the first time)

$(BIN)/controlplane: $(CONTROLPLANE_MODULE) $(CONTROLPLANE_SOURCES)
	./test/controlplane/build.sh controlplane

# Not at the same time as the other: each of the two takes all cores and two gigabytes.
$(BIN)/kubectl: $(CONTROLPLANE_MODULE) | $(BIN)/controlplane
	./test/controlplane/build.sh kubectl

.PHONY: demo
demo: build controlplane ## Show what libretto does, on a control plane of its own
	$(GO) run ./test/demo

.PHONY: up
up: controlplane ## Run a control plane until interrupted, and print its KUBECONFIG
	@exec ./$(BIN)/controlplane

.PHONY: test
test: format unit integration ## Run all tests

.PHONY: unit
unit: ## Run the tests that need nothing but Go (RACE=1: with the race detector)
	packages=$$($(GO) list ./...) && \
	CGO_ENABLED=$(TEST_CGO) $(GO) test $(RACE_FLAG) $(TESTFLAGS) $$(echo "$$packages" | grep -Ev '$(CLUSTER_PACKAGES)')

.PHONY: integration
integration: build controlplane ## Run the tests that need a control plane
	./test/controlplane/build.sh go test -vet=off ./...
	LIBRETTO_BIN_DIR='$(CURDIR)/$(BIN)' CGO_ENABLED=$(TEST_CGO) $(GO) test $(RACE_FLAG) -count=1 -timeout 20m $(TESTFLAGS) ./test/integration/...

.PHONY: check
check: lint unit verify ## Run what has to pass before a change is proposed

.PHONY: format
format: ## Fail if a Go file is not formatted
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l $$(find . -name '*.go' -not -path './$(BIN)/*' -not -path './.cache/*')) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi

.PHONY: lint
lint: ## Run gofmt, go vet and staticcheck
	./tools/lint.sh

.PHONY: generate
generate: ## Make all generated files anew
	./tools/generate.sh

.PHONY: verify
verify: ## Fail if a generated file or go.mod is out of date
	./tools/verify.sh

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN)
