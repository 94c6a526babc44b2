//! How many connections a process keeps that nobody uses.
//!
//! Each endpoint has a pool of its own, so what is idle in all of them is bounded here: when there are too many, those of
//! the endpoints that were used least recently are closed. What is in use is bounded elsewhere.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// How many connections may be idle in a process.
pub const IDLE_MAX: usize = 1_024;

/// What pools have open, and what of it is idle.
#[derive(Debug)]
pub struct IdleConnections {
    max: usize,
    next_pool: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pools: HashMap<u64, Pool>,
    idle_count: usize,
    clock: u64,
}

struct Pool {
    open: usize,
    in_use: usize,
    used_at: u64,
    close: Box<dyn Fn() + Send>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { open, in_use, used_at, .. } = self;
        write!(formatter, "{open} open, {in_use} in use, used at {used_at}")
    }
}

impl Pool {
    /// Over HTTP/2 many requests use one connection, so this may be too low, never too high.
    fn idle_count(&self) -> usize {
        self.open.saturating_sub(self.in_use)
    }
}

/// A pool, as far as it is counted. It is forgotten when this is dropped.
#[derive(Debug)]
pub struct Counted {
    idle: Arc<IdleConnections>,
    pool: u64,
}

/// A connection that is open, until this is dropped.
#[derive(Debug)]
pub struct Open(Arc<Counted>);

/// A request that uses a connection, until this is dropped.
#[derive(Debug)]
pub struct InUse(Arc<Counted>);

impl IdleConnections {
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, next_pool: AtomicU64::new(0), state: Mutex::default() })
    }

    /// Counts what a new pool has; `close` lets go of what it keeps. It is called without a lock.
    pub fn count(self: &Arc<Self>, close: impl Fn() + Send + 'static) -> Arc<Counted> {
        let pool = self.next_pool.fetch_add(1, Ordering::Relaxed);
        let close = Box::new(close);
        let new = Pool { open: 0, in_use: 0, used_at: 0, close };
        self.state().pools.insert(pool, new);
        Arc::new(Counted { idle: Arc::clone(self), pool })
    }

    fn change(&self, pool: u64, change: impl FnOnce(&mut Pool)) {
        let mut state = self.state();
        let State { pools, idle_count, clock } = &mut *state;
        // A pool that had to close counts no more: what it still uses ends with its request.
        let Some(pool) = pools.get_mut(&pool) else { return };
        *clock += 1;
        *idle_count -= pool.idle_count();
        change(pool);
        pool.used_at = *clock;
        *idle_count += pool.idle_count();
        if *idle_count > self.max {
            let oldest = state.take_oldest(self.max - self.max / 8);
            drop(state);
            for pool in oldest {
                (pool.close)();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes out pools until no more than so many connections are idle in those that are left.
    fn take_oldest(&mut self, max: usize) -> Vec<Pool> {
        let idle = self.pools.iter().filter(|(_, pool)| pool.idle_count() > 0);
        let mut by_age: Vec<_> = idle.map(|(id, pool)| (pool.used_at, *id)).collect();
        by_age.sort_unstable();
        let mut taken = Vec::new();
        for (_, id) in by_age {
            if self.idle_count <= max {
                break;
            }
            if let Some(pool) = self.pools.remove(&id) {
                self.idle_count -= pool.idle_count();
                taken.push(pool);
            }
        }
        taken
    }
}

impl Counted {
    /// A connection was made.
    pub fn open(self: &Arc<Self>) -> Open {
        self.idle.change(self.pool, |pool| pool.open += 1);
        Open(Arc::clone(self))
    }

    /// A request begins.
    pub fn begin(self: &Arc<Self>) -> InUse {
        self.idle.change(self.pool, |pool| pool.in_use += 1);
        InUse(Arc::clone(self))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.idle.change(self.0.pool, |pool| pool.open -= 1);
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.idle.change(self.0.pool, |pool| pool.in_use -= 1);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut state = self.idle.state();
        if let Some(pool) = state.pools.remove(&self.pool) {
            state.idle_count -= pool.idle_count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pools_used_least_recently_are_closed_and_those_in_use_keep_what_they_use() {
        let idle = IdleConnections::new(8);
        let closed = Arc::new(Mutex::new(Vec::new()));
        let pools: Vec<_> = (0..10)
            .map(|number| {
                let closed = Arc::clone(&closed);
                idle.count(move || closed.lock().unwrap().push(number))
            })
            .collect();
        let in_use: Vec<_> = pools[..2].iter().map(Counted::begin).collect();
        let open: Vec<_> = pools[..9].iter().map(Counted::open).collect();
        assert!(closed.lock().unwrap().is_empty(), "two of nine are in use");
        drop(pools[2].begin());
        let more = [pools[9].open(), pools[3].open()];
        // The oldest are those without a use since: 4 and the next, not 2 and 3.
        assert_eq!(*closed.lock().unwrap(), [4, 5]);
        assert_eq!(idle.state().idle_count, 7);
        drop((in_use, open, more));
        assert_eq!(idle.state().idle_count, 0);
        drop(pools);
        assert!(idle.state().pools.is_empty());
    }
}
