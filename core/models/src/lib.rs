//! Language models behind dispatch's `Model`.
