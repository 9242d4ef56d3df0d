# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` need nothing but git, make and root or sudo.

VERSION := 0.1.0
BUILD   ?= build
VARIANT ?= $(BUILD)/release
CC      ?= cc
PYTHON  ?= /usr/bin/python3
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wformat=2 -Wvla -Wundef
# .ci/run makes errors of them; what a sanitizer adds misleads the compiler.
WERROR ?=
# Branch protection, by the processor for which $(CC) compiles.
BRANCHES_x86_64  := -fcf-protection
BRANCHES_aarch64 := -mbranch-protection=standard
HARD := -fPIE -fstack-protector-strong -fstack-clash-protection \
	$(BRANCHES_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine))))
# glibc takes 3 for 2 where the compiler cannot do it.
OPT  ?= -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
CK_FORK ?= yes
CFLAGS ?= -g
override CFLAGS += -std=c11 -D_GNU_SOURCE -Iinclude -Isrc $(WARN) $(if $(SANITIZE),,$(WERROR)) $(HARD) $(OPT) \
	-DHOLDER_VERSION='"$(VERSION)"' -pthread -MMD -MP
LDFLAGS ?= -pie -Wl,-z,relro,-z,now,--as-needed
ifdef SANITIZE
OPT := -O1
# What a sanitizer finds ends the program, or its test would pass.
override CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
override LDFLAGS += -fsanitize=$(SANITIZE)
endif

MAKEFLAGS += --no-print-directory
export PYTHONDONTWRITEBYTECODE := 1
# Seconds: Check's own 4 are few for a busy machine.
export CK_DEFAULT_TIMEOUT := 60

# One foreign library, one file: each is linked by the layer that uses it.
pkg = $(shell pkg-config --libs $(1) 2>/dev/null)

# Each room of src is an archive; in the order in which they are linked.
rooms_core := core/doctor core/controller core/protocol core/table core/rules core/base
rooms_wire := wire/doctor wire/metrics wire/status wire/admission wire/kubeconfig wire/api wire/config \
	wire/karpenter wire/yaml wire/json wire
rooms_edge := edge/server edge/certs edge/kube edge
rooms_daemon := cli/daemon cli daemon
rooms_tools := cli/tools cli tools/hold tools/doctor tools/simulate \
	tools/prometheus tools/recorder tools/uninstall tools edge/exec
ROOMS := $(sort $(rooms_daemon) $(rooms_tools) $(rooms_edge) $(rooms_wire) $(rooms_core))
archives = $(foreach r,$(1),$(VARIANT)/lib$(subst /,_,$(r)).a)
libs_core = $(call archives,$(rooms_core))
libs_wire = $(call archives,$(rooms_wire)) $(libs_core)
libs_edge = $(call archives,$(rooms_edge)) $(libs_wire)
libs_daemon = $(call archives,$(rooms_daemon)) $(libs_edge)
libs_tools  = $(call archives,$(rooms_tools)) $(libs_edge)
ext_wire  = $(call pkg,libcjson yaml-0.1)
ext_edge  = $(call pkg,libcurl libmicrohttpd gnutls libcrypto) $(ext_wire)
ext_tools = $(ext_edge) $(call pkg,zlib)

BIN := $(BUILD)/karpenter-node-holder
TOOLS := $(BUILD)/holderctl
DEBS := gcc make pkg-config libmicrohttpd-dev libcurl4-openssl-dev libcjson-dev \
	libyaml-dev libssl-dev libgnutls28-dev zlib1g-dev check ca-certificates git \
	openssl python3 python3-pytest python3-yaml python3-venv python3-pytest-xdist \
	python3-jsonpatch python3-cryptography valgrind shellcheck clang-format-14 \
	busybox mandoc

.PHONY: all help check unit below computing fuzz fuzz-targets fuzz-corpus \
	fuzz-coverage edge daemon programs programs-edge sim sim-quick \
	explore explore-quick mutants e2e e2e-long pictures configuration test demo demo-quick \
	page-test axe whatif whatif-test site site-test bench study study-pictures lab lab-program lab-test lab-fidelity instructions san tsan lint deps certs image install \
	install-plugin krew karpenter-logs matrix said release kind-load programs-below \
	clean format compile_commands man
.SECONDARY:

Q = $(if $(V),,@echo "  $@" && )

all: $(BIN) $(TOOLS)  ## build $(BIN) and $(TOOLS)

# What make help prints, in this order; what stands in none comes last.
TOPICS = First_steps=help,demo,demo-quick,check,test \
	Build_and_install=all,programs,deps,install,install-plugin,man,krew,image,site,whatif,release,kind-load,certs,clean \
	Single_suites=lint,unit,edge,daemon,san,tsan,e2e,e2e-long,lab-test,page-test,whatif-test,site-test,matrix \
	Simulator=sim-quick,sim,explore,explore-quick,mutants,pictures \
	Fuzzing=fuzz,fuzz-corpus,fuzz-coverage \
	Measurements=bench,instructions,lab,lab-fidelity,study,study-pictures,karpenter-logs \
	Editing=format,configuration,compile_commands

help:  ## list the targets
	@sed -nE 's/^([a-z_0-9-]+):.*  ## (.*)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
		sed 's,$$(BIN),$(BIN),; s,$$(TOOLS),$(TOOLS),; s,$$(PREFIX),$(PREFIX),; s,$$(BUILD),$(BUILD),' | \
		awk -F '\t' -v topics='$(TOPICS) More=' ' \
			{ what[$$1] = $$2; order[++n] = $$1 } \
			END { \
				m = split(topics, topic, " "); \
				for (i = 1; i <= m; i++) { \
					split(topic[i], part, "="); \
					k = split(part[2], name, ","); \
					if (i == m) \
						for (j = 1; j <= n; j++) \
							if (!(order[j] in told)) name[++k] = order[j]; \
					if (k == 0) continue; \
					gsub("_", " ", part[1]); \
					printf "%s%s:\n", (i > 1 ? "\n" : ""), part[1]; \
					for (j = 1; j <= k; j++) { \
						printf "  %-16s %s\n", name[j], what[name[j]]; \
						told[name[j]] = 1; \
					} \
				} \
			}'

$(BIN) $(TOOLS): $(BUILD)/%: $(VARIANT)/%
	@cp $< $@.tmp && mv $@.tmp $@

$(VARIANT)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(if $(filter core/%,$*),-Wconversion) -c -o $@ $<

define room
$(call archives,$(1)): $$(patsubst src/%.c,$(VARIANT)/%.o,\
		$$(filter-out %/main.c,$$(wildcard src/$(1)/*.c)))
	@rm -f $$@
	@$(AR) rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room,$(r))))

# link FLAGS LIBRARIES
define link
@mkdir -p $(@D)
$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(1) -o $@ $(filter %.c %.o %.a,$^) $(2)
endef

$(VARIANT)/karpenter-node-holder: $(VARIANT)/cli/daemon/main.o $(libs_daemon)
	$(call link,,$(ext_edge))
$(VARIANT)/holderctl: $(VARIANT)/cli/tools/main.o $(libs_tools)
	$(call link,,$(ext_tools))

# --- tests: each links its own layer and those below it, no more -----------
tests_of = $(patsubst $(1)/%.c,$(VARIANT)/tests/$(2)/%,$(wildcard $(1)/test_*.c))
EDGE := $(call tests_of,tests/edge,edge)
UNIT := $(foreach l,core wire daemon tools/simulate,$(call tests_of,tests/unit/$(l),$(l)))
TESTS := $(UNIT) $(EDGE)
CHECK_LIBS = $(call pkg,check)

# What tests have in common is compiled once; each takes what it calls.
shared_core := $(VARIANT)/tests/libcore.a
shared_unit := $(VARIANT)/tests/libunit.a
shared_edge := $(VARIANT)/tests/libedge.a
$(VARIANT)/tests/%.o: tests/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests -c -o $@ $<
# Not in tests/sim, which is a program there.
$(VARIANT)/tests/of_sim/%.o: tests/sim/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<
$(shared_unit): $(patsubst %.c,$(VARIANT)/%.o,tests/suite.c \
	tests/golden/golden.c tests/fuzz/fuzz.c tests/fuzz/whole.c \
	$(filter-out tests/unit/wire/test_%,$(wildcard tests/unit/wire/*.c)))
$(shared_edge): $(patsubst %.c,$(VARIANT)/%.o,tests/suite.c $(filter-out \
	tests/edge/test_% tests/edge/holder_%,$(wildcard tests/edge/*.c)))
$(shared_core): $(patsubst %,$(VARIANT)/tests/of_sim/%.o,api dice) \
	$(patsubst %.c,$(VARIANT)/%.o,tests/suite.c $(filter-out \
	tests/unit/core/test_%,$(wildcard tests/unit/core/*.c)))
$(shared_core) $(shared_unit) $(shared_edge):
	@rm -f $@
	@$(AR) rcs $@ $^

# The functions that a test puts its own in place of, as __wrap_NAME.
instead = $(foreach f,$(1),-Xlinker --wrap=$(f))
INSTEAD_test_whole := json_pick
INSTEAD_test_job := state_found state_fresh state_fresh_nodepool \
	state_fresh_ticket state_fresh_skipped kube_lanes_start malloc
INSTEAD_test_notes := state_note state_nodepool_at event_recorder_say log_fields
INSTEAD_test_event_recorder := clock_now
INSTEAD_test_kube_wipe := free realloc
INSTEAD_test_sighting := state_track state_forget state_nodepool \
	state_nodepool_gone state_ticket state_ticket_gone \
	state_disruption_event log_fields log_ratelimit malloc
INSTEAD_test_health := server_new server_free server_heartbeat_age_ms \
	pthread_mutex_lock
INSTEAD_test_hook := server_new server_free
INSTEAD_test_serving_cert := certs_load server_rotate clock_now log_fields

# Tests run once, and to optimise them takes longer than that.
quick := -Itests -O0 -U_FORTIFY_SOURCE
$(VARIANT)/tests/core/%: tests/unit/core/%.c $(shared_core) $(libs_core)
	$(call link,$(quick),$(CHECK_LIBS))
$(VARIANT)/tests/wire/%: tests/unit/wire/%.c $(shared_unit) $(libs_wire)
	$(call link,$(quick) $(call instead,$(INSTEAD_$(@F))),$(ext_wire) $(CHECK_LIBS))
$(VARIANT)/tests/daemon/%: tests/unit/daemon/%.c $(shared_unit) $(libs_daemon)
	$(call link,$(quick) $(call instead,$(INSTEAD_$(@F))),$(ext_edge) $(CHECK_LIBS))
$(VARIANT)/tests/tools/simulate/%: tests/unit/tools/simulate/%.c $(shared_core) \
		$(call archives,tools/simulate) $(libs_wire)
	$(call link,$(quick),$(ext_wire) $(call pkg,zlib) $(CHECK_LIBS))
libs_exec = $(call archives,edge/exec) $(libs_edge)
$(VARIANT)/tests/edge/%: tests/edge/%.c $(shared_edge) $(libs_exec)
	$(call link,$(quick) $(call instead,$(INSTEAD_$(@F))),$(ext_edge) $(CHECK_LIBS) -lssl)
$(VARIANT)/tests/edge/test_event_recorder $(VARIANT)/tests/edge/test_probes: \
		$(VARIANT)/tests/edge/%: tests/edge/%.c $(shared_edge) \
		$(call archives,edge/exec) $(libs_daemon)
	$(call link,$(quick) $(call instead,$(INSTEAD_$(@F))),$(ext_edge) $(CHECK_LIBS) -lssl)

# A copy of our archives in which refused_NAME stands for each function that a
# system may refuse (tests/edge/refuse.c).
REFUSED := malloc calloc realloc free strdup strndup asprintf open openat read \
	write fsync fchmod renameat mkdir opendir socket bind listen eventfd \
	pipe2 getrandom pthread_create posix_spawnp
refused = $(patsubst $(VARIANT)/%,$(VARIANT)/refused/%,$(1))
$(VARIANT)/refused/%: $(VARIANT)/%
	@mkdir -p $(@D)
	@objcopy $(foreach f,$(REFUSED),--redefine-sym $(f)=refused_$(f) \
		--redefine-sym __$(f)_chk=refused_$(f)_chk) $< $@
$(VARIANT)/tests/edge/test_refused: tests/edge/test_refused.c $(shared_edge) \
		$(call refused,$(libs_exec))
	$(call link,$(quick),$(ext_edge) $(CHECK_LIBS) -lssl)
$(VARIANT)/tests/holder-refused: $(VARIANT)/tests/edge/holder_refused.o \
		$(VARIANT)/tests/edge/refuse.o \
		$(call refused,$(VARIANT)/cli/daemon/main.o $(libs_daemon))
	$(call link,,$(ext_edge))
$(VARIANT)/tests/holderctl-refused: $(VARIANT)/tests/edge/holder_refused.o \
		$(VARIANT)/tests/edge/refuse.o \
		$(call refused,$(VARIANT)/cli/tools/main.o $(libs_tools))
	$(call link,,$(ext_tools))

# Both programs with short deadlines, against a scripted API server.
$(VARIANT)/tests/holder-fast: tests/edge/holder_fast.c $(libs_daemon)
	$(call link,,$(ext_edge))
$(VARIANT)/tests/holderctl-fast: tests/edge/holder_fast.c $(libs_tools)
	$(call link,-DTOOLS,$(ext_tools))
# What pytest runs, found by HOLDER_VARIANT.
FAST := $(VARIANT)/karpenter-node-holder $(VARIANT)/holderctl \
	$(foreach p,holder holderctl,$(VARIANT)/tests/$(p)-fast $(VARIANT)/tests/$(p)-refused)

# Fuzz targets: with replay.c programs that replay a corpus, and with LIBFUZZER
# set (make fuzz) libFuzzer's.
LIBFUZZER ?=
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_CORE := fuzz_controller
FUZZ_EDGE := fuzz_answer fuzz_head fuzz_pems fuzz_urls
REPLAYS := $(FUZZ:%=$(VARIANT)/tests/fuzz/%)
fuzz_shared := $(patsubst %,$(VARIANT)/tests/fuzz/%.o,$(if $(LIBFUZZER),,replay) fuzz)
fuzz_flags = $(if $(LIBFUZZER),-Itests -fsanitize=fuzzer,$(quick))
$(VARIANT)/tests/fuzz/%: tests/fuzz/%.c $(fuzz_shared) $(libs_wire)
	$(call link,$(fuzz_flags),$(ext_wire))
$(VARIANT)/tests/fuzz/fuzz_whole: tests/fuzz/fuzz_whole.c \
		$(VARIANT)/tests/fuzz/whole.o $(fuzz_shared) $(libs_wire)
	$(call link,$(fuzz_flags) $(call instead,json_pick),$(ext_wire))
# Not a target: what the admission target's corpus is answered, for patches.py.
ANSWERS := $(VARIANT)/tests/fuzz/answers
$(ANSWERS): tests/fuzz/answers.c $(libs_wire)
	$(call link,-Itests,$(ext_wire))
$(FUZZ_EDGE:%=$(VARIANT)/tests/fuzz/%): $(VARIANT)/tests/fuzz/%: \
		tests/fuzz/%.c $(fuzz_shared) $(libs_edge)
	$(call link,$(fuzz_flags),$(ext_edge))
$(FUZZ_CORE:%=$(VARIANT)/tests/fuzz/%): $(VARIANT)/tests/fuzz/%: \
		tests/fuzz/%.c $(fuzz_shared) $(shared_core) $(libs_wire)
	$(call link,$(fuzz_flags) $(call instead,_ck_assert_failed _mark_point),$(ext_wire) $(CHECK_LIBS))

# The core in a modelled world; SEEDS of them where it has to be quick.
SIM := $(VARIANT)/tests/sim
SEEDS ?= 2000
sim_objects := $(patsubst tests/sim/%.c,$(VARIANT)/tests/of_sim/%.o,$(wildcard tests/sim/*.c))
$(SIM): $(sim_objects) $(libs_core)
	$(call link)

sim-quick: $(SIM)  ## the core in a modelled world: named histories, SEEDS random ones, uninstall, large claims, changed NodePools
	@$(SIM) run tests/sim/histories/*.txt tests/sim/seeds/*.txt
	@$(SIM) same docs/rules tests/sim/histories/rule-*.txt
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(SIM) seeds 1 $(SEEDS) $(JOBS)
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(SIM) uninstall 1 $$(($(SEEDS) / 4)) $(JOBS)
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(SIM) large 1 $$(($(SEEDS) / 4)) $(JOBS)
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(SIM) spec 1 $$(($(SEEDS) / 4)) $(JOBS)
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(SIM) observe 1 $$(($(SEEDS) / 4)) $(JOBS)
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(SIM) tickets 1 $$(($(SEEDS) / 4)) $(JOBS)

sim: SEEDS = 100000
sim: sim-quick  ## the same with 100,000 seeds

# Every order of events in that world, up to a depth; one core, MINUTES of it.
EXPLORE := $(VARIANT)/tests/explore
STARTS := $(wildcard tests/explore/starts/*.txt)
MINUTES ?= 10
wrap := $(foreach f,malloc calloc realloc free memcpy memset,-Xlinker --wrap=$(f))
$(EXPLORE): $(wildcard tests/explore/*.[ch]) \
		$(filter-out %/sim.o,$(sim_objects)) $(libs_core)
	$(call link,-Itests/explore -Itests/sim $(wrap))

explore: $(EXPLORE)  ## every order of events in that world, for MINUTES
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(EXPLORE) $(MINUTES) 0 $(STARTS)

explore-quick: $(EXPLORE)  ## the same to a small depth
	@SIM_SEEDS=$${SIM_SEEDS:-tests/sim/seeds} $(EXPLORE) 1 2 $(STARTS)

pictures: $(SIM)  ## draw the pictures of docs/rules.md
	@$(SIM) pictures docs/rules tests/sim/histories/rule-*.txt

configuration: $(VARIANT)/tests/wire/test_configuration  ## write the table of docs/configuration.md
	@WRITE=1 $<

# Outside the core FAULTS says which: a file of tests/mutants, or a row's name.
FAULTS ?=
mutants: deps  ## break the program on purpose, and see each break found
	@rc=0; $(if $(FAULTS),,$(PYTHON) tests/sim/mutants.py || rc=1;) \
		$(PYTHON) tests/mutants/rooms.py $(FAULTS) || rc=1; exit $$rc

# Where threads and deadlines are.  Most of these tests wait, test_server_slow
# the longest.
edge: $(EDGE)  ## unit tests of src/edge and of the threads
	@printf '%s\n' $(filter %_slow,$^) $(filter-out %_slow,$^) | \
		xargs -n 1 -P 4 env CK_FORK=$(CK_FORK) $(KEEP) edge $(AGAIN) run

# The layers below have neither.
# RUN runs programs of another architecture.  Its own memory would count as
# theirs.
RUN ?=
BELOW = $(if $(RUN),$(filter-out %/core/test_memory,$(UNIT)),$(UNIT))
programs-below: $(UNIT) $(REPLAYS) $(ANSWERS)
below: programs-below
	@printf '%s\n' $(BELOW) | xargs -n 1 -P $(JOBS) env CK_FORK=$(CK_FORK) $(KEEP) unit $(RUN)
	@set -e; for f in $(FUZZ); do \
		$(RUN) $(VARIANT)/tests/fuzz/$$f tests/fuzz/corpus/$${f#fuzz_}; done
	@$(PYTHON) tests/fuzz/patches.py "$(strip $(RUN) $(ANSWERS))" tests/fuzz/corpus/admission tests/golden/admission

unit: edge below  ## all unit tests, golden files and fuzz corpora

# What waits for deadlines runs beside what computes, which makes room for it.
# What a target prints comes together, when it is done.
SIDE_BY_SIDE := -j2 -Otarget daemon edge computing
COMPUTING ?= below sim-quick explore-quick
CHECKED = lint $(COMPUTING) instructions
computing:
	$(if $(COMPUTING),@nice -n 10 $(MAKE) $(COMPUTING))

# What all of them print is searched for the secrets that tests give to holders.
export HOLDER_SAID = $(abspath $(VARIANT))/said
KEEP = tests/said.sh keep
PYTEST_OPTIONS = -q -p no:cacheprovider --basetemp=$(VARIANT)/pytest
PYTEST = $(PYTHON) -m pytest $(PYTEST_OPTIONS)
# What has deadlines and fails runs once more, by itself.
AGAIN = $(PYTHON) tests/again.py

daemon: $(FAST)  ## the whole daemon and its commands against a scripted API server
	@echo "== the whole daemon and its commands, a minute or two"
	@HOLDER_VARIANT=$(VARIANT) \
		$(KEEP) pytest $(AGAIN) pytest $(PYTEST_OPTIONS) \
		-n 4 --dist loadgroup tests/edge

check: deps  ## lint and every test but san, tsan and e2e
	@rm -rf $(HOLDER_SAID)
	@$(MAKE) -j$(JOBS) all programs
	@$(MAKE) $(SIDE_BY_SIDE) COMPUTING='$(CHECKED)'
	@$(MAKE) said

said:
	@tests/said.sh check edge unit pytest daemon commands

# axe-core is what judges whether everybody can read the page.
PAGE := $(BUILD)/page
axe:
	@tests/deps.sh chromium
	@command -v npm >/dev/null || tests/deps.sh npm
	@mkdir -p $(PAGE) && cp tests/page/package*.json $(PAGE)
	@cd $(PAGE) && npm ci --silent --ignore-scripts --no-audit --no-fund

page-test: deps all axe $(FAST)  ## the page of the daemon in a real Chromium, with axe-core
	@PAGE=$(PAGE) HOLDER_VARIANT=$(VARIANT) \
		$(PYTEST) -m browser tests/edge
	@tests/e2e/lib/binaries.sh cluster
	@PAGE=$(PAGE) $(PYTEST) -m browser tests/e2e
	@echo "== look at the pictures in $(PAGE)/shots"

# --- simulate in a browser: its rooms and what they use, for WebAssembly ----------
# What is not of WASI's libc is in site/whatif/instead.c.  absent.txt has what no
# flag of the page leads to.
WHATIF := $(BUILD)/whatif
WASM := $(BUILD)/wasm
wasm_sources := $(wildcard $(foreach r,$(filter-out core/doctor,$(rooms_core)) \
	wire/json wire/api wire/karpenter wire/yaml wire/config tools/simulate,src/$(r)/*.c)) \
	src/edge/clock.c src/cli/flags.c src/cli/say.c \
	src/cli/tools/simulate.c src/cli/tools/prometheus_flags.c src/cli/tools/recommend_flags.c \
	site/whatif/main.c site/whatif/instead.c
wasm_objects := $(wasm_sources:%.c=$(WASM)/%.o)
$(WASM)/include/yaml.h: # the same for each processor
	@mkdir -p $(@D) && cp /usr/include/yaml.h $@
$(WASM)/%.o: %.c Makefile $(WASM)/include/yaml.h
	@mkdir -p $(@D)
	$(Q)clang --target=wasm32-wasi -O2 -std=c11 -D_GNU_SOURCE -Isite/whatif/include \
		-I$(WASM)/include -include site/whatif/include/wasi.h -Iinclude -Isrc $(WARN) -Wno-missing-field-initializers \
		-DHOLDER_VERSION='"$(VERSION)"' -ffunction-sections -MMD -MP -c -o $@ $<
$(WASM)/simulate.wasm: $(wasm_objects) site/whatif/absent.txt
	$(Q)clang --target=wasm32-wasi -O2 -Wl,--gc-sections,--strip-all,--stack-first \
		-Wl,-z,stack-size=1048576,--allow-undefined-file=site/whatif/absent.txt \
		-o $@ $(wasm_objects)
$(WHATIF)/index.html: $(WASM)/simulate.wasm $(wildcard site/whatif/*)
	@mkdir -p $(@D)
	@$(PYTHON) site/whatif/engine.py $< site/whatif/worker.js \
		tests/study/results/wave.karpenter-0s.1.record.gz > $(@D)/engine.js
	@cp site/whatif/whatif.css site/whatif/whatif.js site/whatif/index.html $(@D)

whatif: deps  ## the page that runs simulate in a browser, into $(BUILD)/whatif
	@tests/deps.sh clang lld wasi-libc libclang-rt-14-dev-wasm32
	@$(MAKE) -j$(JOBS) $(WHATIF)/index.html

# The documents as a site.  SITE_FROM has them in their folders, for Zensical,
# which builds within it.
SITE := $(BUILD)/site
SITE_FROM := $(BUILD)/site-from
ZENSICAL := $(SITE_FROM)/venv
$(ZENSICAL)/.stamp: site/requirements.txt
	@rm -rf $(ZENSICAL) && $(PYTHON) -m venv $(ZENSICAL)
	@$(ZENSICAL)/bin/pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

site: whatif  ## the documents as a site with search, into $(BUILD)/site
	@tests/deps.sh python3-venv
	@$(MAKE) $(ZENSICAL)/.stamp
	@rm -rf $(SITE_FROM)/pages && mkdir -p $(SITE_FROM)/pages
	@git ls-files -co --exclude-standard '*.md' 'docs/*.svg' 'docs/*.png' LICENSE \
		deploy/base/policy.yaml | grep -v '^site/' | tar -cT - | tar -xC $(SITE_FROM)/pages
	@$(PYTHON) site/start.py $(SITE_FROM)/pages/README.md
	@cp -r $(WHATIF) $(SITE_FROM)/pages/try
	@cp site/site.css site/site.js $(SITE_FROM)/pages && cp site/zensical.toml $(SITE_FROM)
	@cd $(SITE_FROM) && venv/bin/zensical build --strict --clean
	@# A corner of a table is no header of anything.
	@find $(SITE_FROM)/site -name '*.html' | xargs sed -i 's,<th\([^>]*\)></th>,<td\1></td>,g'
	@rm -rf $(SITE) && mv $(SITE_FROM)/site $(SITE)
	@echo "== $(PYTHON) -m http.server --bind 127.0.0.1 --directory $(SITE)"

site-test: site axe  ## the site in a real Chromium: links, looks, axe-core, no other host
	@mkdir -p $(VARIANT)
	@PAGE=$(PAGE) BUILD=$(BUILD) $(PYTEST) -s tests/site/test_site.py
	@echo "== look at the pictures in $(PAGE)/shots"

whatif-test: whatif all axe  ## that page in a real Chromium: the same as the command, nothing leaves it
	@PAGE=$(PAGE) BUILD=$(BUILD) $(PYTEST) -s tests/site/test_whatif.py
	@echo "== look at the pictures in $(PAGE)/shots"

# Seconds for each target, and which targets.
FUZZ_SECONDS ?= 30
FUZZ_TARGETS ?= $(FUZZ)
fuzz-targets: $(REPLAYS)
fuzz:  ## every decoder under libFuzzer with sanitizers, FUZZ_SECONDS each
	@tests/deps.sh $(DEBS) clang llvm libclang-rt-14-dev
	@$(MAKE) -j$(JOBS) VARIANT=$(BUILD)/fuzz CC=clang LIBFUZZER=yes \
		SANITIZE=address,undefined,fuzzer-no-link \
		CFLAGS=-g fuzz-targets
	@$(PYTHON) tests/fuzz/run.py fuzz $(BUILD)/fuzz $(FUZZ_SECONDS) $(JOBS) $(FUZZ_TARGETS)

fuzz-corpus:  ## what make fuzz found, minimised, into tests/fuzz/corpus
	@$(PYTHON) tests/fuzz/run.py merge $(BUILD)/fuzz $(FUZZ_TARGETS)

fuzz-coverage:  ## what the corpora reach, line by line, by llvm-cov
	@tests/deps.sh $(DEBS) clang llvm libclang-rt-14-dev
	@$(MAKE) -j$(JOBS) VARIANT=$(BUILD)/fuzz-coverage CC=clang OPT=-O1 \
		CFLAGS='-g -fprofile-instr-generate -fcoverage-mapping' fuzz-targets
	@$(PYTHON) tests/fuzz/run.py coverage $(BUILD)/fuzz-coverage $(FUZZ)

lint: all  ## what docs/architecture.md claims, checked by a script
	@tests/lint.sh $(VARIANT)

programs: $(TESTS) $(REPLAYS) $(ANSWERS) $(FAST) $(SIM) $(EXPLORE)  ## build every test program
programs-edge: $(EDGE) $(FAST)
SAN  := VARIANT=$(BUILD)/san SANITIZE=address,undefined CK_FORK=no CFLAGS=-g1 \
	SEEDS=300
TSAN := VARIANT=$(BUILD)/tsan SANITIZE=thread CK_FORK=no CFLAGS=-g1

# Leaks in forked Check children would go unseen: one process.
san:  ## the tests under the address and undefined behaviour sanitizers
	@echo "== address and undefined behaviour sanitizers, about 2 minutes"
	@$(MAKE) $(SAN) -j$(JOBS) programs
	@rm -rf $(BUILD)/san/said
	@$(MAKE) $(SIDE_BY_SIDE) $(SAN)
	@$(MAKE) $(SAN) said

tsan:  ## the tests that have threads under the thread sanitizer
	@echo "== thread sanitizer, about a minute"
	@$(MAKE) $(TSAN) -j$(JOBS) programs-edge
	@rm -rf $(BUILD)/tsan/said
	@$(MAKE) $(SIDE_BY_SIDE) $(TSAN) COMPUTING=
	@HOLDER_SAID=$(abspath $(BUILD)/tsan/said) tests/said.sh check edge pytest daemon commands

e2e: all  ## tests against a real kube-apiserver and Karpenter, about 5 minutes
	@tests/e2e/lib/binaries.sh test
	@echo "== against a real kube-apiserver and Karpenter, about 5 minutes"
	@$(KEEP) pytest $(AGAIN) pytest $(PYTEST_OPTIONS) \
		-n 9 --dist loadgroup tests/e2e
	@tests/said.sh check pytest e2e

e2e-long: all $(FAST)  ## long scenarios, over an hour
	@tests/e2e/lib/binaries.sh long
	@echo "== long scenarios, over an hour"
	@$(PYTEST) -s -m long -o faulthandler_timeout=1500 tests/e2e
	@HOLDER_VARIANT=$(VARIANT) \
		$(PYTEST) -s -m huge -o faulthandler_timeout=1500 tests/edge

# The same as check, san, tsan and e2e, in another order: first what only
# computes, beside the compiler of the control plane, then what has deadlines,
# which a busy machine would miss.
test:  ## check, san, tsan, lab-test and e2e
	@tests/deps.sh python3-venv ca-certificates
	@tests/e2e/lib/binaries.sh test & builds=$$!; \
	trap 'kill $$builds 2>/dev/null || :' EXIT; trap 'exit 130' INT TERM; set -e; \
	$(MAKE) deps; \
	rm -rf $(BUILD)/*/said; \
	$(MAKE) -j$(JOBS) all programs; \
	$(MAKE) $(SAN) -j$(JOBS) programs; \
	$(MAKE) $(TSAN) -j$(JOBS) programs-edge; \
	echo "== what has no deadline, also under sanitizers, beside the build"; \
	$(MAKE) computing COMPUTING='$(CHECKED)'; \
	$(MAKE) $(SAN) computing; \
	wait $$builds; \
	$(MAKE) lab-test LAB_QUICK=yes; \
	export SAMPLE=yes; \
	$(MAKE) $(SIDE_BY_SIDE) COMPUTING=; \
	$(MAKE) said; \
	echo "== address and undefined behaviour sanitizers"; \
	$(MAKE) $(SIDE_BY_SIDE) $(SAN) COMPUTING=; \
	$(MAKE) $(SAN) said; \
	$(MAKE) tsan; \
	$(MAKE) e2e

# Programs of the benchmarks: what the libraries can do at best, and clients.
BENCH := $(patsubst %,$(VARIANT)/bench/%,ceiling handshakes patches)
$(VARIANT)/bench/%: tests/bench/%.c
	$(call link,,$(ext_edge) -lssl)
OPERATIONS := $(VARIANT)/bench/operations
$(OPERATIONS): tests/bench/operations.c $(libs_daemon)
	$(call link,$(call instead,server_new server_free kube_lanes_start),$(ext_edge))

instructions: $(OPERATIONS)  ## count instructions of a review, a watch line, ...; compare with tests/bench/instructions.txt
	@$(PYTHON) tests/bench/instructions.py $< "$(CC)"

bench: all $(BENCH) $(OPERATIONS)  ## compare with peers: PARTS="webhook spread ..." (none: list them and run a few), ROUNDS=5
	@tests/deps.sh wrk
	@BENCH=$(VARIANT)/bench $(PYTHON) tests/bench/bench.py $(PARTS)

demo:  ## one wave of load on real Karpenter, without the holder and with it
demo-quick:  ## what the holder does, live, on a real API server
demo demo-quick: deps
	@$(MAKE) -j$(JOBS) all
	@tests/e2e/lib/binaries.sh $(if $(filter demo,$@),cluster,plane)
	@$(PYTHON) tests/e2e/$(subst -,_,$@).py

study: deps  ## loads under policies on real Karpenter: LOADS= POLICIES= REPEAT=, or LOAD=file; hours
	@$(MAKE) -j$(JOBS) all
	@tests/e2e/lib/binaries.sh cluster
	@$(PYTHON) tests/study/study.py

# Karpenter in virtual time.  The holder in it is these rooms.
LAB_ROOMS := wire/admission wire/api wire/config wire/yaml wire/json wire \
	core/controller core/protocol core/table core/rules core/base
lab-program: $(call archives,$(LAB_ROOMS))
	@LAB_ARCHIVES='$(abspath $^)' LAB_LIBS='$(ext_wire)' \
		LAB_CFLAGS='-std=c11 -D_GNU_SOURCE -O2 -I$(abspath include)' \
		tests/e2e/lib/binaries.sh lab

lab: deps  ## loads under policies on Karpenter in virtual time: LOADS= POLICIES= SEEDS= HOURS=, or LOAD=file; KARPENTER=version
	@$(MAKE) -j$(JOBS) lab-program $(DRAWS)/.stamp
	@$(PYTHON) tests/study/lab.py

lab-test: deps  ## what the lab does as an API server, a scheduler and a kubelet, and a short load
	@$(MAKE) -j$(JOBS) lab-program
	@$(BUILD)/study/lab.test
	@$(PYTEST) tests/study/lab

lab-fidelity: deps  ## is the lab faithful? what make study has played, in the lab: LOADS= POLICIES= TRACES=
	@$(MAKE) -j$(JOBS) lab-program
	@$(PYTHON) tests/study/fidelity.py

# Other versions of the library may draw other bytes.
DRAWS := $(BUILD)/study/venv
$(DRAWS)/.stamp: tests/study/requirements.txt
	@rm -rf $(DRAWS) && $(PYTHON) -m venv $(DRAWS)
	@$(DRAWS)/bin/pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

study-pictures: all  ## the tables and pictures of docs/study.md from tests/study/results
	@tests/deps.sh python3-venv
	@$(MAKE) $(DRAWS)/.stamp
	@$(DRAWS)/bin/python tests/study/pictures.py

matrix: all  ## the tests on other versions of Karpenter and Kubernetes: PAIRS= (none: all that have not passed), JOBS=; many minutes each
	@tests/e2e/lib/binaries.sh long
	@JOBS=$(JOBS) $(PYTHON) tests/matrix/matrix.py $(PAIRS)

karpenter-logs: all  ## run other versions of Karpenter, and keep what they log
	@$(PYTHON) tests/e2e/karpenter_logs.py $(VERSIONS)

deps:  ## install what the build and the tests need
	@tests/deps.sh $(DEBS)

certs: all  ## write a self-signed CA and serving certificate into certs/
	@$(BIN) certs --out certs

image:  ## build the container image
	@BUILD=$(BUILD) VERSION=$(VERSION) deploy/image.sh

DIST ?= dist
release:  ## all that a release has, of a commit, into dist/: VERSION=, IMAGE=, URL=, KEY= (docs/releasing.md); needs root
	@tests/deps.sh git debootstrap buildah skopeo umoci openssl python3-venv
	@tests/e2e/lib/binaries.sh kubectl helm
	@BUILD=$(BUILD) VERSION=$(VERSION) deploy/release.sh $(DIST)

# Whichever of them is installed takes what `make release` has written.
ARCH = $(shell dpkg --print-architecture)
kind-load:  ## the image of dist/ into the cluster of kind, k3d or minikube
	@set -- $(DIST)/karpenter-node-holder-*-docker-$(ARCH).tar; [ -e "$$1" ] || { echo "no $$1: make release"; exit 1; }; \
	if command -v kind >/dev/null; then kind load image-archive "$$1"; \
	elif command -v k3d >/dev/null; then k3d image import "$$1"; \
	elif command -v minikube >/dev/null; then minikube image load "$$1"; \
	else echo "none of kind, k3d and minikube is on PATH; any of them takes $$1"; exit 1; fi

MAN := $(BIN).1 $(TOOLS).1
man: $(MAN)  ## write the manual pages of both programs into $(BUILD)
$(MAN): %.1: % docs/man.py
	@$(PYTHON) docs/man.py $< > $@.tmp && mv $@.tmp $@

install: all man install-plugin  ## install both programs, their manual pages and the kubectl plugin under $(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 0755 $(BIN) $(TOOLS) $(DESTDIR)$(PREFIX)/bin
	install -m 0644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1

PLUGIN := plugin/kubectl-karpenter_holder plugin/kubectl_complete-karpenter_holder
install-plugin:  ## install the kubectl plugin alone, which is a shell script
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 0755 $(PLUGIN) $(DESTDIR)$(PREFIX)/bin

# Krew's index asks for an archive and its checksum.
krew:  ## the archive and manifest of the plugin for Krew; URL=https://... of the repository
	@plugin/krew.sh $(VERSION) $(BUILD)/krew $(URL)

format:  ## clang-format on src and include
	@tests/deps.sh clang-format-14
	git ls-files -co --exclude-standard 'src/*.[ch]' 'include/*.h' | xargs clang-format-14 -i

compile_commands:  ## write compile_commands.json, for clangd and editors
	@$(MAKE) -nB V=1 all programs | \
		$(PYTHON) tests/compile_commands.py > compile_commands.json

clean:  ## remove $(BUILD)
	rm -rf $(BUILD)

-include $(shell find $(VARIANT) $(WASM) -name '*.d' 2>/dev/null)
