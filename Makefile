# Everything a new machine needs is Go 1.26, gcc and make; modules come from the Go module proxy.
GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
export CGO_ENABLED = 1

# Where real clients are that the tests run, out of the way of the repository.
CLIENTS ?= $(HOME)/.cache/agentd/clients
export AGENTD_CLIENTS = $(CLIENTS)

.PHONY: build demo test clients determinism check bench crash fuzz docs clean

build: ## the program, at bin/agentd, with what clients start in it
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o internal/install/agentd-hook ./cmd/agentd-hook
	$(GO) build -trimpath -tags hookprogram -o bin/agentd ./cmd/agentd

demo: build ## the main job: no key, no network
	bin/agentd demo

clients: ## the real clients that the tests run, if npm is there
	@command -v npm >/dev/null && { test -d $(CLIENTS)/node_modules/@google/gemini-cli -a -d $(CLIENTS)/node_modules/@openai/codex -a -d $(CLIENTS)/node_modules/@qwen-code/qwen-code -a -d $(CLIENTS)/node_modules/opencode-ai || { mkdir -p $(CLIENTS) && \
		npm install --prefix $(CLIENTS) --ignore-scripts --no-audit --no-fund --no-save @google/gemini-cli@0.61.0 @openai/codex@0.171.0 @qwen-code/qwen-code@0.24.4 opencode-ai@1.18.33; }; } || \
		echo "the tests with real clients are skipped: npm isn't there, or can't install them"

test: clients ## all tests, with the race detector
	$(GO) mod download
	$(GO) test -race -shuffle=on -timeout 15m ./...

determinism: ## the same hooks on other machines: without cgo, with 32 bits, in another time zone and language
	@mkdir -p bin && rm -f bin/usage.star bin/usage.lua
	AGENTD_USAGE=$(CURDIR)/bin/usage CGO_ENABLED=0 $(GO) test -count=1 -run EveryMachine ./interp ./interp/starlark ./interp/lua
	AGENTD_USAGE=$(CURDIR)/bin/usage CGO_ENABLED=0 GOARCH=386 $(GO) test -count=1 -run EveryMachine ./interp ./interp/starlark ./interp/lua
	AGENTD_USAGE=$(CURDIR)/bin/usage TZ=Asia/Tokyo LC_ALL=tr_TR.UTF-8 $(GO) test -count=1 -run EveryMachine ./interp ./interp/starlark ./interp/lua
	CGO_ENABLED=0 GOARCH=386 $(GO) test -run AttacksEndTheSame ./interp/lua
	TZ=Asia/Tokyo LC_ALL=tr_TR.UTF-8 $(GO) test -count=1 -run 'EveryHook|TheExamplesPass' .

check: ## what must hold of the text: format, vet, staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags crashpoints ./cmd/agentd
	$(GO) run $(STATICCHECK) ./...

bench: build ## figures as ratios in one run
	$(GO) run ./internal/figures -program bin/agentd

crash: ## kills the program wherever it can die, some thousand times; SHORT=1 a few dozen
	$(GO) run ./internal/crash

fuzz: ## each fuzz target for a minute
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime 60s $$p || exit 1; done; done

docs: ## what is generated in docs/
	$(GO) run ./internal/docs

clean:
	rm -rf bin internal/install/agentd-hook
