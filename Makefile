.NOTPARALLEL:
.PHONY: help run build test check setup race lint litmus clients sdk fuzz bench chaos soak large clean
help: ## list the targets; CI runs test
	@sed -n 's/^\([a-z]*\):.*## /\1: /p' Makefile

run: build ## build and serve on http://127.0.0.1:8080/dav/
	bin/holdfast serve
build: ## compile bin/holdfast
	go build -o bin/holdfast ./server/holdfast

test: setup lint race litmus clients fuzz ## everything CI runs; says at its end what was skipped
	@.ci/skipped

check: lint ## quick: lint and the short tests
	go test -short ./...
setup: ## install what the outside suites need (as root on Debian)
	@.ci/skipped --clear
	.ci/setup

race: ## the module's own tests under the race detector
	.ci/gotest -race $$(go list ./... | grep -v '/litmus$$')
lint: ## gofmt, go vet, staticcheck
	.ci/lint

litmus: ## litmus 0.13 and 0.17 and the lock bomb against the real server
	.ci/gotest -race -count 1 -timeout 30m -skip '^TestClient' ./litmus
clients: ## rclone, davfs2, gvfs, cadaver, curl, npm's webdav and the SDK against the real server
	.ci/gotest -race -count 1 -timeout 30m -run '^TestClient' ./litmus
sdk: ## make server/web/sdk anew from what the program serves
	.ci/gotest -count 1 -run '^TestClientSDKFresh$$' ./litmus -update

fuzz: ## each fuzz target for FUZZTIME (30s)
	.ci/fuzz

bench: ## Holdfast side by side with golang.org/x/net/webdav; BENCHFLAGS=-quick for a short run
	go run ./litmus/bench $(BENCHFLAGS)

chaos: ## kill -9 under parallel writes, 100 rounds (CI: 10); HOLDFAST_CHAOS_SEED repeats a run
	HOLDFAST_CHAOS_ROUNDS=100 .ci/gotest -count 1 -timeout 2h -run '^TestKill$$' ./litmus
soak: ## the lock bomb at the size of litmus' own: 20 clients, 20,000 rounds each
	HOLDFAST_LOCKBOMB=20000 .ci/gotest -count 1 -timeout 3h -run '^TestLockbombR105B31$$' ./litmus
large: ## files of more than 5 GiB up and down, to a folder and to S3
	HOLDFAST_LARGE=5121 .ci/gotest -count 1 -timeout 2h -run '^TestLargeR57B74$$' ./litmus

clean: ## remove what was built; the cache of outside programs stays
	rm -rf bin
