//! Editions of endpoints' protocols and configs that are out of date, until nothing goes by them any more.

use crate::{
    hashing::{HashMap, HashSet},
    id::{Edition, EndpointId},
};

#[derive(Debug, Default)]
pub struct Editions {
    /// By how many probes each may still be used: they are asked for, and go by the edition of the time when they were.
    held: HashMap<(EndpointId, Edition), usize>,
    /// Those that are out of date.
    retired: HashSet<(EndpointId, Edition)>,
    unused: Vec<(EndpointId, Edition)>,
}

impl Editions {
    /// Something may go by this edition, whatever comes. None: there is nothing to be kept.
    pub fn hold(&mut self, id: EndpointId, edition: Option<Edition>) {
        if let Some(edition) = edition {
            *self.held.entry((id, edition)).or_default() += 1;
        }
    }

    /// It has gone, or does not go.
    pub fn let_go(&mut self, id: EndpointId, edition: Option<Edition>) {
        let Some(place) = edition.map(|edition| (id, edition)) else { return };
        let Some(count) = self.held.get_mut(&place) else { return };
        *count -= 1;
        if *count == 0 {
            self.held.remove(&place);
            if self.retired.remove(&place) {
                self.unused.push(place);
            }
        }
    }

    /// There is a later one, or the endpoint is gone.
    pub fn retire(&mut self, id: EndpointId, edition: Option<Edition>) {
        let Some(place) = edition.map(|edition| (id, edition)) else { return };
        match self.held.contains_key(&place) {
            true => _ = self.retired.insert(place),
            false => self.unused.push(place),
        }
    }

    /// Each is returned once.
    pub fn take_unused(&mut self) -> Vec<(EndpointId, Edition)> {
        std::mem::take(&mut self.unused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_is_unused_once_it_is_out_of_date_and_no_probe_waits_to_go_by_it() {
        let (one, other) = (EndpointId(1), EndpointId(2));
        let [first, second] = [1, 2].map(|number| Some(Edition(number)));
        let mut editions = Editions::default();
        editions.retire(one, None);
        editions.hold(one, first);
        editions.let_go(one, first);
        assert_eq!(editions.take_unused(), [], "it is in use");
        editions.hold(one, first);
        editions.hold(one, first);
        editions.retire(one, first);
        editions.retire(other, first);
        assert_eq!(editions.take_unused(), [(other, Edition(1))]);
        editions.let_go(one, first);
        editions.let_go(one, second);
        assert_eq!(editions.take_unused(), []);
        editions.let_go(one, first);
        assert_eq!(editions.take_unused(), [(one, Edition(1))]);
        editions.retire(one, second);
        assert_eq!(editions.take_unused(), [(one, Edition(2))]);
        assert_eq!(editions.take_unused(), []);
    }
}
