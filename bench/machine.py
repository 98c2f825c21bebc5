"""machine.py - what is measured on, and who else is using it: facts, and the share of the CPUs that others took."""
import os
import pathlib
import platform
import resource
import time

# What decides which kernels an engine takes.
FLAGS = ("avx2 avx_vnni avx512f avx512bw avx512_vnni avx512vbmi avx512_bf16 gfni amx_int8 hypervisor "
         "asimd asimddp i8mm sve bf16").split()


def read(path, otherwise=""):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return otherwise


def fields(path):
    """The lines "name : value" of a file of /proc; the first of each name."""
    found = {}
    for line in read(path).splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return found


def facts():
    cpu, memory = fields("/proc/cpuinfo"), fields("/proc/meminfo")
    present = (cpu.get("flags") or cpu.get("Features") or "").split()
    return {
        "cpu": cpu.get("model name") or read("/proc/device-tree/model").strip("\0") or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "flags": [flag for flag in FLAGS if flag in present],
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "memory_bytes": int(memory.get("MemTotal", "0 kB").split()[0]) * 1024,
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled", "none"),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "unknown"),
        "load_average": os.getloadavg(),
    }


def page_state():
    """Memory in huge pages now, in kB: anonymous, and of mapped files."""
    memory = fields("/proc/meminfo")
    return {name: int(memory.get(name, "0 kB").split()[0])
            for name in ("MemAvailable", "Cached", "AnonHugePages", "FileHugePages", "FilePmdMapped")}


def busy_seconds():
    """(CPU seconds that anybody used, CPU seconds the hypervisor took) since the machine started."""
    user, nice, system, _, _, irq, softirq, steal = (int(x) for x in read("/proc/stat").split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, steal / tick


def own_seconds():
    """CPU seconds of this program and of the children that ended."""
    return sum(usage.ru_utime + usage.ru_stime
               for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


class Watch:
    """The share of all CPUs that others used, and that the hypervisor took, since start()."""

    def __init__(self):
        self.start()

    def start(self):
        self.began, self.own, (self.busy, self.steal) = time.monotonic(), own_seconds(), busy_seconds()

    def shares(self):
        seconds = time.monotonic() - self.began
        busy, steal = busy_seconds()
        others = busy - self.busy - (own_seconds() - self.own)
        room = max(seconds, 1e-9) * os.cpu_count()
        return {"seconds": seconds, "others": max(0.0, others) / room, "stolen": (steal - self.steal) / room}


# A run is clean if others took less than these shares of all CPUs, over the whole of it and in each program, and never as much
# as a quarter or half of one CPU. A program that ran for less than a second, the clock of /proc/stat (10 ms) cannot judge.
LIMIT_WHOLE, LIMIT_RUN, JUDGED_SECONDS = 0.02, 0.08, 1.0


def verdict(before, whole, runs, cpus=os.cpu_count()):
    """Why a run is not clean, as a list of sentences; empty if it is."""
    why, limit, limit_run = [], min(LIMIT_WHOLE, 0.25 / cpus), min(LIMIT_RUN, 0.5 / cpus)
    if before["others"] > limit:
        why.append(f"before it began, others used {before['others']:.0%} of the CPUs")
    if whole["others"] > limit:
        why.append(f"others used {whole['others']:.0%} of the CPUs while it ran")
    if whole["stolen"] > limit:
        why.append(f"the hypervisor took {whole['stolen']:.0%} of the CPUs while it ran")
    judged = [run for run in runs if run["seconds"] >= JUDGED_SECONDS]
    disturbed = [run for run in judged if run["others"] + run["stolen"] > limit_run]
    if disturbed:
        worst = max(run["others"] + run["stolen"] for run in disturbed)
        why.append(f"{len(disturbed)} of {len(judged)} programs shared the CPUs with others (up to {worst:.0%})")
    return why
