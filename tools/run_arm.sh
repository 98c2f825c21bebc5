#!/bin/sh
# run_arm.sh - runs a program for aarch64 on this machine: run_arm.sh PROGRAM ARGUMENTS.
#
# QEMU_CPU chooses the core: cortex-a76 (Raspberry Pi 5, the default), cortex-a72 (Pi 4: no dot product), max (has i8mm).
exec qemu-aarch64 -cpu "${QEMU_CPU:-cortex-a76}" "$@"
