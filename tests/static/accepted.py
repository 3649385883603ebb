# SPDX-License-Identifier: MIT
"""What the analysers find and why it stays: tool, file, check, a piece of the line, the reason."""

VERSIONS = {'clang-tidy': '14', 'cppcheck': '2.10', 'gcc': '12'}

EXACT = 'groups divide channels: the quotient is exact'
SMALL = 'constants, and their product is small'
POINTERS = 'an array of pointers is meant'
SYSTEM_FILE = 'a file of the kernel: its numbers are short, and the count of what was read is looked at'
OWN_BYTES = 'all bytes, also those between fields, are set; and a difference in those costs time, no more'
BITS = 'the bits are meant'
DYING = 'the program is about to end by this signal; what can still be said helps, and nothing relies on it'
PASSED_BACK = 'the address goes to a call that ends before the variable does'
KEPT = 'what was allocated belongs to the structure, whose owner frees it on failure, too'
TOLD = 'without memory there is a status'
CHECKED = 'whoever calls this has checked the plan'

ACCEPTED = [
    # Sizes and quotients.
    ('clang-tidy', 'benchmarks/memory.c', 'bugprone-implicit-widening-of-multiplication-result',
     'BLOCK_BYTES * MOST_STREAMS', SMALL),
    ('clang-tidy', 'benchmarks/verify.c', 'bugprone-implicit-widening-of-multiplication-result', '2 * BORDER', SMALL),
    ('clang-tidy', 'src/blocking.c', 'bugprone-implicit-widening-of-multiplication-result', '5 * 64', SMALL),
    ('clang-tidy', 'src/predict.c', 'bugprone-implicit-widening-of-multiplication-result', '64 * 64', SMALL),
    ('clang-tidy', 'benchmarks/peer_check.c', 'bugprone-integer-division', 'd->in_channels / d->groups', EXACT),
    ('clang-tidy', 'benchmarks/workload.c', 'bugprone-integer-division', 'd->in_channels / d->groups', EXACT),
    ('clang-tidy', 'integrations/onnx/onnx_conformance.c', 'bugprone-integer-division', 'd->in_channels / d->groups',
     EXACT),
    ('clang-tidy', 'stress/huge.c', 'bugprone-integer-division', 'd->in_channels / d->groups', EXACT),

    ('clang-tidy', 'examples/upscale.c', 'bugprone-implicit-widening-of-multiplication-result', 'PNG_IMAGE_SIZE',
     'no picture has more than MOST_PIXELS'),
    ('clang-tidy', 'integrations/onnxruntime/global_pool.c', 'bugprone-implicit-widening-of-multiplication-result',
     'SUMS * LANES', SMALL),
    ('clang-tidy', 'integrations/onnxruntime/arena.c', 'bugprone-implicit-widening-of-multiplication-result',
     '2 * HUGE_PAGE', SMALL),

    # Numbers from text, loops.
    ('clang-tidy', 'benchmarks/counter_host.c', 'cert-err34-c', 'fscanf(file, "%d"', SYSTEM_FILE),
    ('clang-tidy', 'benchmarks/interference.c', 'cert-err34-c', 'sscanf(stat', SYSTEM_FILE),
    ('clang-tidy', 'benchmarks/machine.c', 'cert-err34-c', 'MemAvailable', SYSTEM_FILE),
    ('clang-tidy', 'benchmarks/machine.c', 'cert-err34-c', 'sscanf(text[0]', SYSTEM_FILE),
    ('clang-tidy', 'benchmarks/machine.c', 'cert-err34-c', 'sscanf(text[2]', SYSTEM_FILE),
    ('clang-tidy', 'benchmarks/plot.c', 'cert-flp30-c', 'i = ceil(', 'i is a whole number, and the ticks are few'),
    ('clang-tidy', 'benchmarks/plot.c', 'cert-flp30-c', 'power = step * floor(',
     'power is a whole number, and the ticks are few'),
    ('clang-tidy', 'benchmarks/timing.c', 'cert-flp30-c', 'at = begin', 'a clock, not a counter'),
    ('clang-tidy', 'gen/activate_steps.c', 'bugprone-too-small-loop-variable', "result <= 'z'", 'a letter'),

    # Memory compared as such; arrays of pointers.
    ('clang-tidy', 'benchmarks/input.c', 'bugprone-suspicious-memory-comparison', 'memcmp(&a->desc', OWN_BYTES),
    ('clang-tidy', 'stress/trial.c', 'bugprone-suspicious-memory-comparison', 'memcmp(&key.desc', OWN_BYTES),
    ('clang-tidy', 'integrations/ggml/conv2d_ggml.c', 'bugprone-suspicious-memory-comparison', 'memcmp(&j->desc',
     OWN_BYTES),
    ('clang-tidy', 'benchmarks/oracle.c', 'bugprone-suspicious-memory-comparison', 'memcmp(&a, &b', BITS),
    ('clang-tidy', 'integrations/ggml/faults_ggml.c', 'bugprone-suspicious-memory-comparison', 'memcmp(node->data',
     BITS),
    ('clang-tidy', 'benchmarks/diff_match.c', 'bugprone-sizeof-expression', 'sizeof *m.new_rows', POINTERS),
    ('clang-tidy', 'benchmarks/diff_match.c', 'bugprone-sizeof-expression', 'sizeof *m.old_rows', POINTERS),
    ('clang-tidy', 'integrations/onnxruntime/claim.c', 'bugprone-sizeof-expression', 'sizeof *handles', POINTERS),
    ('clang-tidy', 'integrations/onnxruntime/graph.c', 'bugprone-sizeof-expression', 'sizeof *handles', POINTERS),
    ('clang-tidy', 'integrations/onnxruntime/graph.c', 'bugprone-sizeof-expression', 'sizeof *infos', POINTERS),
    ('clang-tidy', 'integrations/onnxruntime/program.c', 'bugprone-sizeof-expression', 'sizeof *fixed', POINTERS),
    ('clang-tidy', 'integrations/onnxruntime/provider.c', 'bugprone-sizeof-expression', 'sizeof *computes', POINTERS),

    # Handlers of crashes.
    ('clang-tidy', 'stress/at_hand.c', 'bugprone-signal-handler', 'fprintf(', DYING),
    ('clang-tidy', 'stress/torture.c', 'bugprone-signal-handler', 'reproducer(case_at_hand())', DYING),
    ('clang-tidy', 'stress/torture.c', 'bugprone-signal-handler', 'describe_case(case_at_hand())', DYING),
    ('gcc', 'stress/at_hand.c', 'analyzer-unsafe-call-within-signal-handler', 'fprintf(', DYING),
    ('gcc', 'stress/torture.c', 'analyzer-unsafe-call-within-signal-handler', 'fprintf(', DYING),

    # Lifetimes.
    ('cppcheck', 'benchmarks/each_run.c', 'autoVariables', 'run->runner = &r', 'the visitor ends before the runner'),
    ('cppcheck', 'integrations/onnxruntime/call.c', 'returnDanglingLifetime', 'return status', PASSED_BACK),
    ('cppcheck', 'integrations/onnxruntime/graph.c', 'returnDanglingLifetime', 'return status', PASSED_BACK),
    ('cppcheck', 'integrations/onnxruntime/provider.c', 'returnDanglingLifetime', 'return status', PASSED_BACK),
    ('cppcheck', 'benchmarks/timing.c', 'memleak', '}', KEPT),
    ('gcc', 'benchmarks/diff_match.c', 'analyzer-malloc-leak', 'add_row', KEPT),
    ('gcc', 'benchmarks/input.c', 'analyzer-malloc-leak', 'r->log.count', KEPT),
    ('gcc', 'benchmarks/input.c', 'analyzer-malloc-leak', 'input_add(list', KEPT),
    ('gcc', 'benchmarks/stored.c', 'analyzer-malloc-leak', '!s->rows', KEPT),
    ('gcc', 'benchmarks/stored.c', 'analyzer-malloc-leak', 'no memory for so many results', KEPT),
    ('gcc', 'benchmarks/stored.c', 'analyzer-malloc-leak', 's->parts = malloc', KEPT),

    ('gcc', 'integrations/onnxruntime/provider.c', 'analyzer-malloc-leak', '*count = 1',
     'the runtime has it, and gives it back'),
    ('gcc', 'integrations/onnxruntime/program.c', 'analyzer-malloc-leak', 's->owned = true', KEPT),
    ('cppcheck', 'integrations/onnxruntime/arena.c', 'invalidPointerCast', '(char *)a->blocks',
     'memory without a type'),

    # Names that the linker asks for.
    ('clang-tidy', 'benchmarks/allocations.c', 'bugprone-reserved-identifier', '__wrap_', 'what --wrap looks for'),
    ('clang-tidy', 'benchmarks/allocations.c', 'bugprone-reserved-identifier', '__real_', 'what --wrap looks for'),

    # Values that are there.
    ('cppcheck', 'benchmarks/option_help.c', 'ctunullpointer', 'snprintf(text, size', 'of size 0: only the length'),
    ('cppcheck', 'benchmarks/option_help.c', 'nullPointer', 'snprintf(text, size', 'of size 0: only the length'),
    ('cppcheck', 'benchmarks/input.c', 'ctuuninitvar', 'error->offset', 'whoever fails to parse has filled the error'),
    ('cppcheck', 'benchmarks/onnx_shapes.c', 'uninitvar', 'memcpy(all.sizes', 'without sizes, 0 bytes of them'),
    ('cppcheck', 'benchmarks/verbose_log.c', 'nullPointer', "strchr(at, ',')", 'the loop ends where it is NULL'),
    ('cppcheck', 'integrations/onnxruntime/expression.c', 'legacyUninitvar', 'buffers[i]', 'to be written to'),
    ('cppcheck', 'integrations/onnxruntime/expression.c', 'uninitvar', 'values[e->base] = values[0]',
     'the first operand, what the convolution wrote, is always there'),
    ('gcc', 'benchmarks/counters.c', 'analyzer-null-dereference', 'leader->descriptor', 'a group has a leader'),
    ('gcc', 'gen/activate_steps.c', 'analyzer-null-dereference', "strchr(step, '(')", 'each step of the table has one'),
    ('gcc', 'integrations/onnxruntime/claim.c', 'analyzer-null-dereference', 'handles[count++]', TOLD),
    ('gcc', 'integrations/onnxruntime/graph.c', 'analyzer-null-dereference', 'infos[i]', TOLD),
    ('gcc', 'integrations/onnxruntime/graph.c', 'analyzer-possible-null-dereference', 'infos[i]', TOLD),
    ('gcc', 'integrations/onnxruntime/join.c', 'analyzer-null-dereference', 'wanted[i]', TOLD),
    ('gcc', 'integrations/onnxruntime/join.c', 'analyzer-possible-null-dereference', 'wanted[i]', TOLD),
    ('gcc', 'integrations/onnxruntime/join.c', 'analyzer-null-dereference', '&normal->inputs[0]',
     'a join without a Concat has a normalization'),
    ('cppcheck', 'integrations/onnxruntime/join.c', 'uninitvar', 'p.out = out.data', 'a join has a part'),
    ('gcc', 'src/chain_run.c', 'analyzer-null-dereference', 'chain_run run = {', CHECKED),
    ('gcc', 'src/chain_run.c', 'analyzer-null-dereference', 'plan_of(&c->plan[1])', CHECKED),
    ('gcc', 'src/conv2d.c', 'analyzer-null-dereference', 'conv2d run kernel=', CHECKED),
    ('gcc', 'src/conv2d.c', 'analyzer-null-dereference', 'run[p->kernel->family]', CHECKED),
]
