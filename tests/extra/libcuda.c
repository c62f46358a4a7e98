/*
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

/**
 * @file
 * A stand-in for the CUDA driver, to run the CUDA filters where there is no GPU and to test
 * what they do on the host
 *
 * Built as libcuda.so.1 and found by LD_LIBRARY_PATH, it keeps the books: contexts that are
 * pushed and popped, memory, streams, events and modules. What is left at the end, and each
 * call that a driver would refuse or that would read or write beyond memory, is an error.
 * Errors are printed, and the process exits with 99.
 *
 * What is enqueued is done as late as may be: when something waits for it. Until then the host
 * cannot read the memory of the device. Kernels are compiled for the CPU, see cuda_on_cpu.h, and
 * are found by their names.
 *
 * CUDA_STAND_IN_REPORT is the file for "error: ..." and "left: ..." and, at the end, "calls N",
 * else stderr. CUDA_STAND_IN holds options, as in "delay=5,idle=1":
 *
 *   delay=K       events are ready after 0 to K queries
 *   devices=N     how many there are
 *   major=N       their compute capability
 *   idle=1        kernels do nothing, which is faster, and what valgrind needs
 *
 * A program lets calls fail by stand_in_fail().
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ffnvcodec/dynlink_cuda.h>

#define NB_MULTIPROCESSORS 4
#define PLAIN_SHARED_SIZE  (48  << 10)
#define MOST_SHARED_SIZE   (227 << 10)
#define MAX_PUSHED         16
#define MAX_PARAMS_SIZE    4096
#define PAGE               4096UL
#define ALIGNMENT          256UL
#define EXIT_STATUS        99
#define EXPORTED           __attribute__((visibility("default")))

enum Kind { CONTEXT, STREAM, EVENT, MODULE, FUNCTION, MEMORY };
static const char *const kind_name[] = {
    "context", "stream", "event", "module", "function", "memory"
};

/// Whatever the driver hands out; never freed, so that handles stay unique.
typedef struct Object {
    struct Object *next;
    enum Kind kind;
    const void *handle;             ///< the object, or the first byte of memory
    int alive;
    struct Object *context;         ///< of all but contexts
    // contexts
    int device;
    struct Object *default_stream;
    // streams
    struct Operation *first, **last;
    int own_queue;                  ///< 0: in order with the default stream
    // events
    struct Operation *record;       ///< that is not done yet
    struct Object *record_stream;
    int nb_queries;                 ///< until it is ready
    // modules and functions
    char *ptx;
    const struct Object *module;
    void *kernel;
    size_t params_size, max_shared;
    unsigned max_threads;
    // memory
    size_t size;
    int pinned;                     ///< it is the host's
} Object;

/// Parameters are passed by value, that is in memory: any kernel's are the beginning of these.
typedef struct Params {
    uint64_t words[MAX_PARAMS_SIZE / sizeof(uint64_t)];
} Params;

enum OperationKind { COPY, SET, LAUNCH, RECORD };

/// What is enqueued in a stream.
typedef struct Operation {
    struct Operation *next;
    enum OperationKind kind;
    CUDA_MEMCPY2D copy;
    void *staged;                   ///< the bytes of a source that is not pinned
    CUdeviceptr address;
    size_t size;
    int value;
    Object *event, *launched;
    unsigned grid[3], block[3];
    Params *params;
} Operation;

void on_cpu_launch(void (*kernel)(const void *), const void *params,
                   const unsigned grid[3], const unsigned block[3]);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local Object *pushed[MAX_PUSHED];
static _Thread_local int nb_pushed;
static int all_pushed;                          ///< by all threads
static Object *objects;
static int nb_calls, nb_records, nb_errors, initialized;
static const char *function = "at the end";     ///< of the driver, that runs
static int res;                                 ///< what it will return
static FILE *report;
static int max_delay, nb_devices, major, idle;

/// @name What fails
/// @{
static int fail_at, broken;
static int may_leave;                           ///< after some failures nothing can be given back
static char *failed_name;
/// @}

// ---- the books ----

__attribute__((format(printf, 3, 4)))
static void *tell(const char *kind, int error, const char *format, ...)
{
    va_list args;

    nb_errors++;
    fprintf(report, "%s: %s: ", kind, function);
    va_start(args, format);
    vfprintf(report, format, args);
    va_end(args);
    fputc('\n', report);
    res = error ? error : res;
    return NULL;
}

/// What the caller does wrong, which a driver would refuse.
#define refuse(...) tell("error", CUDA_ERROR_UNKNOWN, __VA_ARGS__)

static void *allocate(size_t size)
{
    void *ptr = calloc(1, size);

    if (!ptr)
        abort();
    return ptr;
}

static Object *current(void)
{
    return nb_pushed ? pushed[nb_pushed - 1] : NULL;
}

/**
 * Every function of the driver begins with this, which counts the call, or fails it.
 *
 * @return 1 if there is what it works on
 */
static int enter(const char *name, int needs_context)
{
    pthread_mutex_lock(&mutex);
    function = name;
    nb_calls++;
    res = 0;
    if (fail_at && (nb_calls == fail_at || broken && nb_calls > fail_at)) {
        if (nb_calls == fail_at)
            snprintf(failed_name, 64, "%s", name);
        may_leave |= broken || !strcmp(name, "cuCtxPushCurrent_v2");
        res = CUDA_ERROR_UNKNOWN;
    } else if (!initialized && strcmp(name, "cuInit")) {
        refuse("before cuInit");
    } else if (needs_context && !current()) {
        refuse("no context is current");
    }
    return !needs_context || current();
}

static int leave(void)
{
    const int ret = res;

    pthread_mutex_unlock(&mutex);
    return ret;
}

static Object *new_object(enum Kind kind)
{
    Object *object = allocate(sizeof(*object));

    object->kind    = kind;
    object->handle  = object;
    object->alive   = 1;
    object->context = kind == CONTEXT ? NULL : current();
    object->last    = &object->first;
    object->next    = objects;
    return objects = object;
}

static Object *find(const void *handle, enum Kind kind)
{
    Object *object = objects;

    while (object && (object->handle != handle || object->kind != kind))
        object = object->next;
    if (!object || !object->alive || object->context && object->context != current())
        return refuse("%p is no %s, or was given back, or is another context's", handle,
                      kind_name[kind]);
    return object;
}

/// The queue that operations of a stream go to.
static Object *find_stream(CUstream handle)
{
    Object *stream = handle ? find(handle, STREAM) : current()->default_stream;

    return !stream || stream->own_queue ? stream : current()->default_stream;
}

// ---- memory ----

/// Memory up to the end of a page, before one that nobody may touch. No address is used twice.
static void *new_memory(size_t size, int pinned)
{
    const size_t pages = (size + PAGE - 1) & -PAGE;
    uint8_t *data = mmap(NULL, pages + PAGE, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    Object *memory;

    if (!size)
        return refuse("no bytes");
    if (data == MAP_FAILED || pinned && mprotect(data, pages, PROT_READ | PROT_WRITE)) {
        res = CUDA_ERROR_UNKNOWN;
        return NULL;
    }
    memory = new_object(MEMORY);
    memory->handle = data += pages - ((size + ALIGNMENT - 1) & -ALIGNMENT);
    memory->size   = size;
    memory->pinned = pinned;
    return data;
}

/// The memory that holds an address.
static const Object *find_memory(CUdeviceptr address)
{
    for (const Object *o = objects; o; o = o->next)
        if (o->kind == MEMORY && address - (uintptr_t)o->handle < o->size)
            return o;
    return NULL;
}

/// Whether all bytes at a device address are there.
static int is_there(CUdeviceptr address, size_t size, const char *what)
{
    const Object *m = find_memory(address);

    if (!m || !m->alive || address - (uintptr_t)m->handle + size > m->size)
        refuse("%s: %zu bytes at %llu of %zu, or they were freed before", what, size,
               m ? address - (uintptr_t)m->handle : 0, m ? m->size : 0);
    return !res;
}

static void protect(const Object *memory, int protection)
{
    const uintptr_t begin = (uintptr_t)memory->handle & -PAGE;
    const uintptr_t end   = (uintptr_t)memory->handle + memory->size;

    if (mprotect((void *)begin, end - begin, protection))
        abort();
}

/// Where the memory of devices can be reached: while what is enqueued is done.
static void protect_all(int protection)
{
    for (const Object *o = objects; o; o = o->next)
        if (o->kind == MEMORY && o->alive && !o->pinned)
            protect(o, protection);
}

/// A kernel goes beyond what is there, or the host takes a device's address for its own.
static void segmentation_fault(int number)
{
    static const char message[] = "stand-in for libcuda: no memory there, or it is the device's\n";

    _exit(write(2, message, sizeof(message) - 1) < 0 ? 1 : EXIT_STATUS);
}

// ---- queues ----

static void *running_kernel;

static void call_kernel(const void *params)
{
    ((void (*)(Params))running_kernel)(*(const Params *)params);
}

static void run_copy(const Operation *op)
{
    const CUDA_MEMCPY2D *c = &op->copy;
    const uint8_t *src = op->staged ? op->staged :
                         c->srcMemoryType == CU_MEMORYTYPE_HOST ? c->srcHost :
                         (void *)(uintptr_t)c->srcDevice;
    uint8_t *dst = c->dstMemoryType == CU_MEMORYTYPE_HOST ? c->dstHost :
                   (void *)(uintptr_t)c->dstDevice;

    for (size_t y = 0; y < c->Height; y++)
        memmove(dst + y * c->dstPitch, src + y * c->srcPitch, c->WidthInBytes);
}

static void run(const Operation *op)
{
    switch (op->kind) {
    case COPY:
        run_copy(op);
        break;
    case SET:
        memset((void *)(uintptr_t)op->address, op->value, op->size);
        break;
    case LAUNCH:
        running_kernel = op->launched->kernel;
        if (!idle)
            on_cpu_launch(call_kernel, op->params, op->grid, op->block);
        break;
    case RECORD:
        if (op->event->record == op)
            op->event->record = NULL;
        break;
    }
}

/// Do what is enqueued in a stream, up to an operation or, without one, all.
static void drain(Object *stream, const Operation *until)
{
    int done = 0;

    if (!stream->first)
        return;
    protect_all(PROT_READ | PROT_WRITE);
    while (stream->first && !done) {
        Operation *op = stream->first;

        stream->first = op->next;
        if (!stream->first)
            stream->last = &stream->first;
        done = op == until;
        run(op);
        free(op->staged);
        free(op->params);
        free(op);
    }
    protect_all(PROT_NONE);
}

static void drain_context(const Object *context)
{
    for (Object *object = objects; object; object = object->next)
        if (object->kind == STREAM && object->alive && object->context == context)
            drain(object, NULL);
}

static Operation *enqueue(Object *stream, Operation op)
{
    Operation *new = allocate(sizeof(*new));

    *new          = op;
    *stream->last = new;
    stream->last  = &new->next;
    return new;
}

// ---- devices and contexts ----

/**
 * A function of the driver, declared with the type by which FFmpeg calls it. What it does may
 * set res; it is not done if the call is to fail.
 */
#define DRIVER(name, needs_context, parameters, ...)                    \
    FUNCTION_OF(name, needs_context, !res, parameters, __VA_ARGS__)

/// One after which what it is given is gone, or done, even if it fails.
#define ENDS(name, needs_context, parameters, ...)                      \
    FUNCTION_OF(name, needs_context, 1, parameters, __VA_ARGS__)

#define FUNCTION_OF(name, needs_context, is_done, parameters, ...)      \
    t ## name name;                                                     \
    EXPORTED CUresult name parameters                                   \
    {                                                                   \
        if (enter(__func__, needs_context) && is_done)                  \
            __VA_ARGS__                                                 \
        return leave();                                                 \
    }

ENDS(cuInit, 0, (unsigned flags), {
    initialized = 1;
})

ENDS(cuGetErrorName, 0, (CUresult error, const char **text), {
    *text = "CUDA_ERROR_OF_THE_STAND_IN";
})

ENDS(cuGetErrorString, 0, (CUresult error, const char **text), {
    *text = "the stand-in says so";
})

DRIVER(cuDeviceGet, 0, (CUdevice *device, int ordinal), {
    *device = ordinal;
    res     = ordinal < 0 || ordinal >= nb_devices ? CUDA_ERROR_UNKNOWN : 0;
})

DRIVER(cuDeviceGetAttribute, 0, (int *value, CUdevice_attribute attribute, CUdevice device), {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:        *value = 512;                break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:     *value = NB_MULTIPROCESSORS; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = major;              break;
    default:                                           *value = 0;
    }
})

static void push(Object *context)
{
    if (nb_pushed == MAX_PUSHED) {
        refuse("contexts are pushed and pushed");
    } else {
        pushed[nb_pushed++] = context;
        all_pushed++;
    }
}

static void pop(void)
{
    nb_pushed--;
    all_pushed--;
}

DRIVER(cuCtxCreate_v2, 0, (CUcontext *handle, unsigned flags, CUdevice device), {
    Object *context = new_object(CONTEXT);

    context->device = device;
    context->default_stream = new_object(STREAM);
    context->default_stream->context = context;
    *handle = (CUcontext)context;
    push(context);
})

/// Tell what is left of a context, which takes it along, or of all.
static void end_context(const Object *context)
{
    for (Object *object = objects; object; object = object->next)
        if (object->alive && object->kind != FUNCTION && (!context || object->context == context)) {
            if (!may_leave)
                tell("left", 0, "a %s was not given back", kind_name[object->kind]);
            object->alive = 0;
        }
}

ENDS(cuCtxDestroy_v2, 0, (CUcontext handle), {
    Object *context = find(handle, CONTEXT);

    if (context) {
        if (current() == context)
            pop();
        drain_context(context);
        context->alive = context->default_stream->alive = 0;
        end_context(context);
    }
})

DRIVER(cuCtxPushCurrent_v2, 0, (CUcontext handle), {
    Object *context = find(handle, CONTEXT);

    if (context)
        push(context);
})

ENDS(cuCtxPopCurrent_v2, 1, (CUcontext *handle), {
    *handle = (CUcontext)current();
    pop();
})

DRIVER(cuCtxGetDevice, 1, (CUdevice *device), {
    *device = current()->device;
})

// ---- memory and copies ----

/// @name Not in CudaFunctions
/// @{
typedef CUresult tcuMemHostAlloc(void **ptr, size_t size, unsigned flags);
typedef CUresult tcuMemFreeHost(void *ptr);
typedef CUresult tcuFuncSetAttribute(CUfunction function, int attribute, int value);
/// @}

DRIVER(cuMemAlloc_v2, 1, (CUdeviceptr *address, size_t size), {
    *address = (uintptr_t)new_memory(size, 0);
})

DRIVER(cuMemHostAlloc, 1, (void **ptr, size_t size, unsigned flags), {
    *ptr = new_memory(size, 1);
})

/// Waits for what is enqueued, as a driver does.
static void free_memory(const void *handle, int pinned)
{
    Object *m = find(handle, MEMORY);

    if (m && m->pinned != pinned) {
        refuse("this memory is of the other kind");
    } else if (m) {
        drain_context(m->context);
        protect(m, PROT_NONE);
        madvise((void *)((uintptr_t)m->handle & -PAGE), m->size, MADV_DONTNEED);
        m->alive = 0;
    }
}

ENDS(cuMemFree_v2, 1, (CUdeviceptr address), {
    free_memory((void *)(uintptr_t)address, 0);
})

ENDS(cuMemFreeHost, 1, (void *ptr), {
    free_memory(ptr, 1);
})

DRIVER(cuMemsetD8Async, 1, (CUdeviceptr dst, unsigned char value, size_t size, CUstream handle), {
    Object *stream = find_stream(handle);

    if (stream && is_there(dst, size, "destination"))
        enqueue(stream, (Operation){ .kind = SET, .address = dst, .size = size, .value = value });
})

static size_t copy_size(const CUDA_MEMCPY2D *c, size_t pitch)
{
    return (c->Height - 1) * pitch + c->WidthInBytes;
}

/// A driver reads a source that is not pinned at once, which FFmpeg's uploads rely on.
static void copy(CUDA_MEMCPY2D c, CUstream handle, int is_async)
{
    Object *stream = find_stream(handle);
    Operation op = { .kind = COPY, .copy = c };

    if (!stream || !c.WidthInBytes || !c.Height)
        return;
    if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY ||
        c.srcXInBytes || c.srcY || c.dstXInBytes || c.dstY ||
        c.Height > 1 && (c.srcPitch < c.WidthInBytes || c.dstPitch < c.WidthInBytes))
        refuse("rows overlap, or a copy that the stand-in does not know");
    if (c.srcMemoryType == CU_MEMORYTYPE_DEVICE)
        is_there(c.srcDevice, copy_size(&c, c.srcPitch), "source");
    if (c.dstMemoryType == CU_MEMORYTYPE_DEVICE)
        is_there(c.dstDevice, copy_size(&c, c.dstPitch), "destination");
    if (res)
        return;
    if (c.srcMemoryType == CU_MEMORYTYPE_HOST && !find_memory((uintptr_t)c.srcHost)) {
        const size_t size = copy_size(&c, c.srcPitch);

        op.staged = memcpy(allocate(size), c.srcHost, size);
    }
    enqueue(stream, op);
    if (!is_async)
        drain(stream, NULL);
}

/// One row; names are those of the fields of dst and src.
#define COPIES(name, parameters, dst_type, dst_field, src_type, src_field, stream, is_async)   \
    DRIVER(name, 1, parameters, {                                                               \
        copy((CUDA_MEMCPY2D){                                                                   \
            .dstMemoryType = CU_MEMORYTYPE_ ## dst_type, .dst_field = dst, .dstPitch = size,    \
            .srcMemoryType = CU_MEMORYTYPE_ ## src_type, .src_field = src, .srcPitch = size,    \
            .WidthInBytes  = size, .Height = 1,                                                 \
        }, stream, is_async);                                                                   \
    })

COPIES(cuMemcpyHtoD_v2,      (CUdeviceptr dst, const void *src, size_t size),
       DEVICE, dstDevice, HOST, srcHost, NULL, 0)
COPIES(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream),
       DEVICE, dstDevice, HOST, srcHost, stream, 1)
COPIES(cuMemcpyDtoH_v2,      (void *dst, CUdeviceptr src, size_t size),
       HOST, dstHost, DEVICE, srcDevice, NULL, 0)

DRIVER(cuMemcpy2DAsync_v2, 1, (const CUDA_MEMCPY2D *c, CUstream stream), {
    copy(*c, stream, 1);
})

// ---- streams and events ----

static void new_stream(CUstream *handle, unsigned flags)
{
    Object *stream = new_object(STREAM);

    stream->own_queue = flags & 1;
    *handle = (CUstream)stream;
}

typedef CUresult tcuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority);
DRIVER(cuStreamCreate, 1, (CUstream *handle, unsigned flags), {
    new_stream(handle, flags);
})
DRIVER(cuStreamCreateWithPriority, 1, (CUstream *handle, unsigned flags, int priority), {
    new_stream(handle, flags);
})

ENDS(cuStreamDestroy_v2, 1, (CUstream handle), {
    Object *stream = find(handle, STREAM);

    if (stream) {
        drain(stream, NULL);
        stream->alive = 0;
    }
})

ENDS(cuStreamSynchronize, 1, (CUstream handle), {
    Object *stream = find_stream(handle);

    if (stream)
        drain(stream, NULL);
})

DRIVER(cuEventCreate, 1, (CUevent *handle, unsigned flags), {
    *handle = (CUevent)new_object(EVENT);
})

ENDS(cuEventDestroy_v2, 1, (CUevent handle), {
    Object *event = find(handle, EVENT);

    if (event)
        event->alive = 0;
})

DRIVER(cuEventRecord, 1, (CUevent handle, CUstream stream), {
    Object *event = find(handle, EVENT), *queue = find_stream(stream);

    if (event && queue) {
        event->record = enqueue(queue, (Operation){ .kind = RECORD, .event = event });
        event->record_stream = queue;
        event->nb_queries = nb_records++ * 7919LL % (max_delay + 1);
    }
})

static void wait_for_event(const Object *event)
{
    if (event && event->record)
        drain(event->record_stream, event->record);
}

DRIVER(cuEventQuery, 1, (CUevent handle), {
    Object *event = find(handle, EVENT);

    if (event && event->record && event->nb_queries) {
        event->nb_queries--;
        res = CUDA_ERROR_NOT_READY;
    } else
        wait_for_event(event);
})

ENDS(cuEventSynchronize, 1, (CUevent handle), {
    wait_for_event(find(handle, EVENT));
})

// then there is nothing left to wait for
DRIVER(cuStreamWaitEvent, 1, (CUstream stream, CUevent handle, unsigned flags), {
    if (find_stream(stream))
        wait_for_event(find(handle, EVENT));
})

// ---- modules and launches ----

DRIVER(cuModuleLoadData, 1, (CUmodule *handle, const void *image), {
    if (strstr(image, ".version")) {
        Object *module = new_object(MODULE);

        module->ptx = strdup(image);
        *handle = (CUmodule)module;
    } else
        refuse("this is no PTX");
})

ENDS(cuModuleUnload, 1, (CUmodule handle), {
    Object *module = find(handle, MODULE);

    if (module) {
        drain_context(module->context);
        free(module->ptx);
        for (Object *object = objects; object; object = object->next)
            if (object->kind == FUNCTION && object->module == module)
                object->alive = 0;
        module->alive = 0;
    }
})

/// What PTX says of a function: the size of its only parameter, and the threads that it may have.
static Object *new_function(const Object *module, const char *name)
{
    char text[128];
    const char *entry, *param, *threads;
    Object *new;

    snprintf(text, sizeof(text), ".entry %s(", name);
    if (!(entry = strstr(module->ptx, text)))
        return NULL;
    new = new_object(FUNCTION);
    new->module = module;
    new->kernel = dlsym(RTLD_DEFAULT, name);
    new->max_shared = PLAIN_SHARED_SIZE;
    snprintf(text, sizeof(text), "%s_param_0[", name);
    param   = strstr(entry, text);
    threads = strstr(entry, ".maxntid ");
    new->params_size = param ? atoi(param + strlen(text)) : 0;
    new->max_threads = threads && threads < strchr(entry, '{') ? atoi(threads + 9) : 1024;
    if (!new->kernel || new->params_size > sizeof(Params))
        return refuse("%s is not there for the CPU, or takes too much", name);
    return new;
}

DRIVER(cuModuleGetFunction, 1, (CUfunction *handle, CUmodule module_handle, const char *name), {
    const Object *module = find(module_handle, MODULE);
    Object *new = module ? new_function(module, name) : NULL;

    if (new)
        *handle = (CUfunction)new;
    else if (!res)
        res = CUDA_ERROR_UNKNOWN;
})

DRIVER(cuFuncSetAttribute, 1, (CUfunction handle, int attribute, int value), {
    Object *launched = find(handle, FUNCTION);

    if (launched && attribute == 8 && value <= MOST_SHARED_SIZE)
        launched->max_shared = value;
    else
        res = CUDA_ERROR_UNKNOWN;
})

DRIVER(cuLaunchKernel, 1, (CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                           CUstream stream_handle, void **args, void **extra), {
    Object *launched = find(handle, FUNCTION), *stream = find_stream(stream_handle);
    const size_t threads = (size_t)block_x * block_y * block_z;
    Operation op = {
        .kind = LAUNCH, .launched = launched, .grid = { grid_x, grid_y, grid_z },
        .block = { block_x, block_y, block_z },
    };

    if (launched && (!grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535 ||
                     !threads || threads > launched->max_threads ||
                     shared > launched->max_shared)) {
        refuse("%u x %u x %u thread blocks of %zu threads, of %u at most, and %u bytes, of %zu",
               grid_x, grid_y, grid_z, threads, launched->max_threads, shared,
               launched->max_shared);
    } else if (launched && stream) {
        op.params = allocate(sizeof(Params));
        memcpy(op.params, args[0], launched->params_size);
        enqueue(stream, op);
    }
})

// ---- what FFmpeg asks for and our tests do not use ----

static CUresult unused(void)
{
    enter("a function", 0);
    refuse("not kept by the stand-in");
    return leave();
}

#define UNUSED(name) EXPORTED CUresult name(void) __attribute__((alias("unused")));

UNUSED(cuArray3DCreate_v2) UNUSED(cuArrayCreate_v2) UNUSED(cuArrayDestroy)
UNUSED(cuCtxGetCurrent) UNUSED(cuCtxSetLimit) UNUSED(cuDeviceComputeCapability)
UNUSED(cuDeviceGetCount) UNUSED(cuDeviceGetName) UNUSED(cuDevicePrimaryCtxGetState)
UNUSED(cuDevicePrimaryCtxRelease) UNUSED(cuDevicePrimaryCtxReset)
UNUSED(cuDevicePrimaryCtxRetain) UNUSED(cuDevicePrimaryCtxSetFlags) UNUSED(cuGLGetDevices_v2)
UNUSED(cuGraphicsGLRegisterImage) UNUSED(cuGraphicsMapResources)
UNUSED(cuGraphicsResourceGetMappedPointer_v2) UNUSED(cuGraphicsSubResourceGetMappedArray)
UNUSED(cuGraphicsUnmapResources) UNUSED(cuGraphicsUnregisterResource) UNUSED(cuLinkAddData)
UNUSED(cuLinkComplete) UNUSED(cuLinkCreate) UNUSED(cuLinkDestroy) UNUSED(cuMemAllocManaged)
UNUSED(cuMemAllocPitch_v2) UNUSED(cuMemcpy) UNUSED(cuMemcpy2D_v2) UNUSED(cuMemcpyAsync)
UNUSED(cuMemcpyDtoDAsync_v2) UNUSED(cuMemcpyDtoD_v2) UNUSED(cuMemcpyDtoHAsync_v2)
UNUSED(cuModuleGetGlobal) UNUSED(cuStreamAddCallback) UNUSED(cuStreamQuery)
UNUSED(cuDriverGetVersion) UNUSED(cuTexObjectCreate) UNUSED(cuTexObjectDestroy)

// ---- begin and end ----

/**
 * The calls of the driver are counted from now on.
 *
 * @param at       number of the one that fails, 0 for none
 * @param and_more whether so do all behind it, as after a kernel's failure
 * @param name     where its name goes
 */
EXPORTED void stand_in_fail(int at, int and_more, char name[64]);
void stand_in_fail(int at, int and_more, char name[64])
{
    pthread_mutex_lock(&mutex);
    nb_calls = 0;
    fail_at  = at;
    broken   = and_more;
    failed_name = name;
    pthread_mutex_unlock(&mutex);
}

/// What CUDA_STAND_IN has behind this name.
static int option(const char *name, int value)
{
    const char *text = getenv("CUDA_STAND_IN");

    text = text ? strstr(text, name) : NULL;
    return text ? atoi(text + strlen(name)) : value;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CUDA_STAND_IN_REPORT");

    report     = path ? fopen(path, "w") : stderr;
    max_delay  = option("delay=",   0);
    nb_devices = option("devices=", 1);
    major      = option("major=",   9);
    idle       = option("idle=",    0);
    if (!report || signal(SIGSEGV, segmentation_fault) == SIG_ERR)
        abort();
}

__attribute__((destructor)) static void end(void)
{
    end_context(NULL);
    if (all_pushed)
        refuse("%d contexts were pushed and not popped", all_pushed);
    if (report != stderr)
        fprintf(report, "calls %d\n", nb_calls);
    fflush(report);
    if (nb_errors) {
        fprintf(stderr, "stand-in for libcuda: %d errors\n", nb_errors);
        _exit(EXIT_STATUS);
    }
}
