//! Places in memory: what is queued for endpoints or about to be, and how much more may be.
//!
//! Each endpoint's [`Buffer`] and the account of all change in one step, so that neither is ever without the other.

use crate::{
    admit::free_places,
    id::{PRIORITY_COUNT, Priority},
    tenure::{
        delivery::Delivery,
        queue::{Kinds, RankedQueue},
    },
};

/// This part of what an endpoint may have belongs to each priority alone, so that none is kept out by higher ones.
const OWN_SHARE: usize = 16;
/// This part of it belongs to what waits in the database, so that a flood in the log does not keep out
/// what is due.
const WAITING_SHARE: usize = 4;
/// More waiting deliveries in hand than this, and than four queues, are held up by somebody's transaction:
/// no more of the endpoint are fetched.
const HELD_MOST: usize = 1_000;

/// What all endpoints have together.
#[derive(Debug)]
pub struct Memory {
    most: usize,
    taken: usize,
}

/// What one endpoint has.
#[derive(Default)]
pub struct Buffer {
    queue: RankedQueue,
    /// Deliveries, by priority, that come into the queue when they are claimed and it is their turn.
    reserved: [usize; PRIORITY_COUNT as usize],
}

impl Memory {
    pub fn new(most: usize) -> Memory {
        Memory { most, taken: 0 }
    }

    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Whether it is so full that stalled endpoints should have nothing in it.
    pub fn is_crowded(&self) -> bool {
        self.taken * 2 >= self.most
    }

    fn free(&self) -> usize {
        self.most.saturating_sub(self.taken)
    }

    /// How many more deliveries of a priority there may be for an endpoint that may have so many. What waits with a
    /// lower priority takes no room away, and a part belongs to each priority alone.
    pub fn room(&self, buffer: &Buffer, priority: Priority, limit: usize) -> usize {
        let room = free_places(self.most, self.taken, buffer.count_from(priority), limit);
        let own = (limit / OWN_SHARE).max(1).saturating_sub(buffer.count_of(priority));
        room.max(own.min(self.free()))
    }

    /// How many more there may be that wait in the database, besides what is read from the log. `in_hand`: of those.
    pub fn room_for_waiting(
        &self,
        buffer: &Buffer,
        priority: Priority,
        limit: usize,
        in_hand: usize,
    ) -> usize {
        // More than can be on its way is held up by somebody's transaction.
        if in_hand > HELD_MOST.max(4 * limit) {
            return 0;
        }
        let own = (limit / WAITING_SHARE).max(1).saturating_sub(in_hand).min(self.free());
        let room = self.room(buffer, priority, limit);
        // Half of it is left to what is read from the log.
        let room = if room > buffer.count_from(priority) { room } else { 0 };
        room.max(own)
    }

    /// A delivery will be queued once it is claimed and has its turn.
    pub fn reserve(&mut self, buffer: &mut Buffer, priority: Priority) {
        buffer.reserved[priority.index()] += 1;
        self.taken += 1;
    }

    /// Undoes a reservation.
    pub fn cancel(&mut self, buffer: &mut Buffer, priority: Priority) {
        buffer.reserved[priority.index()] -= 1;
        self.taken -= 1;
    }

    /// Takes the first of these kinds out of the queue.
    pub fn pop(&mut self, buffer: &mut Buffer, kinds: Kinds) -> Option<Delivery> {
        let delivery = buffer.queue.pop(kinds)?;
        self.taken -= 1;
        Some(delivery)
    }

    /// Takes some out of the queue, whatever their priority.
    pub fn take(
        &mut self,
        buffer: &mut Buffer,
        is_wanted: impl FnMut(&Delivery) -> bool,
    ) -> Vec<Delivery> {
        let taken = buffer.queue.take(is_wanted);
        self.taken -= taken.len();
        taken
    }

    /// The endpoint is gone: its reservations, too. Returns what was queued.
    pub fn forget(&mut self, mut buffer: Buffer) -> Vec<Delivery> {
        self.taken -= buffer.count();
        buffer.queue.take(|_| true)
    }
}

impl Buffer {
    /// Queues a delivery that was reserved.
    pub fn push(&mut self, delivery: Delivery) {
        self.reserved[delivery.priority().index()] -= 1;
        self.queue.push(delivery);
    }

    /// What is next of these kinds.
    pub fn front(&self, kinds: Kinds) -> Option<&Delivery> {
        self.queue.front(kinds)
    }

    /// What may be sent.
    pub fn queued_count(&self) -> usize {
        self.queue.len()
    }

    pub fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// What is queued and what is about to be.
    pub fn count(&self) -> usize {
        self.count_from(Priority::LOWEST)
    }

    /// The same of one priority and higher ones.
    pub fn count_from(&self, priority: Priority) -> usize {
        let reserved: usize = self.reserved[priority.index()..].iter().sum();
        self.queue.len_from(priority) + reserved
    }

    fn count_of(&self, priority: Priority) -> usize {
        self.queue.len_of(priority) + self.reserved[priority.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenure::tests::waiting;

    const LIMIT: usize = 64;

    /// Memory of which so much is taken, and so many of priority 5 of it by one endpoint.
    fn filled(taken: usize, own: usize) -> (Memory, Buffer) {
        let mut memory = Memory { most: 1_000, taken: taken - own };
        let mut buffer = Buffer::default();
        for _ in 0..own {
            memory.reserve(&mut buffer, Priority::new(5));
        }
        (memory, buffer)
    }

    #[test]
    fn each_priority_has_some_room_that_higher_ones_do_not_take() {
        for (taken, own, priority, expected) in [
            (0, 0, 0, 64),
            (64, 64, 0, 4),
            (64, 64, 5, 0),
            (900, 64, 6, 50),
            (998, 64, 0, 2),
            (1_000, 64, 0, 0),
        ] {
            let (memory, buffer) = filled(taken, own);
            let room = memory.room(&buffer, Priority::new(priority), LIMIT);
            assert_eq!(room, expected, "{taken} {own} {priority}");
        }
    }

    #[test]
    fn what_waits_in_the_database_has_a_part_that_the_log_does_not_take() {
        for (taken, own, in_hand, expected) in [
            (0, 0, 0, 64),
            (40, 40, 0, 16),
            (40, 40, 10, 6),
            (40, 40, 16, 0),
            (990, 40, 0, 10),
            (0, 0, HELD_MOST, 64),
            (0, 0, HELD_MOST + 1, 0),
        ] {
            let (memory, buffer) = filled(taken, own);
            let room = memory.room_for_waiting(&buffer, Priority::LOWEST, LIMIT, in_hand);
            assert_eq!(room, expected, "{taken} {own} {in_hand}");
        }
    }

    #[test]
    fn what_an_endpoint_has_is_counted_for_all_until_it_is_taken() {
        let (mut memory, mut buffer) = filled(100, 1);
        for number in 1..=4 {
            memory.reserve(&mut buffer, Priority::LOWEST);
            buffer.push(Delivery::due(waiting(number), 1));
        }
        assert_eq!((memory.taken(), buffer.count(), buffer.queued_count()), (104, 5, 4));
        assert_eq!((buffer.count_from(Priority::new(5)), buffer.has_queued()), (1, true));
        assert!(memory.pop(&mut buffer, Kinds::ALL).is_some());
        let is_second = |delivery: &Delivery| delivery.message.id == waiting(2).id;
        assert_eq!(memory.take(&mut buffer, is_second).len(), 1);
        memory.cancel(&mut buffer, Priority::new(5));
        assert_eq!((memory.taken(), buffer.count(), buffer.queued_count()), (101, 2, 2));
        memory.reserve(&mut buffer, Priority::LOWEST);
        assert_eq!(memory.forget(buffer).len(), 2);
        assert_eq!(memory.taken(), 99);
    }
}
