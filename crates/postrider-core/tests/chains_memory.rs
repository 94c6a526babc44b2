//! What a dispatcher remembers of an ordering key of which something waits in the database, in bytes: there may be a
//! million of them, and docs/operations.md says what each takes.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use postrider_core::{
    chains::{Chains, Link, Turn},
    id::{EndpointId, MessageId},
};

/// Bytes that are allocated in this process.
static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system's allocator does it all; what it was asked for is added up beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those that it wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: it is from `alloc`, with this layout.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is in hand of a delivery is about as large as this.
type Delivery = [u64; 12];

/// A few more than fill a hash map, which has just doubled: each has the most that it ever has.
const KEYS: usize = (1 << 16) / 8 * 7 + 1;
/// A text of this many bytes.
const KEY_BYTES: usize = 20;
/// The most of each, without the text.
const MOST: usize = 300;

fn link(number: usize) -> Link {
    let (key, id) = (format!("key-{number:0>16}"), MessageId((number as i64 + 1) << 10));
    assert_eq!(key.len(), KEY_BYTES);
    Link { key: key.into(), id, endpoint: EndpointId(7) }
}

/// How many bytes are left of each key after `each` was done with it.
fn bytes_of_each(each: impl Fn(&mut Chains<Delivery>, &Link)) -> usize {
    let mut chains = Chains::default();
    let before = LIVE.load(Ordering::Relaxed);
    for number in 0..KEYS {
        each(&mut chains, &link(number));
    }
    let bytes = LIVE.load(Ordering::Relaxed) - before;
    assert!(chains.wants_stored(&link(0)) && chains.wants_stored(&link(KEYS - 1)));
    bytes / KEYS
}

/// In one test: what others allocate meanwhile would count as well.
#[test]
fn a_key_of_which_something_waits_takes_little() {
    let failed = bytes_of_each(|chains, link| {
        assert!(chains.read(link));
        assert_eq!(chains.offer(link, [7; 12]), Turn::Go([7; 12]));
        assert_eq!(chains.store(link).len(), 0);
        chains.note_recorded(link);
    });
    // A successor finds them in the table.
    let inherited = bytes_of_each(Chains::inherit);
    // Fetched when it was due, tried again, and stored again.
    let tried_again = bytes_of_each(|chains, link| {
        chains.inherit(link);
        assert!(chains.fetch(link, true));
        assert_eq!(chains.offer(link, [7; 12]), Turn::Go([7; 12]));
        assert_eq!(chains.store(link).len(), 0);
        chains.note_recorded(link);
    });
    println!("{failed} bytes, {inherited} inherited, {tried_again} tried again");
    for bytes in [failed, inherited, tried_again] {
        assert!(bytes <= MOST + KEY_BYTES, "{failed}, {inherited}, {tried_again} bytes a key");
    }
    // Nor do those that have ended.
    let mut chains = Chains::<Delivery>::default();
    let before = LIVE.load(Ordering::Relaxed);
    for number in 0..KEYS {
        let link = link(number);
        assert!(chains.read(&link));
        chains.offer(&link, [7; 12]);
        chains.leave(&link);
    }
    assert!(chains.is_empty());
    let left = LIVE.load(Ordering::Relaxed) - before;
    assert!(left < 10_000, "{left} bytes are left of nothing");
}
