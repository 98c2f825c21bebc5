"""child.py - one run of a program: what it printed, when its first byte came, its peak memory."""
import os
import re
import selectors
import subprocess
import tempfile
import time


class Failed(Exception):
    """A program that ended badly, took too long, or said something that cannot be read."""


class Run:
    def __init__(self, command, environment=None, seconds=7200):
        self.command = [str(word) for word in command]
        with tempfile.TemporaryFile() as errors:
            began = time.monotonic()
            child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                     env={**os.environ, **(environment or {})})
            try:
                self.out, self.first_byte_seconds = collect(child.stdout, began, seconds)
            except BaseException:
                child.kill()
                child.wait()
                raise
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.seconds = time.monotonic() - began
            self.peak_bytes = usage.ru_maxrss * 1024
            errors.seek(0)
            self.err = errors.read().decode(errors="replace")
        if child.returncode != 0:
            last = (self.err.strip().splitlines() or ["it said nothing"])[-1]
            raise Failed(f"{self.command[0]}: exit code {child.returncode}: {last[:300]}")

    def number(self, pattern):
        """The number that pattern's group finds in what the program printed."""
        found = re.search(pattern, self.out) or re.search(pattern, self.err)
        if not found:
            raise Failed(f"{self.command[0]} printed nothing like {pattern!r}")
        return float(found.group(1))


def collect(pipe, began, seconds):
    """All bytes of the pipe as text, and how many seconds after `began` the first of them came (None: never)."""
    parts, first = [], None
    with pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while selector.select(max(0.0, began + seconds - time.monotonic())):
            part = os.read(pipe.fileno(), 1 << 16)
            if not part:
                return b"".join(parts).decode(errors="replace"), first
            if first is None:
                first = time.monotonic() - began
            parts.append(part)
    raise Failed(f"no end after {seconds} s")
