//! Intake, lanes, turns, batches, delivery, recovery and the gateway facade
