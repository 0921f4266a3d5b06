# SPDX-License-Identifier: BSD-2-Clause
# The Promela model of the flush protocol (docs/model.md); spin explores it, one case at a time.

.PHONY: model model-long

model: ## explore the model of the flush protocol; faults in it must be found
	@tests/tools/run_part model tests/model/run_model short || true
	@tests/tools/sum_results build/report/model.txt

model-long: ## larger sizes of the model
	@tests/tools/run_part model-long tests/model/run_model long || true
	@tests/tools/sum_results build/report/model-long.txt
