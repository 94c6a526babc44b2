//! What may be wrong in a world, so that the ledger has something to find: databases that answer wrongly, and drivers
//! that do something else than they are told. None of it is in code that runs in production.

/// One thing that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    Nothing,

    // Databases.
    /// Shards are given away while their owner's lease lasts, and nobody refuses what it says.
    NoLease,
    /// Whose claims a takeover that was cut off has not recovered is forgotten.
    CutOffForgotten,
    /// What a recovery found locked is forgotten by the time of the next.
    HeldForgotten,
    /// Nobody is told what it has lent.
    LoansUnheeded,
    /// A checkpoint is acknowledged and not written.
    CheckpointsLost,
    /// The same of one in twenty flushes.
    FlushesLost,
    /// A snapshot sees what began before it and has not ended.
    SeesUncommitted,
    /// Ticks are bounded by the highest id that was seen, not by a snapshot.
    TicksById,
    /// Ticks find only what is older than every transaction that runs.
    TicksByXmin,
    /// A window begins behind its first message.
    WindowTooLate,
    /// A page leaves out its last row.
    PageCut,
    /// What a dead dispatcher had taken is not recovered.
    NothingRecovered,
    /// The last message of each lane is not recovered.
    RecoverySkips,
    /// What was cancelled, dead or done is put back by a recovery.
    EndsForgotten,
    /// A checkpoint says that all that was taken is finished.
    CheckpointAhead,
    /// A shard is released without the checkpoint that goes with it.
    ReleasedUnwritten,
    /// Claims are acknowledged and not written.
    ClaimsForgotten,
    /// A recovery does not use up a retry of what was claimed.
    RetryNotRaised,
    /// It uses up one of what waited and was not claimed.
    WaitingCharged,
    /// A delivery that waited and ended stays.
    SettledKept,
    /// One delivery of a message makes all of it done.
    PartlyIsAll,
    /// Nobody looks for cancellations.
    CancelsIgnored,
    /// Those that are under way are not seen.
    CancelsUnderWayIgnored,
    /// What is read is not made durable.
    DurableIgnored,
    /// What waits is fetched whatever is before it of its ordering key.
    KeysIgnored,
    /// What is read of an ordering key has lost it.
    KeysLost,

    // Drivers.
    /// Nobody tells when messages expire.
    ExpiryIgnored,
    /// Nobody tells when messages may go.
    ScheduleIgnored,
    /// A delivery is said to be accepted before it is attempted.
    RecordBeforeAttempt,
    /// A checkpoint is said to be written before it is.
    ClaimAfterAttempt,
    /// The same of claims.
    ClaimedBeforeWritten,
    /// Results are said to be recorded before they are.
    DoneBeforeRecorded,
    /// A lease that is over stops nobody.
    NoFence,
    /// A dispatcher wants to be woken at once, always.
    NeverAsleep,
    /// A lease is taken for twice as long as it is. One that is not shortened by a tenth, for clocks that differ, is
    /// hardly found: others hear of heartbeats by their own, which are farther apart than that.
    LeaseTakenForLonger,
    /// What became of an attempt is not reported, now and then.
    TicketDropped,
    /// The same of the answer to who wants to probe a circuit.
    SlotLeaked,
    /// An attempt whose answer is lost counts as accepted.
    UnknownIsAccepted,
    /// A transport is closed when its endpoint is opened anew, before the dispatcher has heard of that.
    ClosedTooSoon,
    /// What is attempted goes out twice.
    SentTwice,
}
