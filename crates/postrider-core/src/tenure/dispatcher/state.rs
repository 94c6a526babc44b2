//! What every part of the dispatcher needs.

use super::*;

impl Dispatcher {
    pub(super) fn set_now(&mut self, now: Instant) {
        self.now = now;
        self.endpoints.now = now;
    }

    pub(super) fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    pub(super) fn ask(&mut self, query: Query) {
        self.commands.push(Command::Ask(query));
    }

    pub fn is_stopping(&self) -> bool {
        self.tenancy.is_stopping()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::stand::Stand, *};

    /// What is decided in one step is decided at one moment, whoever decides.
    #[test]
    fn the_moment_is_the_same_for_all() {
        let mut stand = Stand::new(1);
        let later = stand.now + Duration::from_secs(1);
        stand.dispatcher.set_now(later);
        assert_eq!((stand.dispatcher.now, stand.dispatcher.endpoints.now), (later, later));
    }

    #[test]
    fn what_is_to_be_done_is_handed_over_once_and_in_order() {
        let mut stand = Stand::new(1);
        stand.dispatcher.command(Command::Wish(Wish::News));
        stand.dispatcher.ask(Query::UnlockDoorbell);
        let now = stand.now;
        let commands = stand.dispatcher.step(now);
        let [Command::Wish(Wish::News), Command::Ask(Query::UnlockDoorbell)] = commands[..] else {
            panic!("{} commands", commands.len());
        };
        assert!(stand.dispatcher.step(now).is_empty());
    }
}
