/* Runs contexts for tests that cannot load the library themselves: for another processor, or under sanitizers.

   Each request on standard input is a header, the records, and the blocks of memory: arena, weights, bindings, each
   with as much room as the context says and at the address that it has in the test, modulo a line of the cache.  The
   answer on standard output is the code of the check, its message, the code of the run and the memory afterwards.
   Nothing follows where the check refuses or nothing was to run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { LINE = 64, GUARD = 256, UNWRITTEN = 0xa5, MESSAGE = 256, CHECK_ONLY = -2 };

typedef struct header {
    int64_t step_count, binding_count, threads, first, last;
} header;

/* `data` lies in `whole`, between bytes that nothing may read or write. */
typedef struct block {
    int64_t address, bytes, writable;
    size_t size;
    unsigned char *whole, *data;
} block;

static void fail(const char *reason) {
    fprintf(stderr, "%s\n", reason);
    exit(3);
}

/* False at the end of the input. */
static int receive(void *to, size_t bytes) { return bytes == 0 || fread(to, 1, bytes, stdin) == bytes; }

static void expect(void *to, size_t bytes) {
    if (!receive(to, bytes)) fail("the request ends early");
}

static void answer(const void *from, size_t bytes) {
    if (bytes && fwrite(from, 1, bytes, stdout) != bytes) fail("nobody takes the answer");
}

static void open_block(block *b) {
    expect(b, offsetof(block, size));
    size_t before = GUARD + (size_t)b->address % LINE, after = GUARD;
    b->size = (before + (size_t)b->bytes + after + LINE - 1) / LINE * LINE;
    b->whole = aligned_alloc(LINE, b->size);
    if (!b->whole) fail("out of memory");
    memset(b->whole, UNWRITTEN, b->size);
    b->data = b->whole + before;
    expect(b->data, (size_t)b->bytes);
    ASAN_POISON_MEMORY_REGION(b->whole, before);
    ASAN_POISON_MEMORY_REGION(b->data + b->bytes, b->size - before - (size_t)b->bytes);
}

static void close_block(block *b, int number) {
    ASAN_UNPOISON_MEMORY_REGION(b->whole, b->size);
    for (unsigned char *at = b->whole; at < b->whole + b->size; at++) {
        if (at == b->data) at += b->bytes;
        if (*at == UNWRITTEN) continue;
        fprintf(stderr, "byte %lld of block %d, of %lld bytes, was written\n", (long long)(at - b->data), number,
                (long long)b->bytes);
        exit(3);
    }
    free(b->whole);
}

static void run_context(const header *h, const af_context *context, block *blocks, int count) {
    char message[MESSAGE] = "";
    int64_t code = af_check(context, message, sizeof message);
    answer(&code, sizeof code);
    answer(message, sizeof message);
    if (code != 0 || h->first == CHECK_ONLY) return;
    code = af_run(context, h->first, h->last);
    answer(&code, sizeof code);
    for (int i = 0; i < count; i++)
        if (blocks[i].writable) answer(blocks[i].data, (size_t)blocks[i].bytes);
}

int main(void) {
    header h;
    while (receive(&h, sizeof h)) {
        int count = (int)h.binding_count + 2;
        af_step *steps = malloc((size_t)h.step_count * sizeof *steps);
        block *blocks = calloc((size_t)count, sizeof *blocks);
        af_binding *bindings = calloc((size_t)count, sizeof *bindings);
        if (!steps || !blocks || !bindings) fail("out of memory");
        expect(steps, (size_t)h.step_count * sizeof *steps);
        for (int i = 0; i < count; i++) open_block(&blocks[i]);
        for (int i = 2; i < count; i++)
            bindings[i - 2] = (af_binding){blocks[i].data, blocks[i].bytes, blocks[i].writable};
        const af_context context = {
            .steps = steps, .step_count = h.step_count,
            .arena = blocks[0].data, .arena_bytes = blocks[0].bytes,
            .weights = blocks[1].data, .weights_bytes = blocks[1].bytes,
            .bindings = bindings, .binding_count = h.binding_count,
            .threads = h.threads,
        };
        run_context(&h, &context, blocks, count);
        for (int i = 0; i < count; i++) close_block(&blocks[i], i);
        free(bindings);
        free(blocks);
        free(steps);
        fflush(stdout);
    }
    return 0;
}
