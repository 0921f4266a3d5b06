/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Show what the hypervisor tells a guest by CPUID: the hypervisor bit, the first leaf of the range
 * that the Microsoft interface uses, and Sluice's own block from 0x40000100 on.
 */
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FIRST_LEAF       0x40000000U
#define OWN_LEAF         0x40000100U
#define OWN_LEAVES_SHOWN 8U
#define VENDOR_PREFIX    "Sluice"

struct leaf {
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t d;
};

static struct leaf read_leaf(uint32_t number, uint32_t sub)
{
    struct leaf leaf;

    __cpuid_count(number, sub, leaf.a, leaf.b, leaf.c, leaf.d);
    return leaf;
}

static void vendor_of(const struct leaf *leaf, char vendor[13])
{
    memcpy(vendor, &leaf->b, 4);
    memcpy(vendor + 4, &leaf->c, 4);
    memcpy(vendor + 8, &leaf->d, 4);
    vendor[12] = '\0';
}

int main(void)
{
    struct leaf features = read_leaf(1, 0);
    struct leaf first = read_leaf(FIRST_LEAF, 0);
    struct leaf own = read_leaf(OWN_LEAF, 0);
    bool hypervisor_bit = (features.c & (1U << 31)) != 0;
    bool vmx_bit = (features.c & (1U << 5)) != 0;
    uint32_t last = own.a;
    uint32_t number;
    char vendor[13];

    printf("CPUID hypervisor=%d vmx=%d 40000000=%x\n", hypervisor_bit, vmx_bit, first.a);
    vendor_of(&own, vendor);
    if (memcmp(vendor, VENDOR_PREFIX, strlen(VENDOR_PREFIX)) != 0) {
        printf("RESULT sluice-block SKIP no Sluice block at 0x40000100\n");
        return 0;
    }
    if (last >= OWN_LEAF + OWN_LEAVES_SHOWN) {
        last = OWN_LEAF + OWN_LEAVES_SHOWN - 1;
    }
    for (number = OWN_LEAF; number <= last; number++) {
        struct leaf leaf = read_leaf(number, 0);

        printf("SLUICE %08x %08x %08x %08x %08x\n", number, leaf.a, leaf.b, leaf.c, leaf.d);
    }
    printf("RESULT sluice-block %s\n", vmx_bit ? "FAIL VMX is shown" : "PASS");
    return 0;
}
