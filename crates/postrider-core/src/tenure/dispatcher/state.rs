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
