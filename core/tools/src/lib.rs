//! Tool specs, registry, schemas and the guard that runs a call
