/* Counts the calls of the interpreter's allocators for objects and other memory, and passes them on: see
   allocations.py.  All of it runs with the interpreter lock held.  The declarations are those of CPython's
   pymem.h, which have not changed since 3.5, so that its headers need not be installed. */

#include <stddef.h>

typedef struct {
    void *ctx;
    void *(*malloc)(void *ctx, size_t size);
    void *(*calloc)(void *ctx, size_t count, size_t size);
    void *(*realloc)(void *ctx, void *block, size_t size);
    void (*free)(void *ctx, void *block);
} Allocator; /* PyMemAllocatorEx */

enum { MEM = 1, OBJ = 2, DOMAINS };

void PyMem_GetAllocator(int domain, Allocator *allocator);
void PyMem_SetAllocator(int domain, Allocator *allocator);

static Allocator real[DOMAINS];
static long long calls;

static void *count_malloc(void *ctx, size_t size)
{
    Allocator *next = ctx;
    calls++;
    return next->malloc(next->ctx, size);
}

static void *count_calloc(void *ctx, size_t count, size_t size)
{
    Allocator *next = ctx;
    calls++;
    return next->calloc(next->ctx, count, size);
}

static void *count_realloc(void *ctx, void *block, size_t size)
{
    Allocator *next = ctx;
    calls++;
    return next->realloc(next->ctx, block, size);
}

static void pass_free(void *ctx, void *block)
{
    Allocator *next = ctx;
    next->free(next->ctx, block);
}

void start(void)
{
    for (int domain = MEM; domain < DOMAINS; domain++) {
        Allocator counting = {&real[domain], count_malloc, count_calloc, count_realloc, pass_free};
        PyMem_GetAllocator(domain, &real[domain]);
        PyMem_SetAllocator(domain, &counting);
    }
    calls = 0;
}

long long stop(void)
{
    for (int domain = MEM; domain < DOMAINS; domain++)
        PyMem_SetAllocator(domain, &real[domain]);
    return calls;
}
