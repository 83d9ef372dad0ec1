# Works with GNU make from 3.81 on (the one macOS has) and a POSIX shell. `make help` lists the targets.

GO ?= go
BIN := bin

# RACE=1 runs the tests with the race detector, which needs a C compiler; a machine with only Go and make has none.
RACE ?=
RACE_FLAG := $(if $(RACE),-race)

# Everything is compiled with these settings and no other flags, so that nothing is compiled twice: programs, tests, checks, generators, and
# what the control plane has in common with them. Only archives and images differ, by -trimpath.
export CGO_ENABLED := $(if $(RACE),1,0)

# TESTFLAGS is added to every go test: make unit TESTFLAGS='-run TestClaim -v'.
TESTFLAGS ?=

# Runs go test, and says at the end how many tests ran, for how long, and which were skipped or failed, and why. make lint vets.
TEST = $(BIN)/tools/gotestsum --format standard-quiet --raw-command -- $(GO) test -json -vet=off $(RACE_FLAG)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

CONTROLPLANE_MODULE := $(addprefix test/controlplane/,go.mod go.sum build.sh)
CONTROLPLANE_SOURCES := $(filter-out %_test.go,$(wildcard test/controlplane/*.go test/controlplane/*/*.go))

# Packages that need a control plane. The unit tests leave them out. They wait, too, so that one more runs than there are processors, and those that
# take longest begin first.
CLUSTER_PACKAGES := /test/integration/
SLOWEST_FIRST := $(addprefix ./test/integration/,rights scripts kinds rollout webhooks latency hosting rolling edits ...)
CLUSTER_PARALLEL = $$((1 + $$(getconf _NPROCESSORS_ONLN)))

export GO

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z][a-z0-9-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# What a target like demo builds first, as steps of so many: $(call step,1) is "[1/4] ". Other targets have no such steps.
step = $(if $(STEPS),[$(1)/$(STEPS)] )

.PHONY: build
build: ## Build bin/libretto, bin/libretto-worker, which runs scripts, and links for kubectl libretto
	CGO_ENABLED=0 ./tools/progress.sh '$(call step,1)bin/libretto' ./cmd/... \
		$(GO) build -v -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN)/ ./cmd/...
	ln -sf libretto $(BIN)/kubectl-libretto
	ln -sf libretto $(BIN)/kubectl_complete-libretto

# PLATFORMS are those of the archives; the image has those of Linux: make image PLATFORMS=linux/amd64
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

# IMAGE is where the image is sent to, with the credentials of docker login: make image IMAGE=registry.example/libretto:dev
IMAGE ?=

$(BIN)/tools/release: tools/go.mod $(wildcard tools/release/*.go)
	$(GO) -C tools build -o ../$@ ./release

.PHONY: image
image: $(BIN)/tools/release ## Build the image of the host: bin/image, an OCI layout (IMAGE=registry.example/libretto:dev: and push it)
	$< image '$(VERSION)' $(filter linux/%,$(PLATFORMS))
	$(if $(IMAGE),$< push $(BIN)/image '$(IMAGE)')

.PHONY: release
release: $(BIN)/tools/release ## Build what is released: bin/dist with archives, SBOMs, chart and checksums, and the image (VERSION=v1.2.3)
	$< all '$(VERSION)' $(PLATFORMS)

.PHONY: controlplane
controlplane: $(BIN)/controlplane $(BIN)/kubectl ## Build bin/controlplane and bin/kubectl (minutes the first time)

$(BIN)/controlplane: $(CONTROLPLANE_MODULE) $(CONTROLPLANE_SOURCES)
	STEP='$(call step,2)' ./test/controlplane/build.sh controlplane

# The order-only prerequisite keeps make -j from building both at once: each takes all cores and two gigabytes.
$(BIN)/kubectl: $(CONTROLPLANE_MODULE) | $(BIN)/controlplane
	STEP='$(call step,3)' ./test/controlplane/build.sh kubectl

.PHONY: demo picture
demo picture: STEPS := 4
demo: build controlplane ## Run the demo on a control plane of its own
	@$(BUILD_DEMO)
	@./$(BIN)/demo

picture: build controlplane ## Write docs/edit.svg, an edit in the README, and docs/dashboard.svg, from a run of the demo
	@$(BUILD_DEMO)
	@KUBECONFIG= ./$(BIN)/demo -picture docs/edit.svg -metrics '$(DEMO_METRICS)'
	@DEMO_METRICS='$(DEMO_METRICS)' $(GO) -C test/monitoring test -run TestPanelsAfterDemo . -update

BUILD_DEMO = CGO_ENABLED=0 ./tools/progress.sh '$(call step,4)bin/demo' ./test/demo $(GO) build -v -o $(BIN)/demo ./test/demo

.PHONY: vitess
vitess: build controlplane ## Bring examples/vitess up on a control plane of its own, roll an image and delete it (VITESSFLAGS='-clusters 10': measure many)
	$(GO) run ./examples/vitess/demo $(VITESSFLAGS)

.PHONY: scale
scale: build controlplane ## Measure the whole host beside direct writes: 1000 parents x 10 children (SCALEFLAGS='-parents 10000 -runs 3 -o scale.json')
	$(GO) run ./test/scale $(SCALEFLAGS)

.PHONY: up
up: controlplane ## Run a control plane until interrupted, and print its KUBECONFIG
	@exec ./$(BIN)/controlplane

.PHONY: test
test: format unit integration ## Run all tests

$(BIN)/tools/gotestsum: tools/go.mod
	$(GO) -C tools build -o ../$@ gotest.tools/gotestsum

# How much the heap of tests, the compiler and the linker grows between two collections. These took a sixth of the processor time.
UNIT_GOGC = 400

.PHONY: unit
unit: $(BIN)/tools/gotestsum ## Run the tests that need nothing but Go (RACE=1: with the race detector)
	$(GO) -C tools test $(RACE_FLAG) $(TESTFLAGS) ./...
	packages=$$($(GO) list ./...) && \
	GOGC=$(UNIT_GOGC) $(TEST) $(TESTFLAGS) $$(echo "$$packages" | grep -v '$(CLUSTER_PACKAGES)')

# Without the discovery of cloud machines, of which the tests of alerts need nothing.
PROMTOOL_TAGS := remove_all_sd,minimal

$(BIN)/tools/promtool: test/monitoring/go.mod
	$(GO) -C test/monitoring build -tags $(PROMTOOL_TAGS) -o ../../$@ github.com/prometheus/prometheus/cmd/promtool

# What the host of the demo exposed, which make integration and make picture leave. Each panel of the dashboard must have data from it.
DEMO_METRICS := $(CURDIR)/$(BIN)/demo-metrics.json

.PHONY: monitoring
monitoring: $(BIN)/tools/promtool ## Test the alerts, their runbooks and the dashboard with Prometheus' own code (minutes the first time)
	if [ -f '$(DEMO_METRICS)' ]; then export DEMO_METRICS='$(DEMO_METRICS)'; fi; $(GO) -C test/monitoring test $(TESTFLAGS) ./...

.PHONY: quick
quick: ## Compile what depends on the files that have changed since the last run that passed, vet and test what is near
	./tools/quick.sh

.PHONY: integration
integration: build controlplane $(BIN)/tools/gotestsum $(BIN)/tools/release ## Run the tests that need a control plane
	rm -f '$(DEMO_METRICS)'
	./test/controlplane/build.sh go test -vet=off ./...
	LIBRETTO_BIN_DIR='$(CURDIR)/$(BIN)' $(GO) -C test/chart test -vet=off -count=1 -timeout 10m $(TESTFLAGS) .
	LIBRETTO_BIN_DIR='$(CURDIR)/$(BIN)' DEMO_METRICS='$(DEMO_METRICS)' $(TEST) -count=1 -timeout 20m -p $(CLUSTER_PARALLEL) $(TESTFLAGS) $(SLOWEST_FIRST)

# K8S is a minor version that test/controlplane/build.sh knows. Everything of it is in a folder of its own.
.PHONY: compat
compat: ## Run the integration tests on another version of Kubernetes (K8S=1.34, from 1.33 to 1.36; builds its control plane the first time)
	@[ -n '$(K8S)' ] || { echo 'say which version of Kubernetes: make compat K8S=1.34'; exit 2; }
	$(MAKE) integration BIN='$(BIN)/compat/$(K8S)' K8S='$(K8S)'

.PHONY: upgrade
upgrade: build controlplane ## Test the upgrade from older commits, and the way back (OLDER='HEAD~20 v0.1.0')
	./tools/upgrade.sh $(OLDER)

# FUZZTIME is how long each target runs: make fuzz FUZZTIME=10m.
FUZZTIME ?= 1m

.PHONY: fuzz
fuzz: ## Run each fuzz target for a minute (FUZZTIME=10m: for longer)
	FUZZTIME='$(FUZZTIME)' TESTFLAGS='$(TESTFLAGS)' ./tools/fuzz.sh

# SEED and FAULTS say which faults make chaos runs, KIND has a part of the name of the only kind, and ONLY the numbers of some of them.
SEED ?= 1
FAULTS ?= 200
KIND ?=
ONLY ?=

.PHONY: chaos
chaos: build controlplane ## Run edits of scripts on a real API server while things go wrong (SEED=7 FAULTS=200)
	LIBRETTO_BIN_DIR='$(CURDIR)/$(BIN)' LIBRETTO_SEED='$(SEED)' LIBRETTO_FAULTS='$(FAULTS)' LIBRETTO_KIND='$(KIND)' \
		LIBRETTO_ONLY='$(ONLY)' $(GO) test -vet=off -count=1 -timeout 6h -v $(TESTFLAGS) ./test/integration/chaos

# SOAK is how long make soak runs.
SOAK ?= 20m

.PHONY: soak
soak: build controlplane ## Run hosts that share the work under edits while replicas are replaced, and look at memory and goroutines (SOAK=20m)
	LIBRETTO_BIN_DIR='$(CURDIR)/$(BIN)' LIBRETTO_SOAK='$(SOAK)' \
		$(GO) test -vet=off -count=1 -timeout 6h -v $(TESTFLAGS) -run '^TestSoak$$' ./test/integration/shards

.PHONY: check
check: lint verify unit ## Run what must pass before you propose a change

.PHONY: ci
ci: check integration monitoring ## Run what continuous integration runs: check, integration and monitoring

.PHONY: format
format: ## Fail if a Go file is not formatted
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l $$(find . -name '*.go' -not -path './$(BIN)/*' -not -path './.cache/*')) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi

.PHONY: lint
lint: format ## Run gofmt and golangci-lint
	./tools/lint.sh

.PHONY: generate
generate: ## Write all generated files
	./tools/generate.sh

.PHONY: verify
verify: ## Fail if a generated file is out of date
	./tools/verify.sh

# BASE is the path below which the site is served: make site BASE=/libretto/
BASE ?= /

NEEDS_NPM = @command -v npm >/dev/null || { echo 'make site needs Node.js 20 or later with npm, which is not there: https://nodejs.org/'; exit 2; }

site/node_modules: site/package.json site/package-lock.json
	$(NEEDS_NPM)
	npm --prefix site ci --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: site
site: build site/node_modules ## Write bin/site, the documentation and the playground as static pages, and check their links (needs Node.js; BASE=/libretto/)
	$(NEEDS_NPM)
	GOOS=js GOARCH=wasm $(GO) build -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN)/libretto.wasm ./cmd/libretto/playground
	BASE='$(BASE)' npm --prefix site run --silent build

.PHONY: vitess-flags
vitess-flags: build ## Try the flags and the topology of examples/vitess with the programs of Vitess (builds them, which takes minutes)
	$(GO) run ./examples/vitess/flags -bin $(BIN) examples/vitess examples/vitess/cluster.yaml

.PHONY: clean
clean: ## Remove bin/
	rm -rf $(BIN)
