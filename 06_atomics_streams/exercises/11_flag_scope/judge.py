"""Exercise 06/flag_scope."""

from exercise.api import Array, Case, Right, drawn, float32, floats

TITLE = "Repair: a flag between two GPUs"
KIND = "repair"
MINUTES = 20
SETTINGS = {"SIMT_DEVICES": "2"}

ROUND = 3 * 64  # elements


def cases(random):
    sizes = [1, 64, ROUND, 2 * ROUND, 5 * ROUND - 7]
    sizes += [drawn(random, 65, ROUND - 1), drawn(random, 3 * ROUND + 1, 4 * ROUND - 1)]
    for n in sizes:
        x = floats(random, n)
        yield Case(f"n = {n}", {"n": n}, [Array("x", x), Array("y", role="output", count=n)])


def expected(case):
    return {"y": [float32(float32(2 * value) + 1) for value in case["x"].values]}


POINTS = [
    Right(3, "one round", lambda case: case.sizes["n"] <= ROUND),
    Right(5, "the inbox is used again", lambda case: case.sizes["n"] > ROUND, task=3),
]

TELL = "__syncthreads();\nif (threadIdx.x == 0) {{ {0} }}"
WAIT = "if (threadIdx.x == 0) {{ {0} }}\n__syncthreads();"
ARRIVED, TAKEN = "tell(&arrived[blockIdx.x], round);", "tell(&taken[blockIdx.x], round);"
SEEN = "wait(&arrived[blockIdx.x], round);"

RIGHTS = {
    "a fence of each thread": {
        1: f"__threadfence_system();\n__syncthreads();\nif (threadIdx.x == 0) {ARRIVED}",
        2: "wait(arrived + blockIdx.x, round);\n__threadfence_system();",
        3: f"__threadfence_system();\n__syncthreads();\nif (!threadIdx.x) {TAKEN}",
    },
    "atomics of the system": {
        1: TELL.format("__threadfence_system(); atomicExch_system(arrived + blockIdx.x, round);"),
        2: WAIT.format(
            "while (atomicAdd_system(&arrived[blockIdx.x], 0u) != round) {}\n"
            "__threadfence_system();"
        ),
        3: TELL.format("__threadfence_system(); atomicAdd_system(&taken[blockIdx.x], 1u);"),
    },
    "the last thread": {
        1: "__syncthreads();\n"
        f"if (threadIdx.x == kThreads - 1) {{ __threadfence_system(); {ARRIVED} }}",
        2: f"if (threadIdx.x == kThreads - 1) {SEEN}\n__syncthreads();\n__threadfence_system();",
    },
}

MUTANTS = {
    "a fence of the device before arrived": {1: TELL.format("__threadfence();" + ARRIVED)},
    "arrived without a fence": {1: TELL.format(ARRIVED)},
    "arrived without a barrier": {
        1: f"if (threadIdx.x == 0) {{ __threadfence_system(); {ARRIVED} }}"
    },
    "a fence of the first thread, then the barrier": {
        1: f"if (threadIdx.x == 0) __threadfence_system();\n__syncthreads();\n"
        f"if (threadIdx.x == 0) {ARRIVED}"
    },
    "a fence of the second warp, then the barrier": {
        3: f"if (threadIdx.x >= 32) __threadfence_system();\n__syncthreads();\n"
        f"if (threadIdx.x == 0) {TAKEN}"
    },
    "a fence behind arrived": {1: TELL.format(ARRIVED + " __threadfence_system();")},
    "an atomic of the device": {
        1: TELL.format("__threadfence_system(); atomicExch(&arrived[blockIdx.x], round);"),
        2: WAIT.format(
            "while (atomicAdd(&arrived[blockIdx.x], 0u) != round) {} __threadfence_system();"
        ),
    },
    "a fence of the device behind the wait": {2: WAIT.format(SEEN + " __threadfence();")},
    "no fence behind the wait": {2: WAIT.format(SEEN)},
    "the others do not wait": {2: f"if (threadIdx.x == 0) {{ {SEEN} __threadfence_system(); }}"},
    "taken by the first thread alone": {
        3: f"if (threadIdx.x == 0) {{ __threadfence_system(); {TAKEN} }}"
    },
    "taken without a fence": {3: TELL.format(TAKEN)},
    "a fence of the device before taken": {3: TELL.format("__threadfence();" + TAKEN)},
    "a round too early": {3: f"if (threadIdx.x == 0) {TAKEN}\n__syncthreads();"},
}
