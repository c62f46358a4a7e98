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
 * Errors are printed as "error: ..." or "left: ...", and the process exits with 99.
 *
 * What is enqueued is done as late as may be: when something waits for it. Until then whoever
 * touches the memory of the device crashes, as does a kernel that goes beyond what is there.
 * Kernels are compiled for the CPU, see cuda_on_cpu.h, and are found by their names.
 *
 * CUDA_STAND_IN holds options, as in "delay=5,idle=1":
 *
 *   delay=K       events are ready after 0 to K queries
 *   devices=N     how many there are
 *   major=N       their compute capability
 *   idle=1        kernels do nothing, which is faster, and what valgrind needs
 *   calls=1       how many there were is said at the end
 *
 * A program lets calls fail by stand_in_fail().
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
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
#define EXPORTED           __attribute__((visibility("default")))
#define POINTER(address)   ((void *)(uintptr_t)(address))

enum Kind { CONTEXT, STREAM, EVENT, MODULE, FUNCTION, MEMORY, PINNED };
static const char *const kind_name[] = {
    "context", "stream", "event", "module", "function", "memory", "memory of the host"
};

/// Whatever the driver hands out; never freed, so that handles stay unique.
typedef struct Object {
    struct Object *next;
    enum Kind kind;
    const void *handle;             ///< the object, or the first byte of memory
    int alive;
    struct Object *context;         ///< of all but contexts
    int device;                     ///< of contexts
    // streams, and contexts, which are their default streams
    struct Operation *first, **last;
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
    size_t size;                    ///< of memory
} Object;

/// What is enqueued in a stream: an event is recorded, a kernel launched, or else memory copied.
typedef struct Operation {
    struct Operation *next;
    Object *event, *launched;
    unsigned grid[3], block[3];
    CUDA_MEMCPY2D copy;             ///< from srcHost to dstHost, wherever these are
    void *memory;                   ///< the parameters, or the bytes of a source that is not pinned
} Operation;

void on_cpu_launch(void *kernel, const void *params,
                   const unsigned grid[3], const unsigned block[3]);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local Object *pushed[MAX_PUSHED];
static _Thread_local int nb_pushed;
static int all_pushed;                          ///< by all threads
static Object *objects;
static int nb_calls, nb_records, nb_errors;
static const char *function = "at the end";     ///< of the driver, that runs
static int res;                                 ///< what it will return
static int max_delay, nb_devices, major, idle;

static int fail_at, broken;                     ///< see stand_in_fail()
static char *failed_name;
static int may_leave;                           ///< after some failures nothing can be given back

// ---- the books ----

__attribute__((format(printf, 3, 4)))
static void *tell(const char *kind, int error, const char *format, ...)
{
    va_list args;

    nb_errors++;
    fprintf(stderr, "%s: %s: ", kind, function);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
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

static Object *find_stream(CUstream handle)
{
    return handle ? find(handle, STREAM) : current();
}

static void push(Object *context)
{
    if (!context)
        return;
    if (nb_pushed == MAX_PUSHED)
        abort();
    pushed[nb_pushed++] = context;
    all_pushed++;
}

static void pop(void)
{
    nb_pushed--;
    all_pushed--;
}

// ---- memory ----

/// Memory up to the end of a page, before one that nobody may touch. No address is used twice.
static void *new_memory(size_t size, enum Kind kind)
{
    const size_t pages = (size + PAGE - 1) & -PAGE;
    uint8_t *data = mmap(NULL, pages + PAGE, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    Object *memory;

    if (!size)
        return refuse("no bytes");
    if (data == MAP_FAILED || kind == PINNED && mprotect(data, pages, PROT_READ | PROT_WRITE)) {
        res = CUDA_ERROR_UNKNOWN;
        return NULL;
    }
    memory = new_object(kind);
    memory->handle = data += pages - ((size + ALIGNMENT - 1) & -ALIGNMENT);
    memory->size   = size;
    return data;
}

/// The memory that holds an address.
static const Object *find_memory(const void *address)
{
    for (const Object *o = objects; o; o = o->next)
        if (o->size && (uintptr_t)address - (uintptr_t)o->handle < o->size)
            return o;
    return NULL;
}

/// All bytes at a device address have to be there.
static void check_memory(const void *address, size_t size, const char *what)
{
    const Object *m     = find_memory(address);
    const size_t offset = m ? (uintptr_t)address - (uintptr_t)m->handle : 0;

    if (!m || !m->alive || offset + size > m->size)
        refuse("%s: %zu bytes at %zu of %zu, or they were freed before", what, size, offset,
               m ? m->size : 0);
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
        if (o->kind == MEMORY && o->alive)
            protect(o, protection);
}

// ---- queues ----

static void run(const Operation *op)
{
    const CUDA_MEMCPY2D *c = &op->copy;

    if (op->event && op->event->record == op)
        op->event->record = NULL;
    if (op->launched && !idle)
        on_cpu_launch(op->launched->kernel, op->memory, op->grid, op->block);
    for (size_t y = 0; y < c->Height; y++)
        memmove((uint8_t *)c->dstHost + y * c->dstPitch,
                (const uint8_t *)c->srcHost + y * c->srcPitch, c->WidthInBytes);
}

/// Do what is enqueued in a stream, up to an operation or, without one, all.
static void drain(Object *stream, const Operation *until)
{
    int done = 0;

    if (!stream || !stream->first)
        return;
    protect_all(PROT_READ | PROT_WRITE);
    while (stream->first && !done) {
        Operation *op = stream->first;

        stream->first = op->next;
        if (!stream->first)
            stream->last = &stream->first;
        done = op == until;
        run(op);
        free(op->memory);
        free(op);
    }
    protect_all(PROT_NONE);
}

static void drain_context(Object *context)
{
    for (Object *object = objects; object; object = object->next)
        if (object == context || object->context == context)
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

static void wait_for_event(const Object *event)
{
    if (event && event->record)
        drain(event->record_stream, event->record);
}

static size_t copy_size(const CUDA_MEMCPY2D *c, size_t pitch)
{
    return (c->Height - 1) * pitch + c->WidthInBytes;
}

/// A driver reads a source that is not pinned at once, which FFmpeg's uploads rely on.
static void copy(CUDA_MEMCPY2D c, CUstream handle)
{
    Object *stream = find_stream(handle);
    void *staged   = NULL;

    if (!stream || !c.WidthInBytes || !c.Height)
        return;
    if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY ||
        c.srcXInBytes || c.srcY || c.dstXInBytes || c.dstY ||
        c.Height > 1 && (c.srcPitch < c.WidthInBytes || c.dstPitch < c.WidthInBytes))
        refuse("rows overlap, or a copy that the stand-in does not know");
    if (c.srcMemoryType == CU_MEMORYTYPE_DEVICE)
        check_memory(c.srcHost = POINTER(c.srcDevice), copy_size(&c, c.srcPitch), "source");
    if (c.dstMemoryType == CU_MEMORYTYPE_DEVICE)
        check_memory(c.dstHost = POINTER(c.dstDevice), copy_size(&c, c.dstPitch), "destination");
    if (res)
        return;
    if (!find_memory(c.srcHost)) {
        const size_t size = copy_size(&c, c.srcPitch);

        c.srcHost = staged = memcpy(allocate(size), c.srcHost, size);
    }
    enqueue(stream, (Operation){ .copy = c, .memory = staged });
}

static void upload(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
    copy((CUDA_MEMCPY2D){
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dst,
        .srcMemoryType = CU_MEMORYTYPE_HOST,   .srcHost   = src,
        .WidthInBytes  = size,                 .Height    = 1,
    }, stream);
}

// ---- what is given back ----

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

/// Waits for what is enqueued, as a driver does.
static void give_back(const void *handle, enum Kind kind)
{
    Object *object = find(handle, kind);

    if (!object)
        return;
    if (kind != EVENT)
        drain_context(kind == CONTEXT ? object : object->context);
    if (current() == object)
        pop();
    if (kind == CONTEXT)
        end_context(object);
    for (Object *o = objects; o; o = o->next)
        o->alive &= o->module != object;
    if (object->size) {
        protect(object, PROT_NONE);
        madvise((void *)((uintptr_t)object->handle & -PAGE), object->size, MADV_DONTNEED);
    }
    free(object->ptx);
    object->alive = 0;
}

// ---- functions of the driver ----

/**
 * One that is declared with the type by which FFmpeg calls it. What it does may set res; it is
 * not done if the call is to fail.
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
        if (enter(__func__, needs_context) && is_done) {                \
            __VA_ARGS__;                                                \
        }                                                               \
        return leave();                                                 \
    }

/// @name Not in CudaFunctions
/// @{
typedef CUresult tcuMemHostAlloc(void **ptr, size_t size, unsigned flags);
typedef CUresult tcuMemFreeHost(void *ptr);
typedef CUresult tcuFuncSetAttribute(CUfunction function, int attribute, int value);
typedef CUresult tcuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority);
/// @}

ENDS(cuInit,             0, (unsigned flags))
ENDS(cuGetErrorName,     0, (CUresult error, const char **text), *text = "CUDA_ERROR_OF_STAND_IN")
ENDS(cuGetErrorString,   0, (CUresult error, const char **text), *text = "the stand-in says so")
ENDS(cuCtxDestroy_v2,    0, (CUcontext context),   give_back(context, CONTEXT))
ENDS(cuStreamDestroy_v2, 1, (CUstream stream),     give_back(stream, STREAM))
ENDS(cuEventDestroy_v2,  1, (CUevent event),       give_back(event, EVENT))
ENDS(cuModuleUnload,     1, (CUmodule module),     give_back(module, MODULE))
ENDS(cuMemFree_v2,       1, (CUdeviceptr address), give_back(POINTER(address), MEMORY))
ENDS(cuMemFreeHost,      1, (void *ptr),           give_back(ptr, PINNED))

DRIVER(cuMemAlloc_v2, 1, (CUdeviceptr *address, size_t size),
       *address = (uintptr_t)new_memory(size, MEMORY))
DRIVER(cuMemHostAlloc, 1, (void **ptr, size_t size, unsigned flags),
       *ptr = new_memory(size, PINNED))
DRIVER(cuMemcpyHtoDAsync_v2, 1, (CUdeviceptr dst, const void *src, size_t size, CUstream stream),
       upload(dst, src, size, stream))
DRIVER(cuMemcpy2DAsync_v2, 1, (const CUDA_MEMCPY2D *c, CUstream stream), copy(*c, stream))
// all streams are non-blocking ones: they do not wait for the default one
DRIVER(cuStreamCreate, 1, (CUstream *stream, unsigned flags), *stream = (void *)new_object(STREAM))
DRIVER(cuStreamCreateWithPriority, 1, (CUstream *stream, unsigned flags, int priority),
       *stream = (void *)new_object(STREAM))
DRIVER(cuEventCreate, 1, (CUevent *event, unsigned flags), *event = (void *)new_object(EVENT))
// then there is nothing left to wait for
DRIVER(cuStreamWaitEvent, 1, (CUstream stream, CUevent event, unsigned flags),
       wait_for_event(find_stream(stream) ? find(event, EVENT) : NULL))
ENDS(cuEventSynchronize,  1, (CUevent event),   wait_for_event(find(event, EVENT)))
ENDS(cuStreamSynchronize, 1, (CUstream stream), drain(find_stream(stream), NULL))
DRIVER(cuCtxPushCurrent_v2, 0, (CUcontext context), push(find(context, CONTEXT)))

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

DRIVER(cuCtxCreate_v2, 0, (CUcontext *handle, unsigned flags, CUdevice device), {
    Object *context = new_object(CONTEXT);

    context->device = device;
    *handle = (CUcontext)context;
    push(context);
})

ENDS(cuCtxPopCurrent_v2, 1, (CUcontext *handle), {
    *handle = (CUcontext)current();
    pop();
})

DRIVER(cuCtxGetDevice, 1, (CUdevice *device), *device = current()->device)

DRIVER(cuMemsetD8Async, 1, (CUdeviceptr dst, unsigned char value, size_t size, CUstream stream), {
    void *values = memset(allocate(size), value, size);

    upload(dst, values, size, stream);
    free(values);
})

DRIVER(cuMemcpyDtoH_v2, 1, (void *dst, CUdeviceptr src, size_t size), {
    copy((CUDA_MEMCPY2D){
        .dstMemoryType = CU_MEMORYTYPE_HOST,   .dstHost   = dst,
        .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = src,
        .WidthInBytes  = size,                 .Height    = 1,
    }, NULL);
    drain(current(), NULL);
})

DRIVER(cuEventRecord, 1, (CUevent handle, CUstream stream), {
    Object *event = find(handle, EVENT), *queue = find_stream(stream);

    if (event && queue) {
        event->record = enqueue(queue, (Operation){ .event = event });
        event->record_stream = queue;
        event->nb_queries = nb_records++ * 7919LL % (max_delay + 1);
    }
})

DRIVER(cuEventQuery, 1, (CUevent handle), {
    Object *event = find(handle, EVENT);

    if (event && event->record && event->nb_queries) {
        event->nb_queries--;
        res = CUDA_ERROR_NOT_READY;
    } else
        wait_for_event(event);
})

DRIVER(cuModuleLoadData, 1, (CUmodule *handle, const void *image), {
    if (strstr(image, ".version")) {
        Object *module = new_object(MODULE);

        module->ptx = strdup(image);
        *handle = (CUmodule)module;
    } else
        refuse("this is no PTX");
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
    if (!new->kernel || new->params_size > MAX_PARAMS_SIZE)
        return refuse("%s is not there for the CPU, or takes too much", name);
    return new;
}

DRIVER(cuModuleGetFunction, 1, (CUfunction *handle, CUmodule module_handle, const char *name), {
    const Object *module = find(module_handle, MODULE);
    Object *new = module ? new_function(module, name) : NULL;

    *handle = (CUfunction)new;
    res     = new ? 0 : CUDA_ERROR_UNKNOWN;
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
        .launched = launched,
        .grid     = { grid_x, grid_y, grid_z },
        .block    = { block_x, block_y, block_z },
    };

    if (launched && (!grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535 ||
                     !threads || threads > launched->max_threads ||
                     shared > launched->max_shared)) {
        refuse("%u x %u x %u thread blocks of %zu threads, of %u at most, and %u bytes, of %zu",
               grid_x, grid_y, grid_z, threads, launched->max_threads, shared,
               launched->max_shared);
    } else if (launched && stream) {
        op.memory = memcpy(allocate(MAX_PARAMS_SIZE), args[0], launched->params_size);
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
UNUSED(cuMemcpyHtoD_v2) UNUSED(cuModuleGetGlobal) UNUSED(cuStreamAddCallback)
UNUSED(cuStreamQuery) UNUSED(cuDriverGetVersion) UNUSED(cuTexObjectCreate)
UNUSED(cuTexObjectDestroy)

// ---- begin and end ----

/// Call number at from now on fails, or none for 0, and_more behind it; its name goes to name.
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
    max_delay  = option("delay=",   0);
    nb_devices = option("devices=", 1);
    major      = option("major=",   9);
    idle       = option("idle=",    0);
}

__attribute__((destructor)) static void end(void)
{
    end_context(NULL);
    if (all_pushed)
        refuse("%d contexts were pushed and not popped", all_pushed);
    if (option("calls=", 0))
        fprintf(stderr, "calls %d\n", nb_calls);
    if (nb_errors)
        _exit(99);
}
