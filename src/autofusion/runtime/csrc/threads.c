/* Workers are made when first needed and live as long as the process.  Each waits for an offer of its own: first
   spinning, as the next step usually follows within microseconds, then asleep on a futex.  A caller that is done
   with its own part takes back what no worker has begun, so that a busy machine costs speed but no stall.  The
   child of a fork starts with an empty pool. */
#define _GNU_SOURCE
#include "threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORKERS = 255, SPIN_NANOSECONDS = 60000, PAUSES_PER_LOOK = 32 };

typedef struct job {
    void (*work)(void *argument, int64_t part, int64_t parts);
    void *argument;
    int64_t parts;
} job;

/* A word that threads wait on until it changes. */
typedef struct signal_word {
    _Atomic uint32_t value;
    _Atomic int32_t sleepers;
} signal_word;

typedef struct worker {
    signal_word offer; /* odd while a job waits to be claimed, by the worker or back by the caller */
    job job;
    int64_t part;
} __attribute__((aligned(64))) worker;

static struct pool {
    pthread_mutex_t busy;
    int64_t worker_count;
    signal_word pending; /* workers that have not ended their part */
    worker workers[MAX_WORKERS];
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t read_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Return when `word` no longer holds `old`. */
static void await_change(signal_word *word, uint32_t old) {
    int64_t end = read_clock() + SPIN_NANOSECONDS;
    do {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if (atomic_load_explicit(&word->value, memory_order_acquire) != old) return;
            pause_briefly();
        }
    } while (read_clock() < end);
    atomic_fetch_add(&word->sleepers, 1);
    while (atomic_load(&word->value) == old)
        syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    atomic_fetch_sub(&word->sleepers, 1);
}

static void wake_sleepers(signal_word *word) {
    if (atomic_load(&word->sleepers) > 0)
        syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static int claim(worker *worker) {
    uint32_t offer = atomic_load_explicit(&worker->offer.value, memory_order_acquire);
    return (offer & 1) && atomic_compare_exchange_strong(&worker->offer.value, &offer, offer + 1);
}

static void *serve(void *argument) {
    worker *self = argument;
    for (;;) {
        if (claim(self)) {
            self->job.work(self->job.argument, self->part, self->job.parts);
            if (atomic_fetch_sub(&pool.pending.value, 1) == 1) wake_sleepers(&pool.pending);
        }
        uint32_t offer = atomic_load_explicit(&self->offer.value, memory_order_acquire);
        if (!(offer & 1)) await_change(&self->offer, offer);
    }
    return NULL;
}

/* In the child of a fork no worker exists, and whoever held the pool does not either. */
static void forget_workers(void) {
    pthread_mutex_init(&pool.busy, NULL);
    pool.worker_count = 0;
    pool.pending = (signal_word){0};
    for (int i = 0; i < MAX_WORKERS; i++) pool.workers[i].offer = (signal_word){0};
}

static void register_fork_handler(void) { pthread_atfork(NULL, NULL, forget_workers); }

/* Have `count` workers if possible.  They take no signals, which belong to the threads of the program. */
static void add_workers(int64_t count) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.worker_count < count) {
        pthread_t thread;
        worker *next = &pool.workers[pool.worker_count];
        if (pthread_create(&thread, NULL, serve, next) != 0) break;
        pthread_detach(thread);
        pool.worker_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void af_parallel(void (*work)(void *argument, int64_t part, int64_t parts), void *argument, int64_t parts) {
    pthread_once(&once, register_fork_handler);
    int64_t helpers = 0;
    int is_mine = parts > 1 && pthread_mutex_trylock(&pool.busy) == 0;
    if (is_mine) {
        helpers = parts - 1 < MAX_WORKERS ? parts - 1 : MAX_WORKERS;
        if (pool.worker_count < helpers) add_workers(helpers);
        if (pool.worker_count < helpers) helpers = pool.worker_count;
        atomic_store(&pool.pending.value, (uint32_t)helpers);
        for (int64_t i = 0; i < helpers; i++) {
            worker *worker = &pool.workers[i];
            worker->job = (job){work, argument, parts};
            worker->part = i + 1;
            atomic_fetch_add(&worker->offer.value, 1);
            wake_sleepers(&worker->offer);
        }
    }
    work(argument, 0, parts);
    for (int64_t part = helpers + 1; part < parts; part++) work(argument, part, parts);
    if (!is_mine) return;
    for (int64_t i = 0; i < helpers; i++) {
        if (!claim(&pool.workers[i])) continue;
        work(argument, i + 1, parts);
        atomic_fetch_sub(&pool.pending.value, 1);
    }
    for (uint32_t left; (left = atomic_load_explicit(&pool.pending.value, memory_order_acquire)) > 0;)
        await_change(&pool.pending, left);
    pthread_mutex_unlock(&pool.busy);
}
