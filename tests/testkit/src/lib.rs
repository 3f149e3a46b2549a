//! What tests share: a gateway in a box, a store for each kind, checks
