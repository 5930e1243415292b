/* Counts the bytes that a process copies with memcpy and memmove, in a file that it maps: see copies.py.
   What libc copies by itself, as in realloc, is not counted. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static long long own;
static long long *count = &own;
static void *(*real_memmove)(void *, const void *, size_t);

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("COPIED_BYTES");
    int file = path ? open(path, O_RDWR) : -1;
    if (file >= 0) {
        void *map = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED)
            count = map;
        close(file);
    }
    real_memmove = dlsym(RTLD_NEXT, "memmove");
}

void *memmove(void *to, const void *from, size_t size)
{
    volatile char *out = to;
    const volatile char *in = from;

    __atomic_fetch_add(count, (long long)size, __ATOMIC_RELAXED);
    if (real_memmove)
        return real_memmove(to, from, size);
    if (out < in) /* the loader is still at work: dlsym has not answered yet */
        for (size_t i = 0; i < size; i++)
            out[i] = in[i];
    else
        for (size_t i = size; i > 0; i--)
            out[i - 1] = in[i - 1];
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    return memmove(to, from, size);
}
