#!/bin/sh
# run_arm.sh - runs a program for aarch64 on this machine: run_arm.sh PROGRAM ARGUMENTS.
#
# QEMU_CPU chooses the core: cortex-a76 (Raspberry Pi 5, the default), cortex-a72 (Pi 4: no dot product), max (has i8mm).
# Pages are as large as that board's kernel has them: 4 KiB on a Pi 4, else 16 KiB.
cpu=${QEMU_CPU:-cortex-a76}
case $cpu in
cortex-a53 | cortex-a72) pages=4096 ;;
*) pages=16384 ;;
esac
exec qemu-aarch64 -cpu "$cpu" -p "$pages" "$@"
