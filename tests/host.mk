# SPDX-License-Identifier: BSD-2-Clause
# Host unit tests. Each tests/host/test_NAME.c is one cmocka program; a comment in its first lines,
# "/* UNITS: core/fmt.c core/string.c */", names the sources that are linked with it. Variants:
# host (GCC with the address and undefined-behaviour sanitizers), host-clang (the same with clang),
# host-tsan (GCC with the thread sanitizer, the programs that say "/* THREADS */" in their first
# lines) and cover (GCC, counting lines and branches: tests/cover.mk).

HOST_TESTS := $(sort $(wildcard tests/host/test_*.c))
HOST_NAMES := $(HOST_TESTS:tests/host/test_%.c=%)
HOST_UNITS := $(if $(HOST_TESTS),$(shell awk -f tests/tools/host_units $(HOST_TESTS)))
HOST_THREADED := $(if $(HOST_TESTS),$(patsubst tests/host/test_%.c,%,$(shell awk \
	'FNR <= 30 && index($$0, "/* THREADS */") { print FILENAME }' $(HOST_TESTS))))

# -Wnull-dereference: the sanitizers' own checks make GCC report paths that are none.
HOST_WARNINGS := $(filter-out -Wnull-dereference,$(WARNINGS))
HOST_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-strict-aliasing $(HOST_WARNINGS) \
	-DSLUICE_HOST=1 -I. -Ibuild -pthread
HOST_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
HOST_LIBS := -lcmocka -pthread

host_units_of = $(patsubst $(1):%,%,$(filter $(1):%,$(HOST_UNITS)))

HOST_CC_host := gcc
HOST_FLAGS_host := $(HOST_SANITIZE)
HOST_CC_host-clang := clang
HOST_FLAGS_host-clang := $(HOST_SANITIZE)
HOST_CC_host-tsan := gcc
HOST_FLAGS_host-tsan := -fsanitize=thread
HOST_CC_cover := gcc
# Without optimization, so that a branch is one of the source.
HOST_FLAGS_cover := --coverage -O0

# $(1) variant = folder under build/
define host_variant
build/$(1)/obj/%.o: %.c tests/host.mk
	@mkdir -p $$(@D)
	@$$(HOST_CC_$(1)) $$(HOST_CFLAGS) $$(HOST_FLAGS_$(1)) -MMD -MP -c $$< -o $$@

.PHONY: $(1)-programs
$(1)-programs: $$(HOST_NAMES:%=build/$(1)/test_%)

-include $$(wildcard build/$(1)/obj/*/*.d build/$(1)/obj/*/*/*.d)
endef

# $(1) variant, $(2) name of the test
define host_program
build/$(1)/test_$(2): build/$(1)/obj/tests/host/test_$(2).o \
		$(patsubst %.c,build/$(1)/obj/%.o,$(call host_units_of,$(2)))
	@$$(HOST_CC_$(1)) $$(HOST_FLAGS_$(1)) $$^ $$(HOST_LIBS) -o $$@
endef

HOST_VARIANTS := host host-clang host-tsan cover
$(foreach variant,$(HOST_VARIANTS),$(eval $(call host_variant,$(variant))))
$(foreach variant,$(HOST_VARIANTS),$(foreach name,$(HOST_NAMES), \
	$(eval $(call host_program,$(variant),$(name)))))

.PHONY: test-host test-host-clang test-host-tsan

# What the threaded programs show under the thread sanitizer is counted with the rest.
test-host: ## unit tests of the pure files, with the sanitizers
	@failed=0; \
	tests/tools/run_host $(MAKE) host build/report/host.txt $(HOST_NAMES) || failed=1; \
	if [ -n "$(HOST_THREADED)" ]; then \
		$(MAKE) --no-print-directory test-host-tsan || failed=1; \
		cat build/report/host-tsan.txt >>build/report/host.txt; \
	fi; \
	exit $$failed

test-host-tsan: ## the threaded unit tests with the thread sanitizer
	@tests/tools/run_host $(MAKE) host-tsan build/report/host-tsan.txt $(HOST_THREADED)

test-host-clang: ## the unit tests, built with clang
	@tests/tools/run_host $(MAKE) host-clang build/report/host-clang.txt $(HOST_NAMES)
