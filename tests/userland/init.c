/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first program of the rig's userland: says when it was reached, prepares the usual file
 * systems, runs /etc/rc, says that all is done, and switches the machine off.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <x86intrin.h>

static void say_when(void)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "\nUSERSPACE tsc=%llu\n", __rdtsc());

    if (write(STDOUT_FILENO, text, (size_t)length) != length) {
        (void)reboot(RB_POWER_OFF);
    }
}

static void mount_one(const char *type, const char *where)
{
    (void)mkdir(where, 0755);
    if (mount(type, where, type, 0, NULL) != 0) {
        printf("RESULT mount-%s FAIL cannot mount %s\n", type, where);
    }
}

static void run_script(void)
{
    static char name[] = "sh";
    static char script[] = "/etc/rc";
    char *const arguments[] = {name, script, NULL};
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        (void)execv("/bin/busybox", arguments);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        printf("RESULT userland-script FAIL wait status %d\n", status);
    }
}

int main(void)
{
    say_when();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    mount_one("proc", "/proc");
    mount_one("sysfs", "/sys");
    mount_one("devtmpfs", "/dev");
    (void)setenv("PATH", "/bin", 1);
    run_script();
    printf("USERLAND DONE\n");
    (void)fflush(stdout);
    (void)tcdrain(STDOUT_FILENO);
    (void)reboot(RB_POWER_OFF);
    printf("RESULT poweroff FAIL the reboot call returned\n");
    for (;;) {
        (void)pause();
    }
}
