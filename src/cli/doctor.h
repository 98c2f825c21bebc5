/* doctor.h - what `facet doctor` knows of a machine, and what it makes of it: gathered once, then
 * judged. */
#ifndef FCT_CLI_DOCTOR_H
#define FCT_CLI_DOCTOR_H

#include "base/machine.h"
#include "cli/sensors.h"

/* ---- facts: read, not judged ----------------------------------------------------------------- */

enum fct_storage_kind {
    FCT_STORAGE_UNKNOWN,
    FCT_STORAGE_SD,
    FCT_STORAGE_EMMC,
    FCT_STORAGE_NVME,
    FCT_STORAGE_USB,
    FCT_STORAGE_SSD,
    FCT_STORAGE_HARD_DISK,
    FCT_STORAGE_VIRTUAL,
    FCT_STORAGE_COMPRESSED_MEMORY,
    FCT_STORAGE_MEMORY,
    FCT_STORAGE_NETWORK
};

struct fct_storage {
    enum fct_storage_kind kind;
    char device[64];         /* "mmcblk0"; "" if there is none */
    char file_system[32];    /* "ext4" */
    char link[32];           /* PCIe of an NVMe: "5.0 GT/s PCIe x1" */
    int usb_megabits;        /* 480, 5000 ...; 0: not on USB */
    bool small;              /* the file is too small to measure with */
    bool around_cache;       /* measured from the device itself, not from memory */
    double bytes_per_second; /* read in sequence; NAN: not measured */
};

/* The emulated NUMA nodes of a Raspberry Pi, which spread memory over the banks of its SDRAM. */
struct fct_doctor_banks {
    int n_nodes;               /* of memory; 0: the kernel tells of none */
    int asked_nodes;           /* numa=fake=N on the kernel's command line; 0: it says nothing */
    bool interleaved;          /* numa_policy=interleave */
    bool bootloader_known;     /* the firmware could be asked for its configuration */
    int banklow;               /* SDRAM_BANKLOW there; -1: left to the bootloader */
    long long bootloader_date; /* seconds since 1970; 0: unknown */
};

struct fct_doctor_model {
    char name[128]; /* of the file, without its folder; "" for the embedded demo */
    char weights[32];
    char fault[512]; /* why it cannot be opened, or "" */
    uint64_t bytes_per_token;
    fct_memory_needs needs; /* needs.available is this machine's, whatever the root */
    bool typical;           /* no model is there yet: these are a Gemma 4 E2B's in q4 */
};

struct fct_doctor_facts {
    /* what it is */
    char board[96], cpu[96], system[96], release[64];
    int pi; /* which Raspberry Pi: 3, 4, 5; 0: another machine */
    bool virtual_machine, container;
    /* CPUs and kernels */
    int n_cpus, n_usable;               /* that there are; that affinity and quota leave */
    char features[128];                 /* those that kernels are chosen by */
    char best_kernels[32], kernels[32]; /* by the features; that runs, "" if nothing was asked */
    bool kernels_forced;
    /* memory */
    struct fct_memory_state memory;
    struct fct_storage swap; /* where the largest swap lies */
    bool memory_groups_off;  /* cgroup_disable=memory */
    long page_bytes;
    uint64_t huge_page_bytes; /* 0: unknown */
    char huge_pages[16];      /* "always", "madvise", "never", or "" */
    struct fct_doctor_banks banks;
    /* clock and heat */
    struct fct_governor governor;
    struct fct_sensors sensors; /* at rest */
    double busy_clock_hz;       /* while memory was measured; NAN: it was not */
    double allowed_clock_hz;    /* scaling_max_freq; NAN: unknown */
    double load;                /* of the last minute, NAN: unknown */
    /* the model and what was measured */
    struct fct_storage storage; /* where the model lies */
    struct fct_doctor_model model;
    double bandwidth; /* bytes a second; NAN: not measured */
    int bandwidth_threads;
};

/* Everything that files tell. root is "" for this machine, or a folder that stands for its root, as
 * in sensors.h; path is the model's or of the folder where it would lie. Nothing is measured. */
void fct_doctor_gather(const char *root, const char *path, struct fct_doctor_facts *out);

/* Stands for the model where there is none yet: a Gemma 4 E2B in q4. */
void fct_doctor_typical(struct fct_doctor_model *out);

/* What path lies on; kind FCT_STORAGE_UNKNOWN if that cannot be told. */
void fct_storage_find(const char *root, const char *path, struct fct_storage *out);
/* Reads the file in sequence for at most a second. */
void fct_storage_measure(const char *path, struct fct_storage *out);
const char *fct_storage_name(enum fct_storage_kind kind);

/* ---- findings: judged, nothing read ---------------------------------------------------------- */

enum fct_state { FCT_STATE_OK, FCT_STATE_NOTE, FCT_STATE_WARNING, FCT_STATE_PROBLEM };

struct fct_finding {
    const char *area; /* "memory" */
    enum fct_state state;
    char text[512];
    char advice[512];  /* what to do about it, or "" */
    char command[160]; /* the command that does it, or "" */
};
enum { FCT_MAX_FINDINGS = 32 };

struct fct_diagnosis {
    struct fct_finding findings[FCT_MAX_FINDINGS];
    int n_findings;
    /* that the model can be expected to decode with at most; NAN: cannot be told */
    double tokens_per_second;
};

void fct_doctor_judge(const struct fct_doctor_facts *facts, struct fct_diagnosis *out);
enum fct_state fct_diagnosis_worst(const struct fct_diagnosis *diagnosis);

/* Adds a finding; advice is "" for none, and what begins with "$ " is a command. */
void fct_finding_add(struct fct_diagnosis *out, enum fct_state state, const char *area,
                     const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The parts of fct_doctor_judge that have files of their own. */
void fct_judge_memory(const struct fct_doctor_facts *facts, struct fct_diagnosis *out);
void fct_judge_banks(const struct fct_doctor_facts *facts, struct fct_diagnosis *out);
void fct_judge_heat(const struct fct_doctor_facts *facts, struct fct_diagnosis *out);
void fct_judge_storage(const struct fct_doctor_facts *facts, struct fct_diagnosis *out);
void fct_judge_speed(const struct fct_doctor_facts *facts, struct fct_diagnosis *out);

/* ---- told ------------------------------------------------------------------------------------ */

void fct_doctor_print(const struct fct_doctor_facts *facts, const struct fct_diagnosis *diagnosis);
int fct_doctor_print_json(const struct fct_doctor_facts *facts,
                          const struct fct_diagnosis *diagnosis);

#endif
