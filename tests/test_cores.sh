#!/bin/sh
# test_cores.sh - one program for every 64-bit Arm core: it takes the kernels that the core has and says which; what the core
# lacks it never runs (fault F72), also when it is asked to.
set -u
[ -n "${FACET_EMULATOR:-}" ] || { echo 'SKIP: other cores than this machine has need the emulator of the cross build'; exit 77; }
model=$FACET_SOURCE/models/demo.facet
failures=0
unset FACET_KERNELS

failed() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# The Raspberry Pi 3, 4 and 5, and the newest that qemu has.
for core in cortex-a53:neon cortex-a72:neon cortex-a76:neon_dotprod max:neon_i8mm; do
    QEMU_CPU=${core%:*}
    kernels=${core#*:}
    export QEMU_CPU
    said=$("$FACET" verify "$model" 2>&1)
    code=$?
    [ $code = 0 ] || failed "$QEMU_CPU: verify ended with $code: $said"
    case $said in
    *"kernels: $kernels computes the same bits"*'RESULT: PASS') echo "ok: $QEMU_CPU, $kernels" ;;
    *) failed "$QEMU_CPU: not by $kernels: $said" ;;
    esac
done

for core in cortex-a53:neon_dotprod cortex-a72:neon_dotprod cortex-a76:neon_i8mm; do
    QEMU_CPU=${core%:*}
    kernels=${core#*:}
    said=$(FACET_KERNELS=$kernels "$FACET" run -m "$model" 'The capital of France is' 2>&1)
    code=$?
    [ $code = 1 ] || failed "$QEMU_CPU: forced to $kernels it ended with $code"
    case $said in *"$kernels"*) echo "ok: $QEMU_CPU has no $kernels: $said" ;; *) failed "$QEMU_CPU: $said" ;; esac
done
[ "$failures" = 0 ]
