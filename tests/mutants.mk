# SPDX-License-Identifier: BSD-2-Clause
# Planted faults (docs/testing.md): each tests/mutants/NAME.mutant is one, and a host test must fail for it.

.PHONY: mutants

mutants: ## plant small faults, one by one; a host test must catch each
	@HOST_CC='$(HOST_CC_host)' HOST_CFLAGS='$(HOST_CFLAGS)' HOST_FLAGS='$(HOST_FLAGS_host)' \
		HOST_LIBS='$(HOST_LIBS)' TSAN_FLAGS='$(HOST_FLAGS_host-tsan)' \
		tests/mutants/run $(MAKE) build/report/mutants.txt \
		$(if $(MUTANTS),$(MUTANTS:%=tests/mutants/%.mutant),$(sort $(wildcard tests/mutants/*.mutant)))
