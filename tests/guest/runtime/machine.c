/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/machine.h"

#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/sluice.h"

#define DEBUG_PORT 0xE9u /* reads as its own number where it exists */

bool machine_is_bochs(void)
{
    return insn_in8(DEBUG_PORT) == DEBUG_PORT;
}

bool machine_is_bare_bochs(void)
{
    return machine_is_bochs() && !sluice_is_present();
}
