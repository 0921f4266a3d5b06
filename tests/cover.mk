# SPDX-License-Identifier: BSD-2-Clause
# Coverage by the host tests (build variant "cover" of tests/host.mk). make cover fails where a line or
# branch of hyperv/ or of the flush engine is not reached and tests/tools/cover_reasons.txt does not
# say why, and where a reason there has become stale.

.PHONY: cover

GCOVR := gcovr --root . --object-directory build/cover/obj build/cover/obj --exclude 'tests/.*'

cover: ## lines and branches that the unit tests reach; all of the interface and the flush engine
	@find build/cover -name '*.gcda' -delete 2>/dev/null || true
	@rm -rf build/report/cover
	@mkdir -p build/report/cover
	@tests/tools/run_host $(MAKE) cover build/report/cover-host.txt $(HOST_NAMES) \
		>build/report/cover-host.log || { cat build/report/cover-host.log; exit 1; }
	@tail -n 1 build/report/cover-host.log
	@$(GCOVR) --txt build/report/coverage.txt --html-details build/report/cover/index.html \
		--json build/report/cover/cover.json --print-summary
	@tests/tools/run_part cover tests/tools/judge_cover build/report/cover/cover.json \
		tests/tools/cover_reasons.txt
	@tests/tools/sum_results build/report/cover.txt
