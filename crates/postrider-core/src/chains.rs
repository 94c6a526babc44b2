//! Ordering keys: who may go, who has to wait.
//!
//! The deliveries of one key form a *chain* in order of message id, each link one delivery to one
//! endpoint. A link goes only when none before it in its scope is unfinished. A chain lies in two
//! places: links *in hand*, and behind them, in the table of waiting deliveries, links that are
//! *stored*. Of those only a lower bound of their ids is known here, which is all that is needed: a
//! link in hand waits for everything stored before it, and what is read while something is stored has
//! to be stored, too.
//!
//! Pure: says what may go; the caller lets it go and says when its end is on record.

use crate::hashing::{HashMap, HashSet};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::id::{EndpointId, MessageId, Shard};

/// How many links of one chain are kept in hand, in its scope.
pub const LINKS_IN_HAND: usize = 32;

/// Where messages with one key wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// At each endpoint.
    #[default]
    Endpoint,
    /// Across all endpoints.
    Global,
}

/// One link: a delivery of a message with this key to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    pub key: Arc<str>,
    pub id: MessageId,
    pub endpoint: EndpointId,
}

/// What becomes of a delivery that was offered.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn<D> {
    /// It may go now.
    Go(D),
    /// It is kept until its turn comes.
    Wait,
    /// It is behind something that is stored, and has to be stored itself.
    Behind(D),
}

#[derive(Debug)]
enum State<D> {
    /// Not ready to go yet: being claimed, or held back by the reader.
    Coming,
    /// Ready, and waits for its turn.
    Ready(D),
    /// On its way.
    Going,
}

type Place = (MessageId, EndpointId);

/// A lower bound of ids at each of mostly very few endpoints: of every key with something stored there is one, so it is small.
#[derive(Debug, Default)]
struct Bounds(Vec<(EndpointId, MessageId)>);

impl Bounds {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = (EndpointId, MessageId)> + '_ {
        self.0.iter().copied()
    }

    fn endpoints(&self) -> impl Iterator<Item = EndpointId> + '_ {
        self.0.iter().map(|(endpoint, _)| *endpoint)
    }

    /// The bound at the endpoint becomes this one, unless it is lower already.
    fn lower(&mut self, endpoint: EndpointId, id: MessageId) {
        match self.0.iter_mut().find(|(other, _)| *other == endpoint) {
            Some((_, bound)) => *bound = (*bound).min(id),
            None => {
                self.0.reserve_exact(1);
                self.0.push((endpoint, id));
            }
        }
    }

    /// Only of endpoints that have one.
    fn raise(&mut self, id: MessageId, is_wanted: impl Fn(EndpointId) -> bool) {
        for (_, bound) in self.0.iter_mut().filter(|(endpoint, _)| is_wanted(*endpoint)) {
            *bound = (*bound).max(id);
        }
    }

    /// Whether there was one.
    fn remove(&mut self, is_unwanted: impl Fn(EndpointId) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|(endpoint, _)| !is_unwanted(*endpoint));
        self.0.len() < before
    }
}

#[derive(Debug)]
struct Chain<D> {
    shard: Shard,
    links: BTreeMap<Place, State<D>>,
    /// No delivery that is stored for the endpoint, and not in hand, has a lower id.
    stored: Bounds,
    /// Links that are being stored: the table does not show them yet.
    storing: usize,
    /// Another one whenever something is stored: an answer of the table from before is out of date.
    version: u64,
}

/// What the end of a delivery allows.
#[derive(Debug, PartialEq, Eq)]
pub struct Left<D> {
    /// These may go now.
    pub going: Vec<D>,
    /// What comes next is stored, or may be: it has to be fetched.
    pub wants_stored: bool,
}

/// All chains of the shards that are owned. `D` is a delivery.
#[derive(Debug)]
pub struct Chains<D> {
    scope: Scope,
    chains: HashMap<Arc<str>, Chain<D>>,
    /// Those of which something is in hand: of any number that wait few are.
    in_hand: HashSet<Arc<str>>,
    /// The last version that was given to any chain: none comes back, even when a chain does.
    last_version: u64,
}

impl<D> Default for Chains<D> {
    fn default() -> Self {
        Chains {
            scope: Scope::default(),
            chains: HashMap::default(),
            in_hand: HashSet::default(),
            last_version: 0,
        }
    }
}

impl<D> Chain<D> {
    fn new(link: &Link, version: u64) -> Chain<D> {
        Chain {
            shard: link.id.lane().shard(),
            links: BTreeMap::new(),
            stored: Bounds::default(),
            storing: 0,
            version,
        }
    }

    /// Whether nothing before this place in its scope is unfinished.
    fn is_first(&self, scope: Scope, (id, endpoint): Place) -> bool {
        let in_scope = |other: EndpointId| scope == Scope::Global || other == endpoint;
        let is_behind_link = self
            .links
            .keys()
            .take_while(|(before, _)| *before < id)
            .any(|(_, other)| in_scope(*other));
        !is_behind_link && !self.is_behind_stored(scope, (id, endpoint))
    }

    /// Whether no other message in its scope is on its way. One before it is waited for anyway; one
    /// behind it is there when a dead letter comes back, or when the scope became wider.
    fn is_free(&self, scope: Scope, (id, endpoint): Place) -> bool {
        !self.links.iter().any(|((other, at), state)| {
            *other != id
                && (scope == Scope::Global || *at == endpoint)
                && matches!(state, State::Going)
        })
    }

    fn is_behind_stored(&self, scope: Scope, (id, endpoint): Place) -> bool {
        self.stored
            .iter()
            .any(|(other, bound)| bound < id && (scope == Scope::Global || other == endpoint))
    }

    /// Nothing that is stored in the endpoint's scope and not in hand has an id below this one.
    fn raise_stored(&mut self, scope: Scope, endpoint: EndpointId, id: MessageId) {
        self.stored.raise(id, |other| scope == Scope::Global || other == endpoint);
    }

    /// A map without entries would keep its memory, which is most of what a key needs while nothing of it is in hand.
    /// Whether nothing is in hand any more.
    fn unlink(&mut self, place: Place) -> bool {
        self.links.remove(&place);
        if self.links.is_empty() {
            self.links = BTreeMap::new();
        }
        self.links.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.links.is_empty() && self.stored.is_empty() && self.storing == 0
    }

    /// Takes out what is ready at these places, which are held for it.
    fn take_ready(&mut self, mut is_wanted: impl FnMut(Place, &D) -> bool) -> Vec<D> {
        let mut taken = Vec::new();
        for (place, state) in &mut self.links {
            if matches!(state, State::Ready(delivery) if is_wanted(*place, delivery))
                && let State::Ready(delivery) = std::mem::replace(state, State::Coming)
            {
                taken.push(delivery);
            }
        }
        taken
    }

    /// Lets go whatever is ready and first now, while nothing else of its scope is under way.
    fn advance(&mut self, scope: Scope) -> Vec<D> {
        // What is first in each scope, in one pass over the links.
        let mut firsts: HashMap<Option<EndpointId>, MessageId> = HashMap::default();
        let mut busy: HashMap<Option<EndpointId>, BTreeSet<MessageId>> = HashMap::default();
        let part_of = |endpoint: EndpointId| match scope {
            Scope::Endpoint => Some(endpoint),
            Scope::Global => None,
        };
        for ((id, endpoint), state) in &self.links {
            firsts.entry(part_of(*endpoint)).or_insert(*id);
            if matches!(state, State::Going) {
                busy.entry(part_of(*endpoint)).or_default().insert(*id);
            }
        }
        let may_go = |(place, state): &(&Place, &State<D>)| {
            let part = part_of(place.1);
            let is_free = busy.get(&part).is_none_or(|going| going.iter().all(|id| *id == place.0));
            matches!(state, State::Ready(_))
                && firsts.get(&part) == Some(&place.0)
                && is_free
                && !self.is_behind_stored(scope, **place)
        };
        let first: Vec<Place> = self.links.iter().filter(may_go).map(|(place, _)| *place).collect();
        first
            .into_iter()
            .filter_map(|place| match self.links.insert(place, State::Going) {
                Some(State::Ready(delivery)) => Some(delivery),
                _ => None,
            })
            .collect()
    }
}

impl<D> Chains<D> {
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Changes the scope. What is on its way stays so; what may go under a wider scope is returned.
    pub fn set_scope(&mut self, scope: Scope) -> Vec<D> {
        if self.scope == scope {
            return Vec::new();
        }
        self.scope = scope;
        // Answers that were asked for in the former scope are out of date.
        self.last_version += 1;
        for chain in self.chains.values_mut() {
            chain.version = self.last_version;
        }
        self.chains.values_mut().flat_map(|chain| chain.advance(scope)).collect()
    }

    /// A delivery was read from the log. `false`: it is behind something that is stored, or too many
    /// are in hand, and it has to be stored.
    pub fn read(&mut self, link: &Link) -> bool {
        let scope = self.scope;
        let chain = self.chain(link);
        let in_scope = |other: EndpointId| scope == Scope::Global || other == link.endpoint;
        let is_behind = chain.stored.endpoints().any(in_scope);
        let in_hand = chain.links.keys().filter(|(_, endpoint)| in_scope(*endpoint)).count();
        if is_behind || in_hand >= LINKS_IN_HAND {
            return false;
        }
        chain.links.insert((link.id, link.endpoint), State::Coming);
        self.note_in_hand(&link.key);
        true
    }

    /// A delivery that is stored is in hand now. `is_current`: it is the first that the table has in
    /// its scope, and nothing was recorded since the table was asked. `false`: something before it
    /// is stored, or may be, and it stays where it is.
    pub fn fetch(&mut self, link: &Link, is_current: bool) -> bool {
        let scope = self.scope;
        let chain = self.chain(link);
        if is_current && chain.storing == 0 {
            chain.raise_stored(scope, link.endpoint, link.id);
        }
        if !chain.stored.endpoints().any(|endpoint| endpoint == link.endpoint) {
            chain.stored.lower(link.endpoint, link.id);
        }
        let place = (link.id, link.endpoint);
        let is_behind = chain.is_behind_stored(scope, place);
        if !is_behind {
            chain.links.entry(place).or_insert(State::Coming);
            self.note_in_hand(&link.key);
        }
        !is_behind
    }

    /// The version of a chain, to be handed over with what the table answers; `None` while it cannot
    /// be asked, because something is on its way there.
    pub fn version(&self, key: &str) -> Option<u64> {
        self.chains.get(key).filter(|chain| chain.storing == 0).map(|chain| chain.version)
    }

    /// What the table has of a key in the endpoint's scope: nothing that is not in hand has an id
    /// below `bound`; without a bound there is nothing else. Returns what may go now.
    pub fn note_stored(
        &mut self,
        key: &str,
        endpoint: EndpointId,
        bound: Option<MessageId>,
    ) -> Vec<D> {
        let scope = self.scope;
        let Some(chain) = self.chains.get_mut(key) else { return Vec::new() };
        match bound {
            Some(id) => chain.raise_stored(scope, endpoint, id),
            None => {
                chain.stored.remove(|other| scope == Scope::Global || other == endpoint);
            }
        }
        let going = chain.advance(scope);
        self.tidy(key);
        going
    }

    /// A delivery is ready to go.
    pub fn offer(&mut self, link: &Link, delivery: D) -> Turn<D> {
        let scope = self.scope;
        let place = (link.id, link.endpoint);
        let Some(chain) = self.chains.get_mut(&link.key) else { return Turn::Behind(delivery) };
        if !chain.links.contains_key(&place) || chain.is_behind_stored(scope, place) {
            Turn::Behind(delivery)
        } else if chain.is_first(scope, place) && chain.is_free(scope, place) {
            chain.links.insert(place, State::Going);
            Turn::Go(delivery)
        } else {
            chain.links.insert(place, State::Ready(delivery));
            Turn::Wait
        }
    }

    /// The end of a delivery is on record.
    pub fn leave(&mut self, link: &Link) -> Left<D> {
        let scope = self.scope;
        let Some(chain) = self.chains.get_mut(&link.key) else {
            return Left { going: Vec::new(), wants_stored: false };
        };
        if chain.unlink((link.id, link.endpoint)) {
            self.in_hand.remove(&link.key);
        }
        let going = chain.advance(scope);
        let in_scope = |other: EndpointId| scope == Scope::Global || other == link.endpoint;
        let first = chain.links.keys().find(|(_, endpoint)| in_scope(*endpoint));
        let wants_stored = match first {
            // One that came back from the dead letters was stored before what is in hand.
            Some(place) => chain.is_behind_stored(scope, *place),
            None => chain.stored.endpoints().any(in_scope),
        };
        self.tidy(&link.key);
        Left { going, wants_stored }
    }

    /// What may go now of a key, after something of it was stored or put back: an earlier one that
    /// came later.
    pub fn go_on(&mut self, key: &str) -> Vec<D> {
        let scope = self.scope;
        self.chains.get_mut(key).map(|chain| chain.advance(scope)).unwrap_or_default()
    }

    /// A delivery is being stored. Returns those behind it that were ready: they are to be stored or
    /// put back, too.
    pub fn store(&mut self, link: &Link) -> Vec<D> {
        self.chain(link).storing += 1;
        self.put_back(link)
    }

    /// A delivery that was being stored is in the table.
    pub fn note_recorded(&mut self, link: &Link) {
        let version = self.next_version();
        if let Some(chain) = self.chains.get_mut(&link.key) {
            chain.storing = chain.storing.saturating_sub(1);
            chain.version = version;
        }
    }

    /// A delivery is in hand no more and lies where it was stored before. Returns those behind it
    /// that were ready: they are to be stored or put back, too.
    pub fn put_back(&mut self, link: &Link) -> Vec<D> {
        let scope = self.scope;
        let version = self.next_version();
        let chain = self.chain(link);
        chain.version = version;
        let is_idle = chain.unlink((link.id, link.endpoint));
        chain.stored.lower(link.endpoint, link.id);
        let behind = chain.take_ready(|(id, endpoint), _| {
            id > link.id && (scope == Scope::Global || endpoint == link.endpoint)
        });
        if is_idle {
            self.in_hand.remove(&link.key);
        }
        behind
    }

    /// Takes out what is ready in the link's scope and behind something that is stored, or may be: to be stored or put back,
    /// too. It comes with what it waits for.
    pub fn take_behind_stored(&mut self, link: &Link) -> Vec<D> {
        let scope = self.scope;
        let Some(chain) = self.chains.get_mut(&link.key) else { return Vec::new() };
        let in_scope = |other: EndpointId| scope == Scope::Global || other == link.endpoint;
        let is_behind =
            |place: &&Place| in_scope(place.1) && chain.is_behind_stored(scope, **place);
        let behind: Vec<Place> = chain.links.keys().filter(is_behind).copied().collect();
        chain.take_ready(|place, _| behind.contains(&place))
    }

    /// Whether nothing is in hand in the link's scope while something is stored: it has to be fetched.
    pub fn wants_stored(&self, link: &Link) -> bool {
        let in_scope = |other: EndpointId| self.scope == Scope::Global || other == link.endpoint;
        self.chains.get(&link.key).is_some_and(|chain| {
            !chain.links.keys().any(|(_, endpoint)| in_scope(*endpoint))
                && chain.stored.endpoints().any(in_scope)
        })
    }

    /// Whether something before this link in its scope is unfinished.
    pub fn is_blocked(&self, link: &Link) -> bool {
        self.chains
            .get(&link.key)
            .is_some_and(|chain| !chain.is_first(self.scope, (link.id, link.endpoint)))
    }

    /// Whether something waits for this link.
    pub fn has_follower(&self, link: &Link) -> bool {
        let in_scope = |other: EndpointId| self.scope == Scope::Global || other == link.endpoint;
        self.chains.get(&link.key).is_some_and(|chain| {
            chain.links.keys().rev().take_while(|(id, _)| *id > link.id).any(|(_, e)| in_scope(*e))
                || chain.stored.endpoints().any(in_scope)
        })
    }

    /// A former owner has left something in the table: from this link on.
    pub fn inherit(&mut self, link: &Link) {
        let chain = self.chain(link);
        chain.stored.lower(link.endpoint, link.id);
    }

    /// Takes out deliveries that are ready and wait for their turn, to be stored or put back.
    pub fn take_ready(&mut self, mut is_wanted: impl FnMut(&D) -> bool) -> Vec<D> {
        let mut taken = Vec::new();
        for key in &self.in_hand {
            let Some(chain) = self.chains.get_mut(key) else { continue };
            taken.extend(chain.take_ready(|_, delivery| is_wanted(delivery)));
        }
        taken
    }

    /// Forgets all chains of these shards.
    pub fn forget_shards(&mut self, shards: &[Shard]) {
        self.chains.retain(|_, chain| !shards.contains(&chain.shard));
        self.in_hand.retain(|key| self.chains.contains_key(key));
    }

    /// What was stored for an endpoint is gone with it. Returns what may go now.
    pub fn forget_endpoint(&mut self, endpoint: EndpointId) -> Vec<D> {
        let scope = self.scope;
        let mut going = Vec::new();
        self.chains.retain(|_, chain| {
            if chain.stored.remove(|other| other == endpoint) {
                going.extend(chain.advance(scope));
            }
            !chain.is_empty()
        });
        going
    }

    /// Whether anything of the key is unfinished, as far as it is known.
    pub fn is_known(&self, key: &str) -> bool {
        self.chains.contains_key(key)
    }

    /// The keys that have something stored, and at which endpoints.
    pub fn stored(&self) -> impl Iterator<Item = (Arc<str>, EndpointId)> + '_ {
        self.chains.iter().flat_map(|(key, chain)| {
            chain.stored.endpoints().map(|endpoint| (Arc::clone(key), endpoint))
        })
    }

    /// How many keys have something unfinished, as far as it is known.
    pub fn len(&self) -> usize {
        self.chains.len()
    }

    /// Whether no key has anything unfinished, as far as it is known.
    pub fn is_empty(&self) -> bool {
        self.chains.is_empty()
    }

    fn chain(&mut self, link: &Link) -> &mut Chain<D> {
        if !self.chains.contains_key(&link.key) {
            let chain = Chain::new(link, self.next_version());
            self.chains.insert(Arc::clone(&link.key), chain);
        }
        self.chains.get_mut(&link.key).expect("it is there by now")
    }

    fn note_in_hand(&mut self, key: &Arc<str>) {
        if !self.in_hand.contains(key) {
            self.in_hand.insert(Arc::clone(key));
        }
    }

    fn next_version(&mut self) -> u64 {
        self.last_version += 1;
        self.last_version
    }

    fn tidy(&mut self, key: &str) {
        if self.chains.get(key).is_some_and(Chain::is_empty) {
            self.chains.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
