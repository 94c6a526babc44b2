//! Places in flight: how many deliveries are on their way, and what the payloads of those weigh that do not come along.
//!
//! Each endpoint's [`Flight`] and the account of all change in one step, so that neither is ever without the other.
//! Endpoints that have shown lately that they work are trusted; the others share a part of all places.

use std::time::{Duration, Instant};

use crate::{
    admit::free_places,
    id::EndpointId,
    weights::{Held, Size, Weights},
};

/// An endpoint with something in flight and no answer for so long is stalled: until it answers, it
/// gets a small share of what is in flight, and hardly anything in memory.
const STALLED_AFTER: Duration = Duration::from_millis(500);
/// Endpoints that have accepted nothing lately share this part of what may be in flight, so that any
/// number of them leaves the rest to those that work. One place each they get besides, to show
/// whether they do.
const DOUBTFUL_PART: usize = 2;
/// Payloads that do not come along are in memory only while they are sent: up to so many KiB.
const FETCHED_KIB: usize = 64 * 1024;

/// What is in flight to all endpoints together.
#[derive(Debug)]
pub struct Flights {
    most: usize,
    count: usize,
    /// Of those, to endpoints that are not trusted.
    doubtful: usize,
    weights: Weights,
}

/// What is in flight to one endpoint.
#[derive(Debug)]
pub struct Flight {
    count: usize,
    /// What the payloads of those weigh that did not come along, and whether it is doubtful: it has accepted nothing yet, or
    /// has stalled or kept failing since.
    weight: Held,
    /// There was room for its next one of this size, and it has not taken it yet.
    has_turn: [bool; Size::ALL.len()],
    /// When something was last answered, or first sent after a rest.
    answered_at: Instant,
}

impl Flights {
    pub fn new(most: usize) -> Flights {
        Flights { most, count: 0, doubtful: 0, weights: Weights::new(FETCHED_KIB) }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn is_full(&self) -> bool {
        self.count >= self.most
    }

    /// How many more may go to an endpoint to which so many may be in flight.
    pub fn free(&self, flight: &Flight, limit: usize) -> usize {
        let free = |total, taken| free_places(total, taken, flight.count, limit);
        let places = free(self.most, self.count);
        match flight.is_trusted() {
            true => places,
            false => free(self.most / DOUBTFUL_PART, self.doubtful)
                .max(usize::from(flight.count == 0))
                .min(places),
        }
    }

    /// So many are on their way. What they weigh is taken before, one by one.
    pub fn begin(&mut self, flight: &mut Flight, count: usize, now: Instant) {
        if flight.count == 0 {
            flight.answered_at = now;
        }
        flight.count += count;
        self.count += count;
        if !flight.is_trusted() {
            self.doubtful += count;
        }
    }

    /// One of this weight is back.
    pub fn land(&mut self, flight: &mut Flight, weight: usize) {
        flight.count -= 1;
        self.count -= 1;
        self.weights.put_down(&mut flight.weight, weight);
        if !flight.is_trusted() {
            self.doubtful -= 1;
        }
    }

    /// The endpoint is gone.
    pub fn forget(&mut self, flight: &Flight) {
        self.count -= flight.count;
        self.weights.forget(&flight.weight);
        if !flight.is_trusted() {
            self.doubtful -= flight.count;
        }
    }

    /// The endpoint has shown that it works, or that it may not.
    pub fn set_trust(&mut self, flight: &mut Flight, is_trusted: bool) {
        match (flight.is_trusted(), is_trusted) {
            (false, true) => self.doubtful -= flight.count,
            (true, false) => self.doubtful += flight.count,
            _ => return,
        }
        flight.weight.set_doubtful(!is_trusted);
    }

    /// Takes room for a payload, or waits for it.
    pub fn finds_room(
        &mut self,
        id: EndpointId,
        flight: &mut Flight,
        size: Size,
        weight: usize,
    ) -> bool {
        let has_turn = &mut flight.has_turn[size.index()];
        if !self.weights.may_take(&flight.weight, weight, *has_turn) {
            self.weights.wait(id, &flight.weight, size);
            return false;
        }
        self.weights.take(&mut flight.weight, weight);
        *has_turn = false;
        true
    }

    /// Whether nobody waits for room for a payload.
    pub fn is_line_quiet(&self) -> bool {
        self.weights.is_quiet()
    }

    /// Takes the first out of a line for whose payload there is room by now. `needs`: what an endpoint has in flight,
    /// and what its next of a size weighs.
    pub fn first_in_line<'a>(
        &mut self,
        needs: impl Fn(EndpointId, Size) -> Option<(&'a Flight, usize)>,
    ) -> Option<(EndpointId, Size)> {
        self.weights.first_in_line(|id, size| {
            let (flight, weight) = needs(id, size)?;
            Some((&flight.weight, weight))
        })
    }

    /// Endpoints that may find room by now.
    pub fn take_woken(&mut self) -> Vec<EndpointId> {
        self.weights.take_woken()
    }
}

impl Flight {
    /// Of an endpoint that is not trusted yet.
    pub fn new(now: Instant) -> Flight {
        Flight {
            count: 0,
            weight: Held::doubtful(),
            has_turn: [false; Size::ALL.len()],
            answered_at: now,
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn is_trusted(&self) -> bool {
        !self.weight.is_doubtful()
    }

    pub fn is_stalled(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.answered_at + STALLED_AFTER
    }

    pub fn note_answer(&mut self, now: Instant) {
        self.answered_at = now;
    }

    pub fn has_turn(&self, size: Size) -> bool {
        self.has_turn[size.index()]
    }

    /// A turn in line is given, or was for nothing.
    pub fn set_turn(&mut self, size: Size, has_turn: bool) {
        self.has_turn[size.index()] = has_turn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_that_are_not_trusted_share_half_and_one_place_each() {
        for (is_trusted, own, count, doubtful, expected) in [
            (true, 0, 0, 0, 50),
            (true, 0, 50, 50, 25),
            (false, 0, 0, 0, 25),
            (false, 0, 50, 0, 25),
            (false, 0, 50, 50, 1),
            (false, 1, 50, 50, 0),
            (false, 0, 100, 50, 0),
        ] {
            let flights = Flights { count, doubtful, ..Flights::new(100) };
            let mut weight = Held::doubtful();
            weight.set_doubtful(!is_trusted);
            let flight = Flight { count: own, weight, ..Flight::new(Instant::now()) };
            let free = flights.free(&flight, 64);
            assert_eq!(free, expected, "{is_trusted} {own} {count} {doubtful}");
        }
    }

    #[test]
    fn what_is_in_flight_is_counted_where_its_endpoint_is_thought_of() {
        let now = Instant::now();
        let mut flights = Flights::new(100);
        let (mut one, mut other) = (Flight::new(now), Flight::new(now));
        flights.begin(&mut one, 3, now);
        flights.begin(&mut other, 2, now);
        assert_eq!((flights.count(), flights.doubtful), (5, 5));
        for (is_trusted, doubtful) in [(true, 2), (true, 2), (false, 5), (true, 2)] {
            flights.set_trust(&mut one, is_trusted);
            assert_eq!(flights.doubtful, doubtful, "{is_trusted}");
        }
        flights.land(&mut one, 0);
        flights.land(&mut other, 0);
        assert_eq!((flights.count(), flights.doubtful), (3, 1));
        flights.forget(&other);
        assert_eq!((flights.count(), flights.doubtful), (2, 0));
        assert!(!flights.is_full());
        flights.begin(&mut one, 98, now);
        assert!(flights.is_full());
    }

    #[test]
    fn an_endpoint_is_stalled_while_something_is_in_flight_and_nothing_is_answered() {
        let now = Instant::now();
        let (began, answered) = (now + STALLED_AFTER, now + STALLED_AFTER * 3);
        let mut flights = Flights::new(100);
        let mut flight = Flight::new(now);
        assert!(!flight.is_stalled(began), "nothing is in flight");
        flights.begin(&mut flight, 1, began);
        assert!(!flight.is_stalled(began), "it was sent just now");
        flights.begin(&mut flight, 1, began + STALLED_AFTER);
        assert!(flight.is_stalled(began + STALLED_AFTER), "what is sent is no answer");
        flight.note_answer(answered);
        assert!(!flight.is_stalled(answered));
        flights.land(&mut flight, 0);
        assert!(flight.is_stalled(answered + STALLED_AFTER));
        flights.land(&mut flight, 0);
        assert!(!flight.is_stalled(answered + STALLED_AFTER));
    }

    #[test]
    fn a_turn_is_good_for_one_payload() {
        let (id, size, now) = (EndpointId(1), Size::Small, Instant::now());
        let mut flights = Flights::new(100);
        let mut others = Vec::new();
        let mut flight = Flight::new(now);
        while flights.finds_room(id, &mut flight, size, 64) {
            flights.begin(&mut flight, 1, now);
            others.push(std::mem::replace(&mut flight, Flight::new(now)));
        }
        assert!(!flights.is_line_quiet());
        assert_eq!(flights.first_in_line(|_, _| Some((&flight, 64))), None, "all is taken");
        flights.land(&mut others[0], 64);
        assert_eq!(flights.first_in_line(|_, _| Some((&flight, 64))), Some((id, size)));
        flight.set_turn(size, true);
        assert!(flights.finds_room(id, &mut flight, size, 64));
        assert!(!flight.has_turn(size));
        assert!(!flights.finds_room(id, &mut flight, size, 64));
    }
}
